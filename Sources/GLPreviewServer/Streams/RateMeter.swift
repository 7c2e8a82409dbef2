// How often something happens.

/// How often something happens, over the last seconds.
struct RateMeter: Sendable {
  private var times: [Duration] = []
  private static let window = Duration.seconds(3)

  mutating func count(at time: Duration) {
    times.append(time)
    if times.count > 512 || times.first.map({ $0 < time - Self.window * 2 }) == true {
      times.removeAll { $0 < time - Self.window }
    }
  }

  /// Of what was counted in the last three seconds; 0 where that was less than twice.
  func perSecond(at now: Duration) -> Double {
    let recent = times.filter { $0 >= now - Self.window }
    guard let first = recent.first, let last = recent.last, last > first else { return 0 }
    return Double(recent.count - 1) / ((last - first) / .seconds(1))
  }
}
