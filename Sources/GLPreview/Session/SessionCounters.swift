// What a session has done: for operators, and for tests that prove that nobody looking costs nothing.
internal import Synchronization

/// What was counted since the session began.
public struct SessionStatistics: Sendable, Hashable {
  /// Frames that were taken from sources.
  public var frames = 0
  /// Times that the GPU was asked to draw.
  public var renders = 0
  /// Pictures that were drawn: a few at a time.
  public var pictures = 0
  /// JPEGs that were encoded of them, by `RenderedPicture.jpeg`: one that several readers share counts once.
  public var jpegs = 0
  /// Times that a source was opened.
  public var opens = 0
  /// Times that one was closed.
  public var closes = 0
}

/// Counts, for one and for the whole that it belongs to.
final class SessionCounters: Sendable {
  private let statistics = Mutex(SessionStatistics())
  private let whole: SessionCounters?

  init(partOf whole: SessionCounters? = nil) { self.whole = whole }

  var now: SessionStatistics { statistics.withLock { $0 } }

  func count(_ event: any WritableKeyPath<SessionStatistics, Int> & Sendable, by number: Int = 1) {
    statistics.withLock { $0[keyPath: event] += number }
    whole?.count(event, by: number)
  }
}
