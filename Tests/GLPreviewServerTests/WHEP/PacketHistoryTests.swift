// What is kept of sent packets.
import GLPreview
import NIOCore
import Testing

@testable import GLPreviewServer

@Suite("Packet history")
struct PacketHistoryTests {
  private static let start = CaptureInstant.start + .seconds(100)

  private static func packet(_ number: UInt16) -> ByteBuffer { ByteBuffer(integer: number) }

  @Test("a packet is there until it is too old", arguments: [0, 65_500] as [UInt16])
  func age(first: UInt16) {
    var history = PacketHistory(capacity: 64)
    for offset in 0..<50 as Range<UInt16> {
      history.add(
        Self.packet(first &+ offset), first &+ offset, at: Self.start + .milliseconds(Int64(offset) * 100))
    }
    let now = Self.start + .milliseconds(4900)

    for offset in 0..<50 as Range<UInt16> {
      let isThere = offset >= 39
      #expect((history.packet(first &+ offset, at: now) != nil) == isThere, "\(offset)")
    }
    #expect(history.count <= 12, "old packets take no memory")
  }

  @Test("a ring has room for no more than it was made for")
  func capacity() {
    var history = PacketHistory(capacity: 8)
    for number in 0..<20 as Range<UInt16> { history.add(Self.packet(number), number, at: Self.start) }

    #expect(history.count == 8)
    for number in 0..<20 as Range<UInt16> {
      #expect((history.packet(number, at: Self.start) == Self.packet(number)) == (number >= 12))
    }
  }

  @Test("a packet that was just sent again is not sent once more")
  func repetition() {
    var history = PacketHistory(capacity: 8)
    history.add(Self.packet(1), 1, at: Self.start)

    #expect(history.packet(1, at: Self.start) != nil)
    #expect(history.packet(1, at: Self.start + .milliseconds(1)) == nil)
    #expect(history.packet(1, at: Self.start + .milliseconds(20)) != nil)
    #expect(history.packet(2, at: Self.start) == nil)
  }
}
