// `glpreview render`: renders views of a source, or a scene of several sources, to pictures.
import ArgumentParser
import GLPreview

struct RenderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render",
    abstract: "Render views of a picture, video, camera or test pattern, or a scene of several.",
    discussion: """
      SOURCE is one of:
        FILE          JPEG, PNG, Y4M, concatenated JPEGs, MP4 and other videos, raw frames; also file:///PATH
        -             standard input: Y4M, JPEG, PNG, raw frames
        /dev/video0   a camera listed by `glpreview devices`; also
                      /dev/video0,format=YUYV,size=1280x720,fps=30
        http://...    a server that sends MJPEG or JPEG; https:// too
        rtsp://...    a stream, for example H.264; rtsps:// too
        exec:COMMAND  the output of a command
        pattern:NAME  smpte, gradient, zoneplate, counter; also
                      pattern:smpte,size=1920x1080,fps=30

      Cameras, servers, commands and pipes are live sources: if rendering is slow, frames are skipped, except with \
      --lossless.

      Steps are applied in this order: EXIF orientation, crop, projection or corners, rotate, mirror, scale, place.

      With --scene, several SOURCEs form one picture. NAME=SOURCE gives a source the name that --tile, --speaking, --off, \
      --avatar, --mask and --lens refer to; by default it is named after its file, or video0, smpte, ... A scene runs in \
      real time. It gives one picture, or more with --frames, --interval, --duration or a video as output. A lost source \
      is replaced by a fallback picture. It is an error if all sources are lost, or if a file is missing or damaged and \
      one picture is rendered.

      Without --scene, several SOURCEs are picture files, each of which is rendered by itself, a few at a time. One that \
      can't be rendered is reported, and the others go on.

      Examples:
        glpreview render photo.jpg --size 320x -o thumbnail.jpg
        glpreview render *.jpg --size 320x -o 'thumbnails/{name}.jpg'
        glpreview render photo.jpg -o '{view}.png' --view face:crop=200x200+340+80 --view small:size=160x90,mode=fit
        glpreview render /dev/video0 --warmup 10 --size 640x -o now.jpg
        glpreview render camera.nv12 --input-format nv12 --input-size 1920x1080 -o 'frame-{frame:05}.jpg'
        glpreview render --scene grid:gap=8 ann=/dev/video0 bo=rtsp://camera/1 hall.jpg --labels names -o call.jpg
      """)

  @Argument(
    help: ArgumentHelp(
      "A file, camera, URL, command or pattern; or several picture files; with --scene any number of all, optionally as NAME=SOURCE.",
      valueName: "SOURCE"))
  var sources: [String] = []

  @Option(
    help: ArgumentHelp(
      "Render the picture files that LIST names, one path per line, after the SOURCEs; - is standard input.",
      valueName: "LIST"))
  var fromFile: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "A file name ending in .jpg or .png, or for a video in .mp4, .h264, .y4m, .yuv or .rgba; {name} (the source's), {index}, {view}, {frame} and {frame:05} are replaced. - is standard output; null:jpg and null:png encode and discard, null: renders and discards (default: SOURCE-{view}.jpg in the current folder).",
      valueName: "OUTPUT"))
  var output: String?

  @OptionGroup(title: "View options") var viewOptions: ViewOptions
  @OptionGroup(title: "Scenes") var sceneOptions: SceneOptions
  @OptionGroup(title: "Input options") var inputOptions: InputOptions
  @OptionGroup(title: "Live sources") var liveOptions: LiveInputOptions
  @OptionGroup(title: "Encoding options") var encodingOptions: EncodingOptions

  @Option(
    help: ArgumentHelp(
      "Stop after this many frames (default: all; 1 for a pattern, or if a live source has a single output file).",
      valueName: "N"))
  var frames: Int?

  @Option(help: ArgumentHelp("Render only every Nth frame.", valueName: "N"))
  var every = 1

  @Option(help: ArgumentHelp("Play a file this many times.", valueName: "N"))
  var loop = 1

  @OptionGroup(title: "Device options") var deviceOptions: DeviceOptions
  @OptionGroup(title: "Device options") var jpegOptions: JPEGOptions

  @Option(
    help: ArgumentHelp("gpu, or reference: a slow, exact renderer on the CPU.", valueName: "gpu|reference"))
  var renderer = RendererChoice.gpu

  @Flag(
    help: """
      Print a line of JSON per picture to standard output, or to standard error if pictures go to standard output. On a \
      GPU with a clock, frameGPUMilliseconds is the GPU time of drawing all views of the frame.
      """)
  var json = false

  @Flag(help: "Show no progress.")
  var quiet = false

  func validate() throws {
    guard !sources.isEmpty || fromFile != nil else {
      throw ValidationError("SOURCE is missing: give a file, camera, URL, command or pattern")
    }
    for (name, value) in [("frames", frames ?? 1), ("every", every), ("loop", loop)] where value < 1 {
      throw ValidationError("--\(name) \(value) is not at least 1")
    }
  }

  func run() async throws {
    try await ExitStatus.of {
      jpegOptions.apply()
      if let scene = sceneOptions.scene {
        let job = try sceneJob(scene)
        try checkTerminal(job.settings.output)
        try await Interruption.cancelling { try await job.run() }
      } else {
        let job = try renderJob()
        try checkTerminal(job.settings.output)
        let (renderer, choice) = (renderer, deviceOptions.gpu)
        try await Interruption.cancelling { try await job.run(on: renderer, choice) }
      }
    }
  }

  private func checkTerminal(_ output: RenderOutput) throws {
    guard output.takesStandardOutput, StandardOutput.isTerminal else { return }
    throw UsageError("-o -: standard output is a terminal; a picture would garble it")
  }

  private func schedule(limit: Int?) -> FrameSchedule {
    FrameSchedule(
      limit: limit, every: every, loops: loop, warmup: liveOptions.warmup,
      interval: liveOptions.interval.map { .seconds($0) }, duration: liveOptions.duration.map { .seconds($0) }
    )
  }

  private func settings(_ output: RenderOutput, _ schedule: FrameSchedule) throws -> RenderSettings {
    RenderSettings(
      output: output, encoding: encodingOptions, schedule: schedule,
      maximumPixels: try inputOptions.maximumPixels(), reportsPictures: json, isQuiet: quiet)
  }
}

// MARK: A source, or several picture files

extension RenderCommand {
  private func renderJob() throws -> RenderJob {
    try sceneOptions.checkAbsent()
    let isBatch = sources.count > 1 || fromFile != nil
    if isBatch { try checkForBatch() }
    let views = try viewOptions.views()
    let (input, output, schedule) = try isBatch ? batch(views) : source(views)
    let source = if case .source(let text) = input { text } else { "" }
    var sourceOptions = try inputOptions.sourceOptions(for: source)
    sourceOptions.masks = try inputOptions.masks()
    sourceOptions.referenceSize = try inputOptions.referenceSize()
    sourceOptions.lens = try inputOptions.sourceLens()
    guard sourceOptions.lens == nil || views.contains(where: { $0.projection != nil }) else {
      throw UsageError("--lens needs --projection, --yaw, --pitch, --roll or --hfov, as keys of a --view too")
    }
    sourceOptions.certificate = try LiveInputOptions.trust(in: liveOptions.certificate)
    if !isBatch { try liveOptions.apply(to: &sourceOptions, schedule) }
    return RenderJob(
      input: input, sourceOptions: sourceOptions, decode: inputOptions.decode ?? (isBatch ? .fast : .exact),
      views: views, settings: try settings(output, schedule))
  }

  private typealias Input = (RenderJob.Input, RenderOutput, FrameSchedule)

  private func source(_ views: [ViewConfiguration]) throws -> Input {
    guard let source = sources.first.map({ SourceLocator($0).text }) else {
      throw UsageError("SOURCE is missing: give a file, camera, URL, command or pattern")
    }
    let output = try RenderOutput(self.output, source: source, format: encodingOptions.format)
    try output.check(views)
    let isOne =
      SourceLocator(source).kind.origin == .generated
      || (output.keepsOneFrame && !liveOptions.lossless && SourceLocator(source).isLive)
    return (.source(source), output, schedule(limit: frames ?? (isOne ? 1 : nil)))
  }

  private func batch(_ views: [ViewConfiguration]) throws -> Input {
    let sources = try sources + (fromFile.map { try SourceList.read($0) } ?? [])
    let batch = try Batch(sources, output: output, format: encodingOptions.format, views)
    guard let output = batch.items.first?.output else {
      throw UsageError("SOURCE is missing: give a file, camera, URL, command or pattern")
    }
    return (.batch(batch), output, schedule(limit: frames))
  }

  /// Rejects options for videos and live sources, so that none is silently ignored.
  private func checkForBatch() throws {
    let given: [(String, Bool)] = [
      ("--frames \(frames ?? 1)", frames ?? 1 != 1), ("--every", every != 1), ("--loop", loop != 1),
      ("--lossless", liveOptions.lossless), ("--warmup", liveOptions.warmup != .none),
      ("--interval", liveOptions.interval != nil), ("--duration", liveOptions.duration != nil),
      ("--control", !liveOptions.control.isEmpty), ("--header", !liveOptions.header.isEmpty),
      ("--certificate", !liveOptions.certificate.isEmpty),
    ]
    if let option = given.first(where: \.1)?.0 {
      throw UsageError("\(option) can't be used with several SOURCEs")
    }
  }
}

// MARK: Scenes

extension RenderCommand {
  /// Creates the job for the value of `--scene`.
  private func sceneJob(_ text: String) throws -> SceneJob {
    try checkForScene()
    let sources = try NamedSource.all(self.sources)
    // The layout's name is used in place of a view's name.
    let name = String(text.prefix { $0 != ":" })
    let scene = try sceneOptions.scene(text, of: sources)
    let output = try RenderOutput(self.output, source: "scene", format: encodingOptions.format)
    let schedule = try sceneSchedule(output)
    var sourceOptions = try inputOptions.sourceOptions(for: "")
    try liveOptions.apply(to: &sourceOptions, FrameSchedule())
    let masks = try sceneMasks(sources)
    let references = try NamedSource.values(inputOptions.reference, "--reference", of: sources) {
      try ParameterParser.size("--reference", $0)
    }
    let lenses = try NamedSource.values(inputOptions.lens, "--lens", of: sources) { try Lens(parsing: $0) }
    let certificates = try sceneCertificates(sources)
    return SceneJob(
      sources: sources.map { source in
        var options = sourceOptions
        options.masks = masks[source.name] ?? []
        options.referenceSize = references[source.name]
        options.lens = lenses[source.name]
        options.certificate = certificates[source.name]
        var session = SessionSource(source.text, name: source.name, options: options)
        session.opensWithin = .seconds(liveOptions.timeout)
        session.repeats = false
        return session
      },
      paths: sources.map(\.text), avatars: try sceneOptions.avatars(of: sources), off: Set(sceneOptions.off),
      scene: scene, name: name, settings: try settings(output, schedule), gpu: deviceOptions.gpu,
      timeout: .seconds(liveOptions.timeout))
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
      ("--input-size", inputOptions.inputSize != nil), ("--decode", inputOptions.decode == .fast),
      ("--every", every != 1), ("--loop", loop != 1), ("--lossless", liveOptions.lossless),
      ("--control", !liveOptions.control.isEmpty), ("--header", !liveOptions.header.isEmpty),
      ("--renderer reference", renderer != .gpu), ("--from-file", fromFile != nil),
    ]
    if let option = given.first(where: \.1)?.0 { throw UsageError("\(option) can't be used with --scene") }
  }

  /// Returns the schedule: one picture by default; more with a number, a duration, an interval, or a video,
  /// which lasts until the sources end.
  private func sceneSchedule(_ output: RenderOutput) throws -> FrameSchedule {
    let isVideo = if case .video = output { true } else { false }
    let isOne = output.keepsOneFrame || !isVideo && liveOptions.interval == nil && liveOptions.duration == nil
    let limit = frames ?? (isOne ? 1 : nil)
    guard limit == 1 || !output.keepsOneFrame else {
      throw UsageError(
        "several pictures of the scene would get the same name; add {frame} to it, or use --frames 1")
    }
    return schedule(limit: limit)
  }

  /// Returns the masks of each source: `--mask NAME=320x200+900+40`.
  private func sceneMasks(_ sources: [NamedSource]) throws -> [String: [PrivacyMask]] {
    var masks: [String: [PrivacyMask]] = [:]
    for text in inputOptions.mask {
      let (name, mask) = try NamedSource.halves(text, "--mask", of: sources)
      masks[name, default: []].append(try PrivacyMask(parsing: mask))
    }
    return masks
  }

  /// Returns the certificate settings of the sources with TLS: `--certificate any` for all of them,
  /// `--certificate NAME=any` for one.
  private func sceneCertificates(_ sources: [NamedSource]) throws -> [String: CertificateTrust] {
    let isNamed = { (text: String) in NamedSource.namedHalves(text).name != nil }
    let certificates = liveOptions.certificate
    var trusts = try NamedSource.values(certificates.filter(isNamed), "--certificate", of: sources) {
      try LiveInputOptions.trust(in: [$0])
    }.compactMapValues(\.self)
    var options = SourceOptions()
    if let trust = try LiveInputOptions.trust(in: certificates.filter { !isNamed($0) }) {
      options.certificate = .any
      let secure = sources.filter { SourceLocator($0.text).refusal(of: options) == nil }
      guard !secure.isEmpty else {
        throw UsageError("--certificate: only https:// and rtsps:// sources have a certificate")
      }
      trusts.merge(secure.map { ($0.name, trust) }) { own, _ in own }
    }
    for source in sources {
      options.certificate = trusts[source.name]
      if let refusal = SourceLocator(source.text).refusal(of: options) {
        throw UsageError("--certificate of '\(source.name)': \(refusal.reason)")
      }
    }
    return trusts
  }
}
