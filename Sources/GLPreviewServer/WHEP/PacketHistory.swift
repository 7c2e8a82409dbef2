// The last packets as they were sent, for receivers that have lost some (RFC 4585, generic NACK).
internal import GLPreview
internal import NIOCore

/// A ring of packets by sequence number. It forgets what is too old to be of use.
struct PacketHistory {
  private struct Entry {
    let sequenceNumber: UInt16
    let sentAt: CaptureInstant
    let packet: ByteBuffer
    /// When it was last sent again.
    var repeatedAt: CaptureInstant?
  }

  private var entries: [Entry?]
  /// The oldest entry that may be there.
  private var oldest: UInt16?

  /// How long packets are kept: receivers give up long before.
  static let keptFor = Duration.seconds(1)
  /// The least time between two repetitions of a packet: a receiver asks again before the first can have come.
  static let repeatsAfter = Duration.milliseconds(10)

  /// - Parameter capacity: the most packets, a power of two.
  init(capacity: Int = 1024) { entries = Array(repeating: nil, count: capacity) }

  private func place(_ sequenceNumber: UInt16) -> Int { Int(sequenceNumber) & (entries.count - 1) }

  mutating func add(_ packet: ByteBuffer, _ sequenceNumber: UInt16, at now: CaptureInstant) {
    // Those that are too old go as new ones come.
    var next = oldest ?? sequenceNumber
    while next != sequenceNumber {
      if let entry = entries[place(next)], entry.sequenceNumber == next {
        guard now - entry.sentAt > Self.keptFor else { break }
        entries[place(next)] = nil
      }
      next &+= 1
    }
    oldest = next
    if sequenceNumber &- next >= UInt16(entries.count) {
      oldest = sequenceNumber &- UInt16(entries.count - 1)
    }
    entries[place(sequenceNumber)] = Entry(sequenceNumber: sequenceNumber, sentAt: now, packet: packet)
  }

  /// The packet, unless it is forgotten, or was repeated just now.
  mutating func packet(_ sequenceNumber: UInt16, at now: CaptureInstant) -> ByteBuffer? {
    guard let entry = entries[place(sequenceNumber)], entry.sequenceNumber == sequenceNumber,
      now - entry.sentAt <= Self.keptFor, entry.repeatedAt.map({ now - $0 >= Self.repeatsAfter }) ?? true
    else { return nil }
    entries[place(sequenceNumber)]?.repeatedAt = now
    return entry.packet
  }

  mutating func removeAll() {
    entries = Array(repeating: nil, count: entries.count)
    oldest = nil
  }

  var count: Int { entries.count { $0 != nil } }
}
