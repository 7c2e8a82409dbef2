// The time of a snapshot, as requests specify it.

/// The criterion by which the best of several buffered frames is chosen.
enum SnapshotBest: String, CaseIterable, Sendable {
  case sharpest
}

/// A time before the request, or an absolute time.
package enum SnapshotMoment: Sendable, Hashable {
  /// This long before the request.
  case before(Duration)
  case at(WallTime)

  /// Parses `-2s`, or seconds since 1970 as in `X-Timestamp`.
  init(parsing text: String, key: String) throws(ParameterError) {
    if text.first == "-", let duration = try? Self.duration(String(text.dropFirst()), key: key) {
      self = .before(duration)
    } else if let seconds = Double(text), (0...1e11).contains(seconds), text.first != "-" {
      self = .at(WallTime(sinceEpoch: .seconds(seconds)))
    } else {
      throw ParameterError(
        key, "'\(text)' is neither a time before now, such as -2s, nor a time in seconds since 1970")
    }
  }

  /// Parses `3s`, `500ms`.
  package static func duration(_ text: String, key: String) throws(ParameterError) -> Duration {
    do { return try ConfigurationFormat<Duration>.time.read(text, "") } catch {
      throw ParameterError(key, "'\(text)' is not a time above 0, such as 500ms or 3s")
    }
  }

  /// The largest drift between two clocks from the answer that contains an absolute time to a request with
  /// it. No camera captures two frames within it.
  private static let drift = Duration.milliseconds(2)

  /// Converts to the capture clock, for a request at `now` whose trigger was `delay` late.
  func instant(at now: CaptureInstant, delay: Duration) -> CaptureInstant {
    switch self {
    case .before(let duration): now - duration - delay
    case .at(let time): CaptureClock.instant(at: time) + Self.drift
    }
  }

  /// Returns the duration of the span from which `best` chooses: `within`, by default two seconds; nil
  /// without `best`.
  static func span(
    _ best: SnapshotBest?, within text: String?
  ) throws(ParameterError) -> Duration? {
    let span = try text.map { text throws(ParameterError) in try duration(text, key: "within") }
    guard best != nil || span == nil else {
      throw ParameterError("within", "within needs best=sharpest")
    }
    return best.map { _ in span ?? .seconds(2) }
  }
}
