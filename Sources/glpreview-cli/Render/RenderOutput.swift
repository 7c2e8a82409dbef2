// The destination of pictures (files by a name pattern, standard output, none), and the settings of a run.
import GLPreview

/// The value of `-o`.
enum RenderOutput: Equatable {
  case files(FileNamePattern, EncodedPicture.Format)
  case standardOutput(EncodedPicture.Format)
  /// A file for each view, to which pictures are appended; nil is standard output.
  case video(FileNamePattern?, VideoFormat)
  /// Renders and reads back, encodes if a format is named, and discards the result.
  case nowhere(EncodedPicture.Format?)

  /// Parses `-o`; nil names files after the source and the view. `index` is the number of the source among
  /// several, from 1.
  init(_ text: String?, source: String, index: Int = 1, format: OutputFormat?) throws {
    switch text {
    case nil:
      guard case .picture(let format) = format ?? .picture(.jpeg) else {
        throw UsageError("a video needs a name: -o NAME, or -o - for standard output")
      }
      self = .files(FileNamePattern(stem: RenderOutput.stem(of: source), format), format)
    case "-":
      switch format ?? .picture(.jpeg) {
      case .picture(let format): self = .standardOutput(format)
      case .video(let format): self = .video(nil, format)
      }
    case "null:": self = .nowhere(nil)
    case "null:jpg", "null:jpeg": self = .nowhere(.jpeg)
    case "null:png": self = .nowhere(.png)
    case let text?:
      guard !text.hasPrefix("null:") else {
        throw UsageError("-o \(text) is not one of null:, null:jpg, null:png")
      }
      guard !text.isEmpty else { throw UsageError("-o '' is not a file name") }
      let named = OutputFormat(fileName: text)
      if let format, let named, named != format {
        throw UsageError("-o \(text) means \(named), but --format is \(format)")
      }
      let pattern = try FileNamePattern(text, name: RenderOutput.stem(of: source), index: index)
      switch named ?? format {
      case .picture(let format): self = .files(pattern, format)
      case .video(let format):
        guard !pattern.hasFrame else {
          throw UsageError("-o \(text): a video is a single file, so its name can't contain {frame}")
        }
        self = .video(pattern, format)
      case nil:
        throw UsageError(
          "-o \(text): the name must end in .jpg, .jpeg, .png, .mp4, .h264, .y4m, .yuv or .rgba (or use --format)"
        )
      }
    }
  }

  /// The format of pictures; nil if they are not encoded.
  var format: EncodedPicture.Format? {
    switch self {
    case .files(_, let format), .standardOutput(let format): format
    case .nowhere(let format): format
    case .video: nil
    }
  }

  /// The name in reports; nil if pictures are not encoded.
  var formatName: String? {
    if case .video(_, let format) = self { format.rawValue } else { format?.rawValue }
  }

  /// Returns the name of a picture; nil if it is discarded.
  func name(view: String, frame: Int) -> String? {
    switch self {
    case .files(let pattern, _): pattern.name(view: view, frame: frame)
    case .video(let pattern?, _): pattern.name(view: view, frame: frame)
    case .standardOutput, .video(nil, _): "-"
    case .nowhere: nil
    }
  }

  /// Returns the error of a pipeline, with the name of the picture's file if it can't be encoded.
  func naming(_ error: any Error) -> any Error {
    guard var failure = error as? RenderPipeline.Failure else { return error }
    failure.name = name(view: failure.view, frame: failure.frame)
    return failure
  }

  /// Rejects several views that would be written to the same file.
  func check(_ views: [ViewConfiguration]) throws {
    guard views.count > 1 else { return }
    switch self {
    case .files(let pattern, _) where !pattern.hasView, .video(let pattern?, _) where !pattern.hasView:
      throw UsageError("\(views.count) views would go into one file; put {view} into its name")
    case .standardOutput, .video(nil, _):
      throw UsageError("standard output takes one view, not \(views.count)")
    default: break
    }
  }

  /// Whether pictures go to standard output, so that nothing else may.
  var takesStandardOutput: Bool {
    switch self {
    case .standardOutput, .video(nil, _): true
    default: false
    }
  }

  /// Whether each frame's pictures would overwrite those of the previous frame.
  var keepsOneFrame: Bool {
    if case .files(let pattern, _) = self { !pattern.hasFrame } else { false }
  }

  /// Returns the file stem of a source: `street.tar` for `/somewhere/street.tar.jpg`, `video0` for
  /// `/dev/video0,size=640x480`, `cam` for `http://host/cam?user=me`. Standard input, commands and patterns
  /// have fixed names.
  static func stem(of source: String) -> String {
    let kind = SourceLocator(source).kind
    if let stem = kind.fileStem(source) { return stem }
    let address = kind.takesMode ? source.prefix { $0 != "," } : source[...]
    let isAddress = source.contains("://")
    // A file name must not contain a password or a key.
    let shown = isAddress ? SourceLocator(source).description : String(address)
    let path = isAddress ? shown.prefix { $0 != "?" && $0 != "#" } : shown[...]
    let name = path.split(separator: "/").last ?? "picture"
    guard !isAddress || path.split(separator: "/").count > 2 && !name.contains("***") else { return "stream" }
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return String(name) }
    return String(name[..<dot])
  }
}

/// The settings of a run, for a source or a scene.
struct RenderSettings {
  var output: RenderOutput
  /// The encoding of pictures and videos, and the frame rate that replaces the source's.
  let encoding: EncodingOptions
  let schedule: FrameSchedule
  let maximumPixels: Int
  var reportsPictures = false
  var isQuiet = false

  /// The encoder; nil if pictures are not encoded.
  var encoder: PictureEncoder? { output.format.map { encoding.encoder($0) } }

  /// The sample format to request from a renderer.
  var pictureFormat: Picture.Format {
    if case .video(_, let format) = output { return format.pictureFormat(encoding.subsampling) }
    return encoder?.pictureFormat ?? .rgba
  }

  /// Returns the pipeline that draws and encodes these views.
  func pipeline(
    _ views: [ViewConfiguration], renderer: @escaping @Sendable () async throws -> any Renderer
  ) -> RenderPipeline {
    var pipeline = RenderPipeline(views, encoder: encoder, samples: pictureFormat, renderer: renderer)
    pipeline.writesEXIF = encoding.exif
    return pipeline
  }

  /// Warns about a source whose certificate is not verified although the user has not requested that.
  func warn(ofCertificateOf source: String, _ options: SourceOptions) {
    guard !isQuiet, let warning = SourceLocator(source).warning(of: options) else { return }
    StandardError.print("glpreview: \(SourceLocator(source)): \(warning)")
  }

  /// Warns if labels can't be drawn, with the reason.
  func warn(ofTextIn views: [ViewConfiguration]) {
    warn(ofText: views.contains { !$0.labels.isEmpty })
  }

  /// Warns if labels can't be drawn, with the reason.
  func warn(ofTextIn scene: Scene) {
    warn(ofText: !scene.labels.isEmpty || scene.tiles.contains { !$0.labels.isEmpty })
  }

  private func warn(ofText hasText: Bool) {
    guard hasText, !isQuiet, let failure = PangoTextRenderer.shared.failure else { return }
    StandardError.print("glpreview: labels are not drawn: \(failure)")
  }
}
