// Measures rates for `/api` and the dashboard, in events per second.
internal import GLPreview

/// Counts events over the last seconds.
struct RateMeter: Sendable {
  private var times: [CaptureInstant] = []
  private static let window = Duration.seconds(3)

  mutating func count(at time: CaptureInstant) {
    times.append(time)
    if times.count > 512 || times.first.map({ $0 < time - Self.window * 2 }) == true {
      times.removeAll { $0 < time - Self.window }
    }
  }

  /// The rate over the last three seconds; 0 if there were fewer than two events.
  func perSecond(at now: CaptureInstant) -> Double {
    let recent = times.filter { $0 >= now - Self.window }
    guard let first = recent.first, let last = recent.last, last > first else { return 0 }
    return Double(recent.count - 1) / ((last - first) / .seconds(1))
  }
}
