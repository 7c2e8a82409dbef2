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
  /// The first bytes tell JPEG, PNG and Y4M. A file with no known signature is tried as a video. A JPEG file named `.jpg` or
  /// `.jpeg` is one picture; other JPEGs are frames, one after another, unless the first one says that it is a still of several
  /// parts. With `inputFormat` everything is raw frames.
  ///
  /// What is live (`FrameSource.isLive`) connects after this returns; pipes are, unless all of their frames are wanted.
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

  /// The way to a live source.
  ///
  /// - Throws: `SourceError`, `.badRequest` alone: nothing is touched yet.
  private func device(_ kind: LiveKind, _ options: SourceOptions) throws -> any CaptureDevice {
    switch kind {
    case .camera: return try V4L2Device(text, options)
    case .http:
      #if HTTP
        return try HTTPDevice(text, options)
      #else
        throw SourceError(
          .badRequest, path: text,
          reason: "this build has no HTTP (the package's trait HTTP is off)")
      #endif
    case .stream:
      #if FFmpeg
        return try StreamDevice(text, options)
      #else
        throw SourceError(
          .badRequest, path: text,
          reason: "this build has no streams: it was made without FFmpeg")
      #endif
    case .command: return try CommandDevice(text, options)
    }
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
