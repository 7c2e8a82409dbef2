// A source of frames, the start of every pipeline, and its errors.

/// A source that delivers frames one after another. Request one frame at a time.
public protocol FrameSource: Sendable {
  /// The name as the user entered it, for messages: a path, `-`, `pattern:smpte`.
  var name: String { get }

  /// Frames per second; nil if the source does not report a rate.
  var framesPerSecond: Double? { get async }

  /// The upright size whose pixels masks and crops refer to; nil means the size of the first frame. Known
  /// after the first frame.
  var referenceSize: Size? { get async }

  /// Whether frames arrive at their own pace, as from a camera. A live source may be lost and recover. It
  /// can't be rewound.
  var isLive: Bool { get }

  /// The current status. A source that is not live is always `.live` and counts nothing.
  var status: SourceStatus { get }

  /// The current status, then each change of state or mode, until the source is closed. A slow reader
  /// receives only the newest 16.
  var statuses: AsyncStream<SourceStatus> { get }

  /// Returns the next frame; nil at the end.
  ///
  /// - Throws: `SourceError` if the frame can't be read; the next call returns the frame after it, or nil if
  ///   that can't be found. `CancellationError` if the task is cancelled while a stream has nothing to read.
  func nextFrame() async throws -> Frame?

  /// Returns the next frame with this `sequence` or a later one, captured at `time` or later. A live source
  /// skips earlier frames without decoding them.
  func nextFrame(from sequence: Int, capturedAt time: CaptureInstant) async throws -> Frame?

  /// Restarts from the first frame, whose number is 0 again.
  ///
  /// - Throws: `SourceError` if the source is a stream, which can't be played again.
  func rewind() async throws

  /// Closes the source and releases descriptors and threads within a second, in any state. `nextFrame` then
  /// returns nil.
  func close() async
}

extension FrameSource {
  /// Does nothing. Files, stills and patterns are released with their object.
  public func close() async {}

  /// Nil by default.
  public var framesPerSecond: Double? { nil }

  /// Nil by default: the size of the first frame applies.
  public var referenceSize: Size? { nil }

  /// False: files, stills and patterns are not live.
  public var isLive: Bool { false }

  /// Always `.live`.
  public var status: SourceStatus { SourceStatus(.live, since: .start) }

  /// The status, once. It never changes.
  public var statuses: AsyncStream<SourceStatus> {
    AsyncStream { statuses in
      statuses.yield(status)
      statuses.finish()
    }
  }

  /// Reads frames until one matches.
  public func nextFrame(from sequence: Int, capturedAt time: CaptureInstant) async throws -> Frame? {
    while let frame = try await nextFrame() {
      if frame.sequence >= sequence, frame.timestamp >= time { return frame }
    }
    return nil
  }
}

/// The error of a source that can't be opened or can't continue.
public struct SourceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error, for callers that react to it.
  public enum Kind: Sendable, Hashable {
    /// The file does not exist.
    case notFound
    /// The file exists but can't be read: no permission, a directory, a failing disk.
    case unreadable
    /// The data is truncated, corrupt, or in an unknown format.
    case badData
    /// The request is invalid or not supported.
    case badRequest
    /// The source has no pictures, or no more: it is busy, unplugged, refuses connections, or timed out.
    case unavailable
  }

  /// The kind of error.
  public let kind: Kind
  /// The source's name, without secrets.
  public let path: String
  /// The reason in one line, without the path. Secrets are removed from its addresses.
  public let reason: String
  /// Whether the only cause is an exhausted memory budget.
  package let isOutOfMemory: Bool

  /// Creates an error of the source `path`. Both texts are shown to users, so secrets are removed from their
  /// addresses.
  package init(_ kind: Kind, path: String, reason: String) {
    self.init(kind, path: path, reason: reason, isOutOfMemory: false)
  }

  /// Creates the error of a picture that can't be decoded: `badData`, or `unavailable` if the memory budget
  /// is exhausted.
  package init(decoding error: any Error, path: String, reason: String) {
    let isOutOfMemory = error.isOutOfMemory
    self.init(
      isOutOfMemory ? .unavailable : .badData, path: path, reason: reason, isOutOfMemory: isOutOfMemory)
  }

  private init(_ kind: Kind, path: String, reason: String, isOutOfMemory: Bool) {
    self.kind = kind
    self.path = Redaction.source(path)
    self.reason = Redaction.message(reason).brief
    self.isOutOfMemory = isOutOfMemory
  }

  /// Returns this error for a source with another name.
  package func named(_ path: String) -> SourceError {
    SourceError(kind, path: path, reason: reason, isOutOfMemory: isOutOfMemory)
  }

  /// Returns the error of a source or scene that delivered no picture within `limit`.
  package static func late(_ path: String, _ limit: Duration) -> SourceError {
    SourceError(.unavailable, path: path, reason: "delivered no picture within \(limit / .seconds(1)) s")
  }

  /// `PATH: reason` in one line; control characters are replaced.
  public var description: String { "\(path): \(reason)".onOneLine }
}

extension SourceError: MemoryShortage {}

extension String {
  /// The text with control characters replaced, because these could break a line or control a terminal.
  package var onOneLine: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
  }
}
