// What is known of sent packets.
import GLPreview
import Testing

@testable import WebRTC

@Suite("Packet history")
struct PacketHistoryTests {
  private static let start = CaptureInstant.start + .seconds(100)
  private static let picture = RTPPicture(sample([unit(3000)]))

  /// Adds a whole picture of three packets.
  private static func add(_ history: inout PacketHistory, _ number: UInt16, at now: CaptureInstant) {
    guard let run = picture.run(from: 0, atMost: 9) else { return }
    history.add(run, of: picture, number, time: UInt32(number), at: now)
  }

  @Test("a packet can be sent again for one second", arguments: [0, 65_500] as [UInt16])
  func age(first: UInt16) {
    var history = PacketHistory()
    for index in 0..<50 as Range<UInt16> {
      Self.add(&history, first &+ index * 3, at: Self.start + .milliseconds(Int64(index) * 100))
    }
    let now = Self.start + .milliseconds(4900)

    for offset in 0..<150 as Range<UInt16> {
      let packet = history.packet(first &+ offset, at: now)
      #expect((packet != nil) == (offset >= 39 * 3), "\(offset)")
      #expect(
        packet.map { $0.index == Int(offset % 3) && $0.time == UInt32(first &+ offset / 3 * 3) } ?? true)
    }
    #expect(history.packet(first &+ 150, at: now) == nil, "not sent yet")
    #expect(history.count <= 36, "old pictures take no memory")
  }

  @Test("the last 1000 packets can be sent again, and those before libsrtp's window of 1024 can't")
  func window() {
    var history = PacketHistory()
    for index in 0..<1000 as Range<UInt16> { Self.add(&history, index * 3, at: Self.start) }

    #expect(history.count <= PacketHistory.window + 6)
    #expect(history.packet(2999 - 1000, at: Self.start) != nil)
    #expect(history.packet(1000, at: Self.start) == nil)
  }

  @Test("of a picture that is partly sent, only the packets sent so far can be sent again")
  func parts() throws {
    var history = PacketHistory()
    let one = try #require(Self.picture.run(from: 0, atMost: 1))
    let other = try #require(Self.picture.run(from: 1, atMost: 1))
    history.add(one, of: Self.picture, 5, time: 9, at: Self.start)
    #expect(history.packet(6, at: Self.start) == nil)

    history.add(other, of: Self.picture, 6, time: 9, at: Self.start)

    #expect(history.packet(6, at: Self.start)?.index == 1)
    #expect(history.packet(7, at: Self.start) == nil)
  }

  @Test("a packet that was just sent again is not repeated within 1 ms, but is after 20 ms")
  func repetition() {
    var history = PacketHistory()
    Self.add(&history, 1, at: Self.start)

    #expect(history.packet(1, at: Self.start) != nil)
    #expect(history.packet(1, at: Self.start + .milliseconds(1)) == nil)
    #expect(history.packet(1, at: Self.start + .milliseconds(20)) != nil)
    #expect(history.packet(4, at: Self.start) == nil)
  }
}
