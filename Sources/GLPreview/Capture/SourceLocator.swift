// From what the user typed to a source. Files are told apart by their first bytes: names lie.
internal import PreviewCore

/// A source's name as it is typed: a path, `-` for standard input, `exec:COMMAND`, `pattern:NAME[,size=WxH][,fps=N]`.
///
/// ```swift
/// let source = try await SourceLocator("street.jpg").open()
/// let frame = try await source.nextFrame()
/// ```
public struct SourceLocator: Sendable, Hashable, CustomStringConvertible {
  /// As it was typed, with the passwords in it.
  public let text: String

  /// Looks at nothing yet.
  public init(_ text: String) { self.text = text }

  /// The name as people may read it: without passwords, tokens, keys and the arguments of commands.
  public var description: String { Redaction.source(text) }

  /// Whether it leads to a camera, a server, a command or a pipe: to frames that come when they come.
  public var isLive: Bool { LiveKind(text) != nil || PipeDevice.isStream(at: text) }

  /// Opens the source, as far as its first bytes: that may wait for whoever writes a pipe.
  ///
  /// JPEG, PNG and Y4M are known by their first bytes; what is none of them, and a file, is tried as a video. A file of JPEG bytes that is called `.jpg` or
  /// `.jpeg` is one picture; elsewhere JPEGs are frames one after another, unless the first says that it is a
  /// still of several parts. With `inputFormat` all of it is raw frames.
  ///
  /// What is live is a `LiveSource`, which connects after this returns; pipes are, unless all of their frames are wanted.
  ///
  /// - Throws: `SourceError`; `CancellationError` where the task is cancelled while waiting for a stream.
  public func open(_ options: SourceOptions = SourceOptions()) async throws -> any FrameSource {
    if let rate = options.framesPerSecond, FrameRate(rate) == nil {
      throw badRequest("\(rate) frames a second are not within 0.001...1000")
    }
    guard options.maximumPixels > 0 else { throw badRequest("a limit of no pixels leaves no picture") }
    try FrameMasker.check(options, of: description)
    if let pattern = dropPrefix("pattern:") {
      return masked(try TestPatternSource(pattern, options), options)
    }
    if let kind = LiveKind(text) { return LiveSource(try device(kind, options), options) }
    if options.live.delivery == .newest, PipeDevice.isStream(at: text) {
      return LiveSource(PipeDevice(text, options), options)
    }
    let stream = text == "-" ? try ByteStream.standardInput() : try ByteStream(opening: text)
    return masked(try await SourceOpener(stream, options).open(), options)
  }

  /// Live sources mask for themselves: where they decode.
  private func masked(_ source: any FrameSource, _ options: SourceOptions) -> any FrameSource {
    options.masks.isEmpty ? source : MaskedSource(source, options)
  }

  private func dropPrefix(_ prefix: String) -> Substring? {
    text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : nil
  }

  private func badRequest(_ reason: String) -> SourceError {
    SourceError(.badRequest, path: description, reason: reason)
  }
}

/// Opens what comes through one descriptor; an actor, so that waiting for a pipe's writer happens on a thread of its own.
actor SourceOpener {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let path: String
  private let options: SourceOptions
  /// Until it is opened.
  private var stream: ByteStream?

  init(_ stream: consuming ByteStream, _ options: SourceOptions) {
    path = stream.path
    queue = ReadingQueue(named: stream.path)
    self.options = options
    self.stream = consume stream
  }

  /// The source that the first bytes tell; waits for them. Once.
  func open() throws -> any FrameSource {
    guard var stream = stream.take() else { throw CancellationError() }
    guard try !stream.peek(1).isEmpty else { throw SourceError(.badData, path: path, reason: "is empty") }
    if let format = options.inputFormat { return try openRaw(stream, format) }

    let start = try stream.peek(16)
    if start.starts(with: PNGDecoder.signature) { return try ImageFileSource(.png, stream, options) }
    if start.starts(with: Y4MHeader.signature) { return try Y4MSource(stream, options) }
    let isPicture = start.starts(with: [0xFF, 0xD8, 0xFF])
    if isNamedMJPEG, try isPicture || hasPicture(stream.peek(4096)) {
      return MJPEGSource(MJPEGReader(stream, options), options)
    }
    guard isPicture else { return try openVideo(isFile: stream.isRegularFile) }
    if isNamedJPEG, stream.isRegularFile { return try ImageFileSource(.jpeg, stream, options) }
    return try openJPEGs(stream)
  }

  /// What no signature was found for: a video, or nothing that is known.
  private func openVideo(isFile: Bool) throws -> any FrameSource {
    let raw = "raw frames need --input-format and --input-size"
    #if FFmpeg
      guard isFile else {
        throw SourceError(.badData, path: path, reason: "is not a JPEG, PNG or Y4M; \(raw)")
      }
      do {
        return try VideoFileSource(path == "-" ? "/dev/stdin" : path, options, name: path)
      } catch {
        let reason =
          switch error.kind {
          case .unknownFormat: "is not a JPEG, PNG, Y4M or video; \(raw)"
          case .noLibraries: "is not a JPEG, PNG or Y4M; \(raw); and for videos \(error.description)"
          case .ended: "is cut short"
          default: error.description
          }
        throw SourceError(.badData, path: path, reason: reason)
      }
    #else
      throw SourceError(
        .badData, path: path,
        reason: "is not a JPEG, PNG or Y4M; \(raw); this build has no videos: it was made without FFmpeg")
    #endif
  }

  private func openRaw(_ stream: consuming ByteStream, _ format: PixelFormat) throws -> any FrameSource {
    guard let size = options.inputSize else {
      throw SourceError(.badRequest, path: path, reason: "raw \(format) frames need a size (--input-size)")
    }
    return try RawVideoSource(stream, format, size, options)
  }

  /// JPEGs from a stream: frames, unless the first says that others are parts of it, as phones' stills do.
  private func openJPEGs(_ stream: consuming ByteStream) throws -> any FrameSource {
    var pictures = MJPEGReader(stream, options)
    do {
      guard let first = try pictures.next() else {
        throw SourceError(.badData, path: path, reason: "is not a JPEG")
      }
      if let header = try? JPEGDecoder.header(of: first), header.hasMultiPicture {
        return try ImageFileSource(.jpeg, first, name: path, options)
      }
      return MJPEGSource(pictures, first: first, options)
    } catch let error as MJPEGReader.Failure {
      throw SourceError(.badData, path: path, reason: "frame 0 \(error)")
    }
  }

  /// Whatever follows the picture in such a file is not another frame.
  private var isNamedJPEG: Bool {
    let name = path.lowercased()
    return name.hasSuffix(".jpg") || name.hasSuffix(".jpeg")
  }

  private var isNamedMJPEG: Bool {
    let name = path.lowercased()
    return name.hasSuffix(".mjpeg") || name.hasSuffix(".mjpg")
  }

  /// Whether a picture begins in `bytes`: saved multipart streams begin with a boundary.
  private func hasPicture(_ bytes: [UInt8]) -> Bool {
    bytes.indices.dropLast(2).contains { bytes[$0...].starts(with: [0xFF, 0xD8, 0xFF]) }
  }
}
