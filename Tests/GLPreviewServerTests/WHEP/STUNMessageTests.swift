// STUN messages, against the vectors of RFC 5769.
import Testing

@testable import WebRTC

@Suite("STUN")
struct STUNMessageTests {
  static func bytes(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }
    return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
      UInt8(digits.dropFirst(offset).prefix(2), radix: 16)
    }
  }

  static let password = Array("VOkJxbRl1RmTxUk/WvJxBt".utf8)
  static let transaction = bytes("b7e7a701bc34d686fa87dfae")

  /// RFC 5769, 2.1.
  static let request = bytes(
    """
    000100582112a442b7e7a701bc34d686fa87dfae 802200105354554e207465737420636c69656e74
    002400046e0001ff 80290008932ff9b151263b36 00060009 6576746a3a68367659202020
    00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2 80280004e57a3bcf
    """)

  @Test("the sample request of RFC 5769 is parsed, and only the right password verifies it")
  func sampleRequest() throws {
    let message = try #require(STUNMessage(Self.request))

    #expect(message.kind == .bindingRequest)
    #expect(message.transaction == Self.transaction)
    #expect(message.username == Array("evtj:h6vY".utf8))
    #expect(!message.nominates)
    #expect(message.isSealed(with: Self.password))
    #expect(!message.isSealed(with: Self.password.dropLast()))
    #expect(!message.isSealed(with: []))
  }

  @Test(
    "the sample responses of RFC 5769 have the expected mapped address and verify",
    arguments: [
      (
        """
        0101003c2112a442b7e7a701bc34d686fa87dfae 8022000b7465737420766563746f7220 002000080001a147e112a643
        000800142b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004c07d4c96
        """, [192, 0, 2, 1] as [UInt8]
      ),
      (
        """
        010100482112a442b7e7a701bc34d686fa87dfae 8022000b7465737420766563746f7220
        002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9
        00080014a382954e4be67bf11784c97c8292c275bfe3ed41 80280004c8fb0b4c
        """,
        [0x20, 0x01, 0x0D, 0xB8, 0x12, 0x34, 0x56, 0x78, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
      ),
    ])
  func sampleResponses(text: String, address: [UInt8]) throws {
    let message = try #require(STUNMessage(Self.bytes(text)))

    #expect(message.kind == .bindingSuccess)
    #expect(message.mappedAddress == .init(bytes: address, port: 32853))
    #expect(message.isSealed(with: Self.password))
  }

  @Test(
    "a STUN message reads back with the fields that were written, and verifies",
    arguments: [[192, 0, 2, 1], [UInt8](repeating: 7, count: 16)])
  func roundTrip(address: [UInt8]) throws {
    var message = STUNMessage(.bindingRequest, transaction: Self.transaction)
    message.username = Array("abcde:f".utf8)
    message.nominates = true
    message.mappedAddress = .init(bytes: address, port: 50_000)

    let read = try #require(STUNMessage(message.bytes(sealedWith: Self.password)))

    #expect(read.username == message.username && read.nominates)
    #expect(read.mappedAddress == message.mappedAddress)
    #expect(read.isSealed(with: Self.password))
  }

  @Test("a STUN message with a changed byte is rejected, except in the type of its FINGERPRINT")
  func damage() throws {
    for index in Self.request.indices {
      var bytes = Self.request
      bytes[index] ^= 1
      let isOfFingerprint = index == bytes.count - 7 || index == bytes.count - 8
      #expect(STUNMessage(bytes) == nil || isOfFingerprint, "byte \(index)")
    }
  }

  @Test("a truncated STUN message or one with trailing bytes is rejected")
  func length() {
    for count in Self.request.indices { #expect(STUNMessage(Array(Self.request[..<count])) == nil) }
    #expect(STUNMessage(Self.request + [0, 0, 0, 0]) == nil)
    #expect(STUNMessage([UInt8](repeating: 0, count: 100_000)) == nil)
  }

  @Test("a STUN message without MESSAGE-INTEGRITY is parsed, but no password verifies it")
  func unsealed() throws {
    let bytes: [UInt8] =
      [0, 1, 0, 8, 0x21, 0x12, 0xA4, 0x42] + Self.transaction + [0, 6, 0, 4, 97, 98, 58, 99]
    let message = try #require(STUNMessage(bytes))

    #expect(message.username == Array("ab:c".utf8))
    #expect(!message.isSealed(with: []))
    #expect(!message.isSealed(with: Self.password))
  }

  @Test("STUN attributes after MESSAGE-INTEGRITY are ignored")
  func behind() throws {
    var message = STUNMessage(.bindingRequest, transaction: Self.transaction)
    message.username = Array("right:one".utf8)
    var bytes = message.bytes(sealedWith: Self.password).dropLast(8)
    bytes += [0, 0x25, 0, 0, 0, 6, 0, 4, 97, 98, 58, 99]
    bytes[3] = UInt8(bytes.count - 20)

    let read = try #require(STUNMessage(Array(bytes)))

    #expect(read.username == Array("right:one".utf8) && !read.nominates)
    #expect(read.isSealed(with: Self.password))
  }
}
