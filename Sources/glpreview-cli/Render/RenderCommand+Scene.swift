// `glpreview render --scene`: turns the command line into a scene job.
import GLPreview

extension RenderCommand {
  /// The job for the value of `--scene`.
  func sceneJob(_ text: String) throws -> SceneJob {
    try checkForScene()
    let sources = try NamedSource.all(self.sources)
    // The layout's name takes the place of a view's name.
    let name = String(text.prefix { $0 != ":" })
    let scene = try sceneOptions.scene(text, of: sources)
    let output = try RenderOutput(self.output, source: "scene", format: encodingOptions.format)
    let schedule = try sceneSchedule(output)
    var sourceOptions = try inputOptions.sourceOptions(for: "")
    try liveOptions.apply(to: &sourceOptions, FrameSchedule())
    let masks = try sceneMasks(sources)
    let references = try sceneReferences(sources)
    return SceneJob(
      sources: sources.map { source in
        var options = sourceOptions
        options.masks = PrivacyMasks(masks[source.name] ?? [])
        options.referenceSize = references[source.name]
        var session = SessionSource(source.text, name: source.name, options: options)
        session.opensWithin = .seconds(liveOptions.timeout)
        session.repeats = false
        return session
      },
      paths: sources.map(\.text), avatars: try sceneOptions.avatars(of: sources), off: Set(sceneOptions.off),
      scene: scene, name: name, output: output, subsampling: encodingOptions.subsampling,
      encoder: output.format.map { encodingOptions.encoder($0) }, schedule: schedule,
      gpu: deviceOptions.gpu, maximumPixels: try inputOptions.maximumPixels(),
      timeout: .seconds(liveOptions.timeout), reportsPictures: json, isQuiet: quiet)
  }

  /// Rejects options for a single source or its views, so that none is silently ignored.
  private func checkForScene() throws {
    if let key = viewOptions.keys.first {
      let place =
        ["size", "width", "height"].contains(key) ? "--scene LAYOUT:size=WxH" : "--tile NAME:\(key)=..."
      throw UsageError("--\(key) applies to a view; for a scene use \(place)")
    }
    let given: [(String, Bool)] = [
      ("--view", !viewOptions.named.isEmpty), ("--input-format", inputOptions.inputFormat != nil),
      ("--input-size", inputOptions.inputSize != nil), ("--decode", inputOptions.decode != .exact),
      ("--every", every != 1), ("--loop", loop != 1), ("--lossless", liveOptions.lossless),
      ("--control", !liveOptions.control.isEmpty), ("--header", !liveOptions.header.isEmpty),
      ("--renderer reference", renderer != .gpu),
    ]
    if let option = given.first(where: \.1)?.0 { throw UsageError("\(option) does not go with --scene") }
  }

  /// One picture by default; more with a number, a duration, an interval, or a video, which lasts until the sources
  /// end.
  private func sceneSchedule(_ output: RenderOutput) throws -> FrameSchedule {
    let isVideo = if case .video = output { true } else { false }
    let isOne = output.keepsOneFrame || !isVideo && liveOptions.interval == nil && liveOptions.duration == nil
    let limit = frames ?? (isOne ? 1 : nil)
    guard limit == 1 || !output.keepsOneFrame else {
      throw UsageError(
        "several pictures of the scene would get one name; add {frame} to it, or use --frames 1")
    }
    return FrameSchedule(
      limit: limit, warmup: liveOptions.warmup, interval: liveOptions.interval.map { .seconds($0) },
      duration: liveOptions.duration.map { .seconds($0) })
  }

  /// The masks of each source: `--mask NAME=320x200+900+40`.
  private func sceneMasks(_ sources: [NamedSource]) throws -> [String: [PrivacyMask]] {
    var masks: [String: [PrivacyMask]] = [:]
    for text in inputOptions.mask {
      let (name, mask) = try NamedSource.halves(text, at: "=", "--mask", of: sources)
      masks[name, default: []].append(try PrivacyMask(parsing: mask))
    }
    return masks
  }

  /// The reference size of each source: `--reference NAME=1280x720`.
  private func sceneReferences(_ sources: [NamedSource]) throws -> [String: Size] {
    var references: [String: Size] = [:]
    for text in inputOptions.reference {
      let (name, size) = try NamedSource.halves(text, at: "=", "--reference", of: sources)
      guard references.updateValue(try inputOptions.size(size, "--reference"), forKey: name) == nil else {
        throw UsageError("--reference is given twice for '\(name)'")
      }
    }
    return references
  }
}
