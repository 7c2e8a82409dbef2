// How often views may be moved.
internal import HTTPTypes
internal import Synchronization

/// Limits the moves of each view.
final class MoveLimiter: Sendable {
  /// The most moves of a view within `span`.
  static let most = 50
  private static let span = Duration.seconds(1)

  /// The times of the latest moves, by the name of the preview.
  private let times = Mutex<[String: [CaptureInstant]]>([:])

  /// Counts a move of a view at `now`.
  ///
  /// - Throws: `Problem` 429 if it is one too many.
  func check(_ entry: ServedPreview, at now: CaptureInstant) throws(Problem) {
    guard !allows(entry.preview.name, at: now) else { return }
    throw .busy(
      .tooManyRequests,
      "view '\(entry.name)' of '\(entry.camera)' is moved more than \(Self.most) times a second",
      retryAfter: 1)
  }

  /// Counts a move at `now`, and returns whether it is allowed.
  func allows(_ preview: String, at now: CaptureInstant) -> Bool {
    times.withLock { times in
      times = times.compactMapValues { moves in
        let recent = moves.filter { now - $0 < Self.span }
        return recent.isEmpty ? nil : recent
      }
      guard times[preview]?.count ?? 0 < Self.most else { return false }
      times[preview, default: []].append(now)
      return true
    }
  }
}
