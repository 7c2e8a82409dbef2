// The pictures of one WebRTC client on their way into packets: pictures that wait or were sent, and packets
// sent again.

/// One client's pictures. It has no clock of its own.
struct SentPictures {
  /// The result of adding a picture.
  enum Reception: Sendable, Hashable {
    case taken
    /// Not sent, because a keyframe must come first.
    case skipped
    /// The network takes less than is produced: waiting pictures were dropped, and a keyframe must come
    /// first.
    case tooLate
  }

  /// Counts what was sent.
  struct Sent: Sendable, Hashable {
    var packets = 0
    var bytes = 0
    var repeated = 0
  }

  private var packetizer: RTPPacketizer
  private var history = PacketHistory()
  private var pace = PacketPace()
  /// The pictures that were not sent completely, and how many packets of the first one were sent.
  private var waiting: [RTPPicture] = []
  private var written = 0
  /// The unsent packets of all waiting pictures.
  private var waitingPackets = 0
  /// The RTP timestamp of the first one; nil before its first packet.
  private var time: UInt32?
  /// When something was last sent, or began to wait.
  private var movedAt = CaptureInstant.start
  private var awaitsKey = true
  /// The times of the last picture that was added, and of the last that began to be sent.
  private var lastAdded: CaptureInstant?
  private var lastSent: CaptureInstant?
  /// Packets to be sent again.
  private var repeats: [UInt16] = []
  /// How many packets the client has reported as missing.
  private var missing = 0

  /// How long pictures may wait while nothing can be sent.
  static let mostWaiting = Duration.milliseconds(250)
  private static let mostRepeats = 1024
  private static let usualInterval = Duration.milliseconds(33)

  init(_ packetizer: RTPPacketizer) { self.packetizer = packetizer }

  /// Whether there is something to be sent.
  var isWaiting: Bool { !waiting.isEmpty || !repeats.isEmpty }

  // MARK: Pictures

  mutating func add(_ picture: RTPPicture, at now: CaptureInstant) -> Reception {
    let isLate = !waiting.isEmpty && now - movedAt > Self.mostWaiting
    if isLate { restart() }
    guard picture.isKey || !awaitsKey else { return isLate ? .tooLate : .skipped }
    awaitsKey = false
    let interval = lastAdded.map { picture.timestamp - $0 } ?? Self.usualInterval
    lastAdded = picture.timestamp
    if waiting.isEmpty { movedAt = now }
    waiting.append(picture)
    waitingPackets += picture.count
    pace.add(picture.count, isKey: picture.isKey, waiting: waitingPackets, interval: interval)
    return .taken
  }

  /// Drops what waits. The next picture must be a keyframe.
  mutating func restart() { (waiting, written, waitingPackets, time, awaitsKey) = ([], 0, 0, nil, true) }

  /// Does that, and adds `past`, a keyframe and the pictures that depend on it, at once. Their timestamps are
  /// a millisecond apart, so that the client shows the newest one, and does not stay behind.
  mutating func restart(with past: [RTPPicture], at now: CaptureInstant) {
    restart()
    guard let newest = past.last else { return }
    let time = newest.timestamp - .milliseconds(past.count)
    lastSent = max(lastSent ?? time, time)
    for picture in past { _ = add(picture, at: now) }
  }

  /// Writes what may be sent now. The rest may be sent after `PacketPace.step`.
  mutating func write(
    into outbox: DatagramOutbox, by srtp: SRTPContext, to path: DatagramPath, at now: CaptureInstant
  ) -> Sent {
    var sent = Sent()
    writeRepeats(into: outbox, by: srtp, to: path, at: now, &sent)
    while let picture = waiting.first {
      guard
        let run = picture.run(from: written, atMost: min(pace.allowed(at: now), DatagramOutbox.mostPackets))
      else { break }
      let time = time ?? begin(picture)
      let header = RTPHeader(bytes: packetizer.header(time: time), sequenceNumber: packetizer.sequenceNumber)
      guard let bytes = outbox.add(run, of: picture, header, by: srtp, to: path) else { break }
      history.add(run, of: picture, packetizer.take(run), time: time, at: now)
      pace.took(run.packets)
      sent.packets += run.packets
      sent.bytes += bytes
      movedAt = now
      written += run.packets
      waitingPackets -= run.packets
      if written >= picture.count {
        waiting.removeFirst()
        (written, self.time) = (0, nil)
      }
    }
    return sent
  }

  /// The RTP timestamp of a picture, later than that of the last one: a client may get pictures of two
  /// encoders, which have times of their own.
  private mutating func begin(_ picture: RTPPicture) -> UInt32 {
    let instant = lastSent.map { max(picture.timestamp, $0 + .milliseconds(1)) } ?? picture.timestamp
    let time = packetizer.time(of: instant)
    (lastSent, self.time) = (instant, time)
    return time
  }

  // MARK: Feedback

  /// Queues packets that the client asks for again.
  mutating func lost(_ numbers: [UInt16]) {
    repeats += numbers.prefix(max(0, Self.mostRepeats - repeats.count))
  }

  private mutating func writeRepeats(
    into outbox: DatagramOutbox, by srtp: SRTPContext, to path: DatagramPath, at now: CaptureInstant,
    _ sent: inout Sent
  ) {
    for number in repeats {
      guard let packet = history.packet(number, at: now),
        let run = packet.picture.run(from: packet.index, atMost: 1)
      else { continue }
      let header = RTPHeader(bytes: packetizer.header(time: packet.time), sequenceNumber: number)
      if let bytes = outbox.add(run, of: packet.picture, header, by: srtp, to: path), bytes > 0 {
        sent.repeated += 1
      }
    }
    repeats = []
  }

  /// Takes the total of missing packets that the client reports, and returns the increase.
  mutating func missing(_ count: Int) -> Int {
    defer { missing = max(missing, count) }
    return max(0, count - missing)
  }

  // MARK: Reports

  func senderReport(at now: CaptureInstant) -> [UInt8]? { packetizer.senderReport(at: now) }
  var goodbye: [UInt8] { packetizer.goodbye }
}
