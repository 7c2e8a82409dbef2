// When a picture was taken, by what its server says of it: some send the time of day, some the time since they started.

/// What `X-Timestamp` is worth.
enum ServerTime {
  /// Ages that are believed: beyond that, one of two clocks is wrong, or it is no time of day at all.
  private static let plausibleAge = Duration.milliseconds(-100)...Duration.seconds(10)

  /// When a picture was captured, by the clock of `received`, when its first byte came.
  static func captureTime(_ server: Double?, received: Duration, receivedSince1970: Duration) -> Duration {
    guard let server, server > 0, server < 1e11 else { return received }
    let age = receivedSince1970 - .seconds(server)
    return plausibleAge.contains(age) ? received - max(age, .zero) : received
  }
}
