// Opens the source that the user typed. File formats are detected from the first bytes: names can be wrong.
internal import PreviewCore

/// A source as it is typed: a path, a `file:` URL, `-` for standard input, `exec:COMMAND`,
/// `pattern:NAME[,size=WxH][,fps=N]`.
///
/// ```swift
/// let source = try await SourceLocator("street.jpg").open()
/// let frame = try await source.nextFrame()
/// ```
public struct SourceLocator: Sendable, Hashable, CustomStringConvertible {
  /// The text as typed, including passwords; of a `file:` URL the path.
  public let text: String

  /// Stores the text without opening anything.
  public init(_ text: String) { self.text = Self.path(ofURL: text) ?? text }

  /// The path that a `file:` URL of this machine names (RFC 8089); nil for anything else.
  private static func path(ofURL text: String) -> String? {
    guard text.prefix(6).lowercased() == "file:/" else { return nil }
    let rest = text.dropFirst(5)
    guard rest.hasPrefix("//") else { return String(rest).percentDecoded }
    let host = rest.dropFirst(2).prefix { $0 != "/" }
    let path = rest[host.endIndex...]
    guard host.isEmpty || host.lowercased() == "localhost", !path.isEmpty else { return nil }
    return String(path).percentDecoded
  }

  /// The name for display, without passwords, tokens, keys and the arguments of commands.
  public var description: String { Redaction.source(text) }

  /// Whether it is a camera, a server, a command or a pipe, whose frames arrive on their own.
  public var isLive: Bool { LiveKind(text) != nil || PipeDevice.isStream(at: text) }

  /// Opens the source and reads its first bytes. For a pipe, this may wait for the writer.
  ///
  /// The first bytes identify JPEG, PNG and Y4M. Pipes and files named `.mjpeg` may begin with other bytes: their first
  /// MiB is searched for a picture. A file with no known signature is tried as a video. A JPEG file named
  /// `.jpg` or `.jpeg` is one picture. Other JPEGs are a sequence of frames, unless the first one declares a still of
  /// several parts. With `inputFormat`, everything is read as raw frames.
  ///
  /// A live source (`FrameSource.isLive`) connects after this returns. Pipes are live, unless all frames are wanted.
  ///
  /// - Throws: `SourceError`; `CancellationError` if the task is cancelled while it waits for a stream.
  public func open(_ options: SourceOptions = SourceOptions()) async throws -> any FrameSource {
    if let rate = options.framesPerSecond, FrameRate(rate) == nil {
      throw badRequest("\(rate) frames a second are not within 0.001...1000")
    }
    guard options.maximumPixels > 0 else { throw badRequest("a limit of no pixels leaves no picture") }
    try FrameMasker.check(options, of: description)
    if let refusal = options.certificateRefusal(for: text) { throw badRequest(refusal) }
    guard text.prefix(7).lowercased() != "file://" else {
      throw badRequest("names no file of this machine; a file URL is file:///PATH")
    }
    let pattern = "pattern:"
    if text.hasPrefix(pattern) {
      return masked(try TestPatternSource(text.dropFirst(pattern.count), options), options)
    }
    if let kind = LiveKind(text) { return LiveSource(try device(kind, options), options) }
    if options.live.delivery == .newest, PipeDevice.isStream(at: text) {
      return LiveSource(PipeDevice(text, options), options)
    }
    return masked(try await SourceOpener(ByteStream(opening: text), options).open(), options)
  }

  /// The device of a live source. Nothing is opened yet; throws only `.badRequest`.
  private func device(_ kind: LiveKind, _ options: SourceOptions) throws -> any CaptureDevice {
    switch kind {
    case .camera: return try V4L2Device(text, options)
    case .http:
      #if HTTP
        return try HTTPDevice(text, options)
      #else
        throw badRequest("this build has no HTTP (the package's trait HTTP is off)")
      #endif
    case .stream:
      #if FFmpeg && HTTP
        return try StreamDevice(text, options, openTunnel: RTSPTunnel.open)
      #elseif FFmpeg
        return try StreamDevice(text, options)
      #else
        throw badRequest("this build has no streams: it was made without FFmpeg")
      #endif
    case .command: return try CommandDevice(text, options)
    }
  }

  /// Live sources mask their frames themselves, where they decode them.
  private func masked(_ source: any FrameSource, _ options: SourceOptions) -> any FrameSource {
    options.masks.isEmpty ? source : MaskedSource(source, options)
  }

  private func badRequest(_ reason: String) -> SourceError {
    SourceError(.badRequest, path: description, reason: reason)
  }
}

/// The kinds of live sources that can be recognised by name.
enum LiveKind: Sendable, Hashable {
  case camera
  case http
  /// Opened by FFmpeg's libraries.
  case stream
  /// `exec:COMMAND`
  case command

  private static let schemes: [String: LiveKind] = [
    "http": .http, "https": .http, "rtsp": .stream, "rtsps": .stream, "rtmp": .stream, "rtmps": .stream,
    "srt": .stream, "udp": .stream, "exec": .command,
  ]

  /// Nil for files, patterns and standard input.
  init?(_ name: String) {
    if V4L2Camera.isNamed(by: name) {
      self = .camera
    } else if let colon = name.firstIndex(of: ":"), let kind = Self.schemes[name[..<colon].lowercased()] {
      self = kind
    } else {
      return nil
    }
  }
}
