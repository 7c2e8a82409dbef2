// How many packets a client gets at once: a keyframe is spread over part of the time until the next picture.

/// Decides for one client; it has no clock of its own.
///
/// Routers and radio links have short queues, and drop the end of a long burst. libwebrtc therefore sends at
/// 2.5 times the stream's bit rate, in bursts of 5 ms. Applied strictly, that would delay a keyframe, and all
/// pictures behind it, by several times the interval. So here a picture of up to 2.5 times the usual size is
/// sent at once, as is a small one; a larger one is spread evenly, over half of the interval at most.
struct PacketPace: Sendable, Hashable {
  /// The time between two bursts.
  static let step = Duration.milliseconds(5)
  /// How many packets are always sent at once: TCP's initial window (RFC 6928).
  static let least = 10
  private static let factor = 2.5
  private static let shortest = Duration.milliseconds(5)
  private static let longest = Duration.milliseconds(100)

  /// The packets of a usual picture other than a keyframe.
  private var usual = 0.0
  private var burst = Self.least
  private var began: CaptureInstant?
  private var sent = 0

  /// Adds a picture that waits to be sent.
  ///
  /// - Parameters:
  ///   - packets: the packets of the picture.
  ///   - isKey: whether it is a keyframe, whose size is not the usual one.
  ///   - waiting: the packets of all pictures that wait, including this one.
  ///   - interval: the time between two pictures.
  mutating func add(_ packets: Int, isKey: Bool, waiting: Int, interval: Duration) {
    if !isKey { usual += (Double(packets) - usual) / (usual == 0 ? 1 : 16) }
    let time = min(max(interval, Self.shortest), Self.longest) / 2
    let bursts = Int(time / Self.step) + 1
    // Pictures that are being sent keep their rate.
    let before = waiting > packets ? burst : 0
    burst = max(before, Self.least, Int(usual * Self.factor), (waiting + bursts - 1) / bursts)
  }

  /// How many packets may be sent now.
  mutating func allowed(at now: CaptureInstant) -> Int {
    if began.map({ now - $0 >= Self.step }) ?? true { (began, sent) = (now, 0) }
    return max(0, burst - sent)
  }

  mutating func took(_ packets: Int) { sent += packets }
}
