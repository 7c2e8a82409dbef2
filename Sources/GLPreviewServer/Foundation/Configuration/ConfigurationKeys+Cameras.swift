// The configuration keys of cameras, their views, and scenes.

extension ConfigurationKeys {
  /// The keys of a camera, with those of `features`.
  static func camera(_ features: [ConfigurationKey<CameraConfiguration>])
    -> [ConfigurationKey<CameraConfiguration>]
  {
    camera + features + [
      .init(
        "views", .named, view, \.views, new: { name, _ in ServedView(ViewConfiguration(name: name)) },
        finish: checkSizes)
    ]
  }

  private static let camera: [ConfigurationKey<CameraConfiguration>] = [
    .init(
      "source", .source, \.source, "required",
      """
      the source, as for `glpreview render`: `/dev/video0`, `rtsp://...`, `http://...`, `exec:COMMAND`, a file, `pattern:NAME`
      """),
    .init(
      "node", .home, \.home, "any for network cameras with `cluster.nats`, else this one",
      "the node that serves the camera ([cluster.md](cluster.md)); requests for a camera of another node are forwarded"
    ),
    .init(
      "size", .size, \.options.demand.minimumSize, "as the views need",
      "the capture size requested from the camera"),
    .init(
      "fps", rate, "as the views need",
      "the frame rate requested from the camera, or the rate of a file that has none"
    ) {
      ($0.options.demand.framesPerSecond, $0.options.framesPerSecond) = ($1, $1)
    },
    .init("input-format", .choice, \.options.inputFormat, "", "the pixel format of raw frames"),
    .init("input-size", .size, \.options.inputSize, "", "the size of raw frames"),
    .init(
      "matrix", ConfigurationFormat<ColorDescription.Matrix>.choice, "as the source declares",
      "the colour matrix, for a source that declares a wrong one"
    ) { $0.options.color = ColorDescription.Override(matrix: $1, range: $0.options.color.range) },
    .init(
      "range", ConfigurationFormat<ColorDescription.QuantizationRange>.choice, "as the source declares",
      "the quantization range, for a source that declares a wrong one"
    ) { $0.options.color = ColorDescription.Override(matrix: $0.options.color.matrix, range: $1) },
    .init(
      "controls", listOf: .pair("NAME=VALUE", at: "=") { .init(name: $0, value: $1) }, joinedBy: "=",
      \.options.controls, "none",
      "camera controls to set when it opens, also as `{exposure_auto: 1}`; `glpreview devices --controls` lists them"
    ),
    .init(
      "headers", listOf: .pair("'NAME: VALUE'", at: ":", isSecret: true) { .init(name: $0, value: $1) },
      joinedBy: ": ", \.options.headers, "none",
      "headers of HTTP requests, also as `{Authorization: Bearer x}`"),
    .init(
      "dma-buf", .choice, \.options.dmaBuffers, "`off`",
      "whether the GPU reads a camera's pictures where the camera writes them ([cameras.md](cameras.md#pictures-that-are-never-copied))"
    ),
    .init("transport", .choice, \.options.streamTransport, "`automatic`", "the transport of RTSP"),
    .init(
      "redirects", .choice, \.options.redirects, "`same-host`",
      "which redirects of HTTP and RTSP servers are followed"
    ),
    .init(
      "certificate", .certificate, \.options.certificate,
      "`system` for `https://`; for `rtsps://` `any`, until version 0.3",
      "the certificate that is accepted from an `https://` or `rtsps://` camera ([http.md](http.md#certificates))"
    ),
    .init(
      "masks", listOf: .init("`WxH+X+Y`, `X,Y X,Y X,Y`") { try PrivacyMask(parsing: $0) },
      \.options.masks, "none",
      "privacy masks in every frame; each may end in `:fill=#RRGGBB`, `:pixelate=N` or `:blur=N`"),
    .init(
      "reference", .size, \.options.referenceSize,
      "`size`, else the largest; for a network camera the size of its first frame",
      "the size of the upright source in whose pixels masks and crops are given ([below](#the-reference-size))"
    ),
    .init(
      "lens", form: "as for `glpreview render --lens`", "none",
      "the lens, for views with a `projection`, also as `{model: fisheye, fov: 190}` ([lenses.md](lenses.md))",
      readLens),
    .init(
      "timeout", .time, "`10s`",
      "the time limit for connecting, for the next frame, and for decoding it"
    ) {
      ($0.options.live.connectsWithin, $0.options.live.reconnectsAfter) = ($1, $1)
      $0.options.live.stallsAfter = min($0.options.live.stallsAfter, $1)
    },
    .init(
      "max-megapixels", .number(0.001...1000), "`50`",
      "the maximum size of a picture; larger ones are refused before memory is allocated"
    ) { $0.options.maximumPixels = Int($1 * 1_000_000) },
    .init(
      "max-picture-bytes", .bytes(1024...1 << 30), \.options.maximumPictureBytes, "`32MiB`",
      "the maximum size of a compressed picture of a stream; larger ones count as damaged"),
    .init(
      "stalls-after", .time, \.options.live.stallsAfter, "`2s`",
      "the time without a frame after which the camera is stalled"),
    .init("keep-warm", .flag, \.keepsWarm, "`false`", "keep the camera open without viewers"),
    .init(
      "replay", .time, \.replayDuration, "none",
      "the length of the replay buffer, for snapshots of earlier frames ([replay.md](replay.md)); it keeps the camera open"
    ),
    .init(
      "replay-bytes", .bytes(1_000_000...1 << 40), \.replayBytes, "`64MB`",
      "the maximum memory of the replay buffer"),
    .init(
      "trigger-delay", .time, \.triggerDelay, "none",
      "how late triggers arrive: snapshots by POST, `at=`, `best=` and clips count from that much earlier"),
    .init(
      "warmup", .init("frames (`10`) or seconds (`0.5s`)") { try Warmup(parsing: $0) }, \.warmup, "none",
      "the frames or time to discard after the camera opens, until its exposure has settled"),
    .init(
      "motion", switching: motion, \.motion, new: MotionSettings(),
      "detect motion, which keeps the camera open; or set the keys below ([motion.md](motion.md))"),
    .init(
      "decode", .choice, \.decode, "`exact`",
      "how JPEGs are decoded for streams: `fast` takes less time for small views, which look almost the same ([service.md](service.md#fast-decoding))"
    ),
    .init("required", .flag, \.isRequired, "`true`", "whether `/readyz` waits for this camera"),
    .init("avatar", .file, \.avatar, "NO SIGNAL", "a picture to show while the camera delivers none"),
    .init(
      "offline", .choice, \.offline, "`placeholder`", "the snapshot of a camera that delivers no frames"),
  ]

  private static let rate = ConfigurationFormat<Double>.number(0.001...1000)

  // MARK: Lens

  /// Reads a lens as text, or as a mapping of the words of that text, whose numbers may be lists.
  @Sendable private static func readLens(
    _ reading: inout ConfigurationReader, _ above: ConfigurationPlace, _ camera: inout CameraConfiguration
  ) {
    var place = above["lens"]
    if case .members = place.file?.content {
      var words: [String: String] = [:]
      reading.read(lensWords, at: place, into: &words)
      if reading.needs("model", at: place) {
        do throws(ParameterError) {
          camera.options.lens = try Lens(parsing: lensText(words))
        } catch {
          reading.refuse(place, error.reason)
        }
      }
      place.file = nil
    }
    let format = ConfigurationFormat<Lens>("a lens") { try Lens(parsing: $0) }
    if let lens = reading.value(of: place, format) { camera.options.lens = lens }
  }

  private static let lensKeys = ["curve", "matrix", "size", "distortion", "fov", "center", "radius"]

  private static let lensWords: [ConfigurationKey<[String: String]>] =
    (["model"] + lensKeys).map { name in
      ConfigurationKey<[String: String]>(name, form: "words", "", "a word of the lens") {
        reading, above, words in
        let format = ConfigurationFormat<String>("a word") { $0 }
        if let values = reading.values(of: above[name], format, joinedBy: nil) {
          words[name] = values.joined(separator: ",")
        }
      }
    }

  private static func lensText(_ words: [String: String]) -> String {
    var words = words
    let model = words.removeValue(forKey: "model") ?? ""
    // The numbers of ptlens follow the model.
    let first = model == "ptlens" ? [model, words.removeValue(forKey: "distortion") ?? ""] : [model]
    let others = lensKeys.flatMap { key in words[key].map { [key, $0] } ?? [] }
    return (first + others).joined(separator: " ")
  }

  // MARK: Views

  /// The keys of a view, in the order in which they are set: a width overrides a size from another layer.
  static let view: [ConfigurationKey<ServedView>] =
    ViewConfiguration.keys.map { key in
      let form = "as for `glpreview render --view`"
      let purpose = "what the view shows ([render.md](render.md), [lenses.md](lenses.md))"
      return ConfigurationKey<ServedView>(key, form: form, "", purpose) {
        reading, above, served in
        let format = ConfigurationFormat<ViewConfiguration>(form) { [view = served.view] text in
          var view = view
          try view.set(key, to: text)
          return view
        }
        if let view = reading.value(of: above[key], format) { served.view = view }
      }
    } + [
      .init("fps", rate, \.framesPerSecond, "every frame", "the maximum frame rate"),
      .init(
        "quality", .whole(1...100), \.quality, "the camera's, or 80",
        "the JPEG quality; if set, an MJPEG camera's own JPEGs are never passed through"),
      .init("decode", .choice, \.decode, "the camera's", "`decode` of the view's streams"),
      .init("enabled", .flag, \.isEnabled, "`true`", "whether the view delivers pictures"),
      .init(
        "positions", .named, position, \.namedPositions, new: { name, _ in NamedPosition(name: name) },
        finish: checkPosition),
      .init(
        "locked", .flag, \.isLocked, "`false`",
        "whether requests that would show another part of the camera are refused"),
      .init("video", video, \.video),
    ]

  private static let position: [ConfigurationKey<NamedPosition>] = PoseChange.keys.map { key in
    let format = ConfigurationFormat<Double>("degrees") { text in
      guard let number = Double(text) else { throw ParameterError(key, "'\(text)' is not a number") }
      var change = PoseChange()
      try change.set(key, to: number)
      return number
    }
    return .init(
      key, format, "unchanged", "`\(key)` of a position to which requests move the view by its name"
    ) {
      try? $0.pose.set(key, to: $1)
    }
  }

  /// Reports a position that is none.
  @Sendable private static func checkPosition(
    _ reading: inout ConfigurationReader, _ place: ConfigurationPlace, _ position: inout NamedPosition
  ) {
    do throws(ParameterError) { try ViewConfiguration.check(name: position.name) } catch {
      reading.refuse(place, error.reason)
    }
    reading.refuseEmpty(place, Self.position.flatMap(\.entries))
  }

  /// Rejects a size together with a width or height from the same layer, because they contradict each other.
  @Sendable private static func checkSizes(
    _ reading: inout ConfigurationReader, _ place: ConfigurationPlace, _: inout ServedView
  ) {
    guard let layer = reading.valueOrigin(of: place["size"])?.layer else { return }
    for key in ["width", "height"] where reading.valueOrigin(of: place[key])?.layer == layer {
      reading.refuse(place[key], "conflicts with size: set only one of them")
    }
  }

  // MARK: Scenes

  static let scene: [ConfigurationKey<SceneConfiguration>] = [
    .init(
      "layout", ConfigurationFormat("a layout") { try Scene(parsing: $0) }, "`grid`",
      "as for `glpreview render --scene`, such as `grid:size=1280x720,gap=8`"
    ) {
      let tiles = $0.scene.tiles
      $0.scene = $1
      $0.scene.tiles = tiles
    },
    .init(
      "tiles", listOf: .init("tiles") { try Tile(parsing: $0) }, joinedBy: ":", \.scene.tiles, "all cameras",
      "cameras, each alone or with the parameters of `--tile`: `[door, yard: \"mode=fit\"]`"),
    .init("labels", ConfigurationFormat<SceneLabels>.choice, "`none`", "text in the scene") {
      $1.add(to: &$0.scene)
    },
    .init("fps", rate, \.framesPerSecond, "30", "the maximum frame rate"),
    .init("quality", .whole(1...100), \.quality, "`80`", "the JPEG quality"),
    .init("video", video, \.video),
  ]
}

extension CameraConfiguration {
  /// The camera with its `decode` in all views that have none.
  var decoding: CameraConfiguration {
    guard decode != .exact else { return self }
    var camera = self
    for index in camera.views.indices { camera.views[index].decode = camera.views[index].decode ?? decode }
    return camera
  }

  /// The camera with its configured size and rate added to the source. Without them, a session requests what
  /// its views need.
  var asking: CameraConfiguration {
    guard SourceLocator(source).kind.takesMode else { return self }
    var camera = self
    if let size = options.demand.minimumSize, !source.contains(",size=") { camera.source += ",size=\(size)" }
    if let rate = options.demand.framesPerSecond, !source.contains(",fps=") {
      camera.source += ",fps=\(rate)"
    }
    return camera
  }
}
