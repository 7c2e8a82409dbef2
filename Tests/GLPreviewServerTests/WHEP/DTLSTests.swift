// DTLS and SRTP, both ends of them in memory.
import NIOCore
import Testing

@testable import WebRTC

/// Whether what encrypts WebRTC is installed.
let hasWebRTC = WebRTCError.ofLibraries == nil

@Suite("DTLS and SRTP", .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"))
struct DTLSTests {
  /// Hands datagrams to and fro until neither side has any. The errors of both sides, if there are any.
  private static func settle(_ client: DTLSEndpoint, _ server: DTLSEndpoint) -> [WebRTCError] {
    var errors: [WebRTCError] = []
    while true {
      let (up, down) = (client.takeDatagrams(), server.takeDatagrams())
      if up.isEmpty, down.isEmpty { return errors }
      for datagram in up {
        do throws(WebRTCError) { try server.receive(datagram) } catch { errors.append(error) }
      }
      for datagram in down {
        do throws(WebRTCError) { try client.receive(datagram) } catch { errors.append(error) }
      }
    }
  }

  private static func connected() throws -> (client: DTLSEndpoint, server: DTLSEndpoint) {
    let (one, other) = (try WebRTCIdentity(), try WebRTCIdentity())
    let server = try DTLSEndpoint(.server, one, expecting: other.fingerprint)
    let client = try DTLSEndpoint(.client, other, expecting: one.fingerprint)
    #expect(settle(client, server) == [])
    return (client, server)
  }

  @Test("client and server negotiate AES-GCM, and each decrypts the other's packets once")
  func agreement() throws {
    let (client, server) = try Self.connected()
    #expect(client.state == .connected && server.state == .connected)
    let (one, other) = (try client.makeSRTP(), try server.makeSRTP())
    #expect(one.profile == .aes128GCM && other.profile == .aes128GCM)
    let packet: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7] + Array(0...200)

    let sent = try #require(other.protect(rtp: packet))

    #expect(sent.readableBytes == packet.count + 16)
    #expect(one.open(rtp: Array(sent.readableBytesView)) == packet)
    #expect(one.open(rtp: Array(sent.readableBytesView)) == nil, "a packet is taken once")
    #expect(
      other.open(rtp: Array(sent.readableBytesView)) == nil, "not even its sender can pass it for its peer's")
    var wrong = try #require(other.protect(rtp: [0x80, 96, 0, 2] + packet[4...]))
    wrong.setInteger(wrong.getInteger(at: 20, as: UInt8.self)! ^ 1, at: 20)
    #expect(one.open(rtp: Array(wrong.readableBytesView)) == nil)
    let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 9]
    let reported = try #require(one.protect(rtcp: report))
    #expect(other.open(rtcp: Array(reported.readableBytesView)) == report)
  }

  @Test("two WebRTC identities have different fingerprints, and two connections different SRTP keys")
  func difference() throws {
    #expect(try WebRTCIdentity().fingerprint != WebRTCIdentity().fingerprint)
    let packet: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 2, 3]
    let first = try Self.connected().server.makeSRTP().protect(rtp: packet)
    let second = try Self.connected().server.makeSRTP().protect(rtp: packet)
    #expect(first != nil && first != second)
  }

  @Test(
    "a peer whose certificate does not match its SDP fingerprint gets no SRTP keys", arguments: [true, false])
  func fingerprint(clientIsWrong: Bool) throws {
    let (one, other, stranger) = (try WebRTCIdentity(), try WebRTCIdentity(), try WebRTCIdentity())
    let server = try DTLSEndpoint(
      .server, one, expecting: clientIsWrong ? stranger.fingerprint : other.fingerprint)
    let client = try DTLSEndpoint(
      .client, other, expecting: clientIsWrong ? one.fingerprint : stranger.fingerprint)

    #expect(Self.settle(client, server).isEmpty == false)

    let refusing = clientIsWrong ? server : client
    #expect(refusing.state == .closed)
    #expect(throws: WebRTCError.self) { try refusing.makeSRTP() }
    #expect(throws: WebRTCError.self) { try (clientIsWrong ? client : server).makeSRTP() }
  }

  @Test("random datagrams before the DTLS handshake do not prevent it")
  func garbage() throws {
    let (one, other) = (try WebRTCIdentity(), try WebRTCIdentity())
    let server = try DTLSEndpoint(.server, one, expecting: other.fingerprint)
    let client = try DTLSEndpoint(.client, other, expecting: one.fingerprint)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var bytes = (0..<Int.random(in: 0...300)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      if !bytes.isEmpty { bytes[0] = 22 }
      try server.receive(bytes)
    }
    try server.receive([UInt8](repeating: 22, count: 100_000))

    #expect(Self.settle(client, server) == [])
    #expect(server.state == .connected)
  }

  @Test("closing one DTLS endpoint closes the other")
  func end() throws {
    let (client, server) = try Self.connected()

    client.close()

    #expect(Self.settle(client, server) == [])
    #expect(server.state == .closed)
  }

  @Test("DTLS handshake datagrams have at most 1200 bytes")
  func sizes() throws {
    let (one, other) = (try WebRTCIdentity(), try WebRTCIdentity())
    let server = try DTLSEndpoint(.server, one, expecting: other.fingerprint)
    let client = try DTLSEndpoint(.client, other, expecting: one.fingerprint)
    var largest = 0
    for _ in 0..<20 {
      let (up, down) = (client.takeDatagrams(), server.takeDatagrams())
      largest = (up + down).map(\.count).max().map { max($0, largest) } ?? largest
      for datagram in up { try server.receive(datagram) }
      for datagram in down { try client.receive(datagram) }
    }
    #expect(server.state == .connected)
    #expect(largest <= 1200 && largest > 0)
  }

  /// libsrtp's own vectors (its srtp_driver): RFC 3711 and RFC 7714 have none with master keys.
  @Test(
    "SRTP packets match libsrtp's test vectors",
    arguments: [
      (
        SRTPContext.Profile.aes128SHA1, "e1f97a0d3e018be0d64fa32c06de4139 0ec675ad498afeebb6960b3aabe6",
        "4e55dc4ce79978d88ca4d215949d2402 b78d6acc99ea179b8dbb"
      ),
      (
        SRTPContext.Profile.aes128GCM, "000102030405060708090a0b0c0d0e0f a0a1a2a3a4a5a6a7a8a9aaab",
        "c5002ede04cfdd2eb91159e0880aa06e d2976826f796b201df3131a127e8a392"
      ),
    ])
  func vectors(profile: SRTPContext.Profile, key: String, protected: String) throws {
    let key = STUNMessageTests.bytes(key)
    let context = try SRTPContext(profile, outbound: key, inbound: key)
    let head = STUNMessageTests.bytes("800f1234decafbadcafebabe")
    let packet = head + [UInt8](repeating: 0xAB, count: 16)

    let sent = try #require(context.protect(rtp: packet))

    #expect(Array(sent.readableBytesView) == head + STUNMessageTests.bytes(protected))
    #expect(context.open(rtp: Array(sent.readableBytesView)) == packet)
  }

  @Test("SRTP keys of the wrong length and packets without a complete RTP header are rejected")
  func lengths() throws {
    let key = [UInt8](repeating: 1, count: 28)
    #expect(throws: WebRTCError.self) {
      try SRTPContext(.aes128GCM, outbound: key, inbound: Array(key.dropLast()))
    }
    #expect(throws: WebRTCError.self) { try SRTPContext(.aes128SHA1, outbound: key, inbound: key) }
    let context = try SRTPContext(.aes128GCM, outbound: key, inbound: key)
    for count in 0..<12 {
      #expect(context.protect(rtp: [UInt8](repeating: 0x80, count: count)) == nil)
      #expect(context.open(rtp: [UInt8](repeating: 0x80, count: count)) == nil)
    }
    // An extension that is said to be there, and is not.
    #expect(context.protect(rtp: [0x90] + [UInt8](repeating: 0, count: 11)) == nil)
  }
}
