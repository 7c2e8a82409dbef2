// Which pictures were sent with which sequence numbers, for receivers that have lost packets (RFC 4585,
// generic NACK).

/// The pictures of the last second. Their packets are written again on request: all clients of a view share
/// the payloads, so that a client costs no memory of its own.
struct PacketHistory {
  /// The source of a packet.
  struct Packet {
    let picture: RTPPicture
    /// The index of the payload.
    let index: Int
    /// The picture's RTP timestamp.
    let time: UInt32
  }

  private struct Entry {
    let picture: RTPPicture
    let time: UInt32
    /// The sequence number of the first packet, and how many were sent.
    let first: UInt16
    var count: Int
    let sentAt: CaptureInstant
  }

  /// The oldest first.
  private var entries: [Entry] = []
  private var repeatedAt: [UInt16: CaptureInstant] = [:]

  /// How long packets can be sent again: receivers give up long before.
  static let retention = Duration.seconds(1)
  /// The least time between two repetitions of a packet: a receiver asks again before the first can have
  /// arrived.
  static let repeatsAfter = Duration.milliseconds(10)
  /// How far back libsrtp can write a packet again (`window_size` in SRTP.c).
  static let window = 1024

  /// Adds the packets of `run` that were sent, with sequence numbers from `number` on.
  mutating func add(
    _ run: RTPPicture.Run, of picture: RTPPicture, _ number: UInt16, time: UInt32, at now: CaptureInstant
  ) {
    if let last = entries.last, last.picture === picture, last.count == run.first {
      entries[entries.count - 1].count += run.packets
    } else {
      entries.append(Entry(picture: picture, time: time, first: number, count: run.packets, sentAt: now))
    }
    let next = number &+ UInt16(truncatingIfNeeded: run.packets)
    let old = entries.prefix {
      now - $0.sentAt > Self.retention || Int(next &- $0.first) > Self.window + $0.count
    }
    guard !old.isEmpty else { return }
    entries.removeFirst(old.count)
    if !repeatedAt.isEmpty { repeatedAt = repeatedAt.filter { now - $0.value <= Self.retention } }
  }

  /// The packet, unless it is forgotten, or was just repeated.
  mutating func packet(_ number: UInt16, at now: CaptureInstant) -> Packet? {
    guard let entry = entries.last(where: { Int(number &- $0.first) < $0.count }),
      now - entry.sentAt <= Self.retention,
      repeatedAt[number].map({ now - $0 >= Self.repeatsAfter }) ?? true
    else { return nil }
    repeatedAt[number] = now
    return Packet(picture: entry.picture, index: Int(number &- entry.first), time: entry.time)
  }

  /// The number of packets that can be sent again.
  var count: Int { entries.reduce(0) { $0 + $1.count } }
}
