// Where the picture's way begins: something that gives frames, and how it says that it can't.
public import PreviewCore

/// Gives frames one after another. Ask for one at a time.
public protocol FrameSource: Sendable {
  /// What the user called it, for messages: a path, `-`, `pattern:smpte`.
  var name: String { get }

  /// Frames in a second, where the source says.
  var framesPerSecond: Double? { get async }

  /// The upright size in whose pixels masks and crops are, where the source says; else that of its first frame. Known when a
  /// frame has come.
  var referenceSize: Size? { get async }

  /// Whether frames come when they come, as a camera's do: it may be lost and found again, and can't be played again.
  var isLive: Bool { get }

  /// How it is now. A source that is not live is always `.live`, and counts nothing.
  var status: SourceStatus { get }

  /// How it is, now and whenever its state changes; ends when it is closed. A slow reader keeps only the newest 16.
  var statuses: AsyncStream<SourceStatus> { get }

  /// The next frame, or nil when there is none left.
  ///
  /// - Throws: `SourceError` where the frame can't be had; the next call gives the one after it, or nil where
  ///   that can't be found. Where the task is cancelled while a stream has nothing to read,
  ///   `CancellationError`.
  func nextFrame() async throws -> Frame?

  /// The same, but of frame `sequence` or later, captured at `time` or later. A live source passes over those before
  /// undecoded.
  func nextFrame(from sequence: Int, capturedAt time: Duration) async throws -> Frame?

  /// Starts again from the first frame, which counts as 0 again.
  ///
  /// - Throws: `SourceError` where the source is a stream that has gone by.
  func rewind() async throws

  /// Ends it: descriptors and threads are given back within a second, whatever it is doing. `nextFrame` then gives nil.
  func close() async
}

extension FrameSource {
  /// Files, stills and patterns hold nothing that does not go with them.
  public func close() async {}

  /// Most say nothing.
  public var framesPerSecond: Double? { nil }

  /// Those that have no choice of sizes leave it to their first frame.
  public var referenceSize: Size? { nil }

  /// Files, stills and patterns are not.
  public var isLive: Bool { false }

  /// Its frames are there.
  public var status: SourceStatus { SourceStatus(.live, since: .zero) }

  /// The status, which stays.
  public var statuses: AsyncStream<SourceStatus> {
    AsyncStream { statuses in
      statuses.yield(status)
      statuses.finish()
    }
  }

  /// Reads frames until there is one.
  public func nextFrame(from sequence: Int, capturedAt time: Duration) async throws -> Frame? {
    while let frame = try await nextFrame() {
      if frame.sequence >= sequence, frame.timestamp >= time { return frame }
    }
    return nil
  }
}

/// A source that can't be opened, or can't go on.
public struct SourceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a caller can do about it.
  public enum Kind: Sendable, Hashable {
    /// There is no such file.
    case notFound
    /// It is there, but can't be read: permissions, a directory, a disk that fails.
    case unreadable
    /// What is in it is cut short, corrupt or of no known format.
    case badData
    /// What was asked of it makes no sense, or is not supported.
    case badRequest
    /// It gives no pictures, or no more: busy, unplugged, refused, timed out.
    case unavailable
  }

  /// What a caller can do about it.
  public let kind: Kind
  /// The source's name, without the secrets in it.
  public let path: String
  /// Why, without the path, in one line; addresses in it have no secrets.
  public let reason: String

  /// An error of the source `path`. Both texts are shown to the user, and secrets are taken out of the addresses in them.
  public init(_ kind: Kind, path: String, reason: String) {
    self.kind = kind
    self.path = Redaction.source(path)
    self.reason = Redaction.message(reason)
  }

  /// `PATH: reason` in one line, whatever characters the path is made of.
  public var description: String {
    let scalars = "\(path): \(reason)".unicodeScalars.map { scalar in
      scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar
    }
    return String(String.UnicodeScalarView(scalars))
  }
}
