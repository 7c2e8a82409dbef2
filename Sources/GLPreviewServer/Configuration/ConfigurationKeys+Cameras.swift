// The configuration keys of cameras, their views, and scenes.
internal import GLPreview
internal import PreviewCore

extension ConfigurationKeys {
  static let camera: [ConfigurationKey<CameraConfiguration>] = [
    .init(
      "source", .source, \.source, "needed",
      """
      as `glpreview render` takes it: `/dev/video0`, `rtsp://...`, `http://...`, `exec:COMMAND`, a file, `pattern:NAME`
      """),
    .init(
      "size", .size, \.options.demand.minimumSize, "what is looked at",
      "the size that the camera is asked for"),
    .init("fps", rate, "what is looked at", "the rate that the camera is asked for, or of a file without one")
    {
      ($0.options.demand.framesPerSecond, $0.options.framesPerSecond) = ($1, $1)
    },
    .init("input-format", .choice, \.options.inputFormat, "", "the pixel format of raw frames"),
    .init("input-size", .size, \.options.inputSize, "", "the size of raw frames"),
    .init(
      "matrix", ConfigurationWord<ColorMatrix>.choice, "what the source says",
      "the matrix of the colours, where the source says it wrong"
    ) { $0.options.color = ColorOverride(matrix: $1, range: $0.options.color.range) },
    .init(
      "range", ConfigurationWord<QuantizationRange>.choice, "what the source says",
      "the range of the colours, where the source says it wrong"
    ) { $0.options.color = ColorOverride(matrix: $0.options.color.matrix, range: $1) },
    .init(
      "controls", listOf: .pair("NAME=VALUE", at: "=") { .init(name: $0, value: $1) }, joinedBy: "=",
      \.options.controls, "none",
      "set when the camera opens, also as `{exposure_auto: 1}`; `glpreview devices --controls` lists them"),
    .init(
      "headers", listOf: .pair("'NAME: VALUE'", at: ":", isSecret: true) { .init(name: $0, value: $1) },
      joinedBy: ": ", \.options.headers, "none",
      "sent with HTTP requests, also as `{Authorization: Bearer x}`"),
    .init("transport", .choice, \.options.streamTransport, "`automatic`", "what RTSP travels by"),
    .init(
      "redirects", .choice, \.options.redirects, "`same-host`",
      "which redirections of HTTP and RTSP servers are followed"
    ),
    .init(
      "masks", listOf: .init("`WxH+X+Y`, `X,Y X,Y X,Y`") { try PrivacyMask(parsing: $0) },
      \.options.masks.masks, "none",
      "burned into every frame; each may end in `:fill=#RRGGBB`, `:pixelate=N` or `:blur=N`"),
    .init(
      "reference", .size, \.options.referenceSize,
      "`size`, else the largest; of a network's camera the first frame's",
      "the size of the upright source in whose pixels masks and crops are ([below](#the-reference-size))"),
    .init(
      "timeout", .time, "`10s`",
      "how long a connection, the next picture, or decoding it may take"
    ) {
      ($0.options.live.connectsWithin, $0.options.live.reconnectsAfter) = ($1, $1)
      $0.options.live.stallsAfter = min($0.options.live.stallsAfter, $1)
    },
    .init(
      "max-megapixels", .number(0.001...1000), "`50`",
      "the largest picture; a larger one is refused before memory is taken for it"
    ) { $0.options.maximumPixels = Int($1 * 1_000_000) },
    .init(
      "max-picture-bytes", .bytes(1024...1 << 30), \.options.maximumPictureBytes, "`32MiB`",
      "the largest compressed picture of a stream; a larger one is damaged"),
    .init(
      "stalls-after", .time, \.options.live.stallsAfter, "`2s`",
      "without a picture for so long, the camera is stalled"),
    .init("keep-warm", .flag, \.keepsWarm, "`false`", "stay open while nobody looks"),
    .init("required", .flag, \.isRequired, "`true`", "`/readyz` waits for it"),
    .init("avatar", .file, \.avatar, "NO SIGNAL", "a picture that stands in for it"),
    .init(
      "offline", .choice, \.offline, "`placeholder`", "what a snapshot of it is while it gives nothing"),
    .init(
      "views", .named, view, \.views, new: { name, _ in ServedView(ViewConfiguration(name: name)) },
      finish: {
        checkSizes(&$0, $1)
        return $2
      }),
  ]

  private static let rate = ConfigurationWord<Double>.number(0.001...1000)

  // MARK: Views

  /// The keys of a view, in the order in which they are set: a width overrides a size from another layer.
  static let view: [ConfigurationKey<ServedView>] =
    ViewConfiguration.keys.map { key in
      let word = ConfigurationWord<String>("as of `glpreview render --view`") { text in
        var view = ViewConfiguration()
        try view.set(key, to: text)
        return text
      }
      return ConfigurationKey(key, word, "", "what is seen ([render.md](render.md))") {
        try? $0.view.set(key, to: $1)
      }
    } + [
      .init("fps", rate, \.framesPerSecond, "every frame", "pictures a second at most"),
      .init("quality", .whole(1...100), \.quality, "`80`", "the quality of JPEGs"),
      .init("enabled", .flag, \.isEnabled, "`true`", "whether it gives pictures"),
      .init(
        "locked", .flag, \.isLocked, "`false`",
        "takes no words of URLs: nothing else of the camera can be seen by it"),
    ]

  /// Rejects a size together with a width or height from the same layer, because they contradict each other.
  private static func checkSizes(_ reading: inout ConfigurationReader, _ place: ConfigurationPlace) {
    guard let layer = reading.speaker(of: place["size"])?.layer else { return }
    for key in ["width", "height"] where reading.speaker(of: place[key])?.layer == layer {
      reading.refuse(place[key], "says the same as size; one of them is enough")
    }
  }

  // MARK: Scenes

  static let scene: [ConfigurationKey<SceneConfiguration>] = [
    .init(
      "layout", ConfigurationWord("a layout") { try Scene(parsing: $0) }, "`grid`",
      "as of `glpreview render --scene`, such as `grid:size=1280x720,gap=8`"
    ) {
      let tiles = $0.scene.tiles
      $0.scene = $1
      $0.scene.tiles = tiles
    },
    .init(
      "tiles", listOf: .init("tiles") { try Tile(parsing: $0) }, joinedBy: ":", \.scene.tiles, "all cameras",
      "cameras, each alone or with the words of `--tile`: `[door, yard: \"mode=fit\"]`"),
    .init("labels", ConfigurationWord<SceneWords>.choice, "`none`", "what is written into the scene") {
      $1.write(into: &$0.scene)
    },
    .init("fps", rate, \.framesPerSecond, "30", "pictures a second at most"),
    .init("quality", .whole(1...100), \.quality, "`80`", "the quality of JPEGs"),
  ]
}

/// The labels of a scene.
private enum SceneWords: String, CaseIterable {
  case none, names, time, all

  func write(into scene: inout Scene) {
    if self == .names || self == .all {
      for index in scene.tiles.indices { scene.tiles[index].label = Label(name: scene.tiles[index].source) }
    }
    if self == .time || self == .all {
      scene.labels = [Label(.time(), background: LabelBackground(), position: .topRight, margin: 16)]
    }
  }
}

extension CameraConfiguration {
  /// The camera with its configured size and rate added to the source. Without them, a session requests what
  /// its views need.
  var asking: CameraConfiguration {
    guard ["/dev/video", "/dev/v4l/", "pattern:"].contains(where: { source.hasPrefix($0) }) else {
      return self
    }
    var camera = self
    if let size = options.demand.minimumSize, !source.contains(",size=") { camera.source += ",size=\(size)" }
    if let rate = options.demand.framesPerSecond, !source.contains(",fps=") {
      camera.source += ",fps=\(rate)"
    }
    return camera
  }
}
