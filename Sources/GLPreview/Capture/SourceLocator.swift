// Opens the source that the user typed. `SourceKinds` lists the kinds.

/// A source as it is typed: a path, a `file:` URL, `-` for standard input, `exec:COMMAND`,
/// `pattern:NAME[,size=WxH][,fps=N]`.
///
/// ```swift
/// let source = try await SourceLocator("street.jpg").open()
/// let frame = try await source.nextFrame()
/// ```
public struct SourceLocator: Sendable, Hashable, CustomStringConvertible {
  /// The text as typed, including passwords; for a `file:` URL, its path.
  public let text: String

  /// Stores the text without opening anything.
  public init(_ text: String) { self.text = SourceKinds.kind(of: text).name(text) }

  /// The kind of source that the text names.
  package var kind: SourceKind { SourceKinds.kind(of: text) }

  /// The name for display, without passwords, tokens, keys and the arguments of commands.
  public var description: String { Redaction.source(text) }

  /// Whether it is a camera, a server, a command or a pipe, whose frames arrive on their own.
  public var isLive: Bool { kind.isLive(text) }

  /// The first option that the source does not support; nil if it supports all.
  package func refusal(of options: SourceOptions) -> SourceKind.Refusal? {
    let kind = kind
    guard options.certificate == nil || kind.isCertified(text) else {
      let schemes = SourceKinds.all.compactMap(\.certifiedScheme).map { "\($0)://" }
      let reason = "only \(schemes.joined(separator: " and ")) sources have a certificate"
      return SourceKind.Refusal(option: "certificate", reason: reason)
    }
    return kind.refusal(text, options)
  }

  /// A warning for users before the source is opened with `options`; nil for most.
  package func warning(of options: SourceOptions) -> String? { kind.warning(text, options) }

  /// Opens the source and reads its first bytes. For a pipe, this may wait for the writer.
  ///
  /// The first bytes identify JPEG, PNG and Y4M. Pipes and files named `.mjpeg` may begin with other bytes:
  /// their first MiB is searched for a picture. A file with no known signature is tried as a video. A JPEG
  /// file named `.jpg` or `.jpeg` is one picture. Other JPEGs are a sequence of frames, unless the first one
  /// declares a still of several parts. With `inputFormat`, everything is read as raw frames.
  ///
  /// A live source (`FrameSource.isLive`) connects after this returns. Pipes are live, unless all frames are
  /// wanted.
  ///
  /// - Throws: `SourceError`; `CancellationError` if the task is cancelled while it waits for a stream.
  public func open(_ options: SourceOptions = SourceOptions()) async throws -> any FrameSource {
    if let rate = options.framesPerSecond, FrameRate(rate) == nil {
      throw badRequest("\(rate) frames a second are not within 0.001...1000")
    }
    guard options.maximumPixels > 0 else { throw badRequest("the limit of pixels must be above 0") }
    try FrameMasker.check(options, of: description)
    if let refusal = refusal(of: options) { throw badRequest(refusal.reason) }
    switch try await kind.open(text, options) {
    case .device(let device): return LiveSource(device, options)
    case .source(let source): return options.masks.isEmpty ? source : MaskedSource(source, options)
    }
  }

  private func badRequest(_ reason: String) -> SourceError {
    SourceError(.badRequest, path: description, reason: reason)
  }
}
