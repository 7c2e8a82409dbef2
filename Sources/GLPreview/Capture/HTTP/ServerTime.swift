// The time of capture from a server's timestamp: some servers send the time of day, some the time since they started.
internal import PreviewCore

/// Interprets `X-Timestamp`.
enum ServerTime {
  /// Plausible ages. Outside of them, one of two clocks is wrong, or the value is not a time of day.
  private static let plausibleAge = Duration.milliseconds(-100)...Duration.seconds(10)

  /// The time of capture, by the clock of `received`, which is when the picture's first byte arrived.
  static func captureTime(_ server: Double?, received: CaptureInstant, receivedSince1970: Duration)
    -> CaptureInstant
  {
    guard let server, server > 0, server < 1e11 else { return received }
    let age = receivedSince1970 - .seconds(server)
    return plausibleAge.contains(age) ? received - max(age, .zero) : received
  }
}
