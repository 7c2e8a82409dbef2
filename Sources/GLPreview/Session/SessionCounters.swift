// Counts a session's work, for operators, and for tests that prove that a session without readers costs
// nothing.
internal import Synchronization

extension PreviewSession {
  /// The counters since the session began.
  public struct Statistics: Sendable, Hashable {
    /// Frames that were read from sources.
    public var frames = 0
    /// How often the GPU drew.
    public var renders = 0
    /// Pictures that were drawn; one drawing may give several.
    public var pictures = 0
    /// JPEGs of cameras that were passed through; one that several readers share counts once.
    package var passed = 0
    /// Pictures of cameras, JPEGs or H.264, that were decoded although they could have been passed through.
    package var decoded = 0
    /// JPEGs that `RenderedPicture.jpeg` encoded; one that several readers share counts once.
    public var jpegs = 0
    /// Pictures that the GPU coded as JPEG.
    package var coded = 0
    /// How often a source was opened.
    public var opens = 0
    /// How often a source was closed.
    public var closes = 0
  }
}

extension PreviewSession {
  /// The memory and the programs that a renderer keeps for later pictures.
  package struct RendererCaches: Sendable, Hashable {
    /// The bytes of targets, buffers, tables, tiles and the last frame.
    package var bytes = 0
    /// Compiled programs.
    package var programs = 0
  }
}

/// Counts for a part (a source), and for the whole that it belongs to.
final class SessionCounters: Sendable {
  private let statistics = Mutex(PreviewSession.Statistics())
  private let whole: SessionCounters?

  init(partOf whole: SessionCounters? = nil) { self.whole = whole }

  var now: PreviewSession.Statistics { statistics.withLock { $0 } }

  func count(_ event: any WritableKeyPath<PreviewSession.Statistics, Int> & Sendable, by number: Int = 1) {
    statistics.withLock { $0[keyPath: event] += number }
    whole?.count(event, by: number)
  }
}
