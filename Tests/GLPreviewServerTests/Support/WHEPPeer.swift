// A WebRTC client of the tests' own: the other end of everything that the service does, on loopback.
import GLPreview
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import WebRTC

/// A client that offers, connects and receives.
actor WHEPPeer {
  /// What a test's client does otherwise than it should.
  struct Faults: Sendable {
    /// Instead of the fingerprint of its certificate.
    var fingerprint: [UInt8]?
    /// Instead of the password of the answer.
    var password: String?
    /// Whether connection checks of the service are not answered.
    var isMute = false
  }

  struct Answer: Sendable {
    let fragment: String
    let password: String
    let fingerprint: [UInt8]
    let port: Int

    /// Nil if it lacks something.
    init?(_ text: String) {
      guard let description = try? SessionDescription(text),
        let media = description.media.first(where: { $0.port != "0" }), let port = Int(media.port),
        let fragment = description.value(of: "ice-ufrag", in: media),
        let password = description.value(of: "ice-pwd", in: media),
        let fingerprint = description.value(of: "fingerprint", in: media)?.split(separator: " ").last
      else { return nil }
      self.port = port
      (self.fragment, self.password) = (String(fragment), String(password))
      self.fingerprint = fingerprint.split(separator: ":").compactMap { UInt8($0, radix: 16) }
    }
  }

  private let channel: any Channel
  private let service: Sender
  private let faults: Faults
  private let identity: WebRTCIdentity
  private let datagrams: AsyncStream<[UInt8]>
  private var dtls: DTLSEndpoint?
  private var srtp: SRTPContext?
  private var answer: Answer? {
    didSet { service.port.store(answer?.port ?? 0, ordering: .relaxed) }
  }
  private var checks: RepeatedTask?

  /// The port of the service, 0 before it is known.
  private final class Sender: Sendable {
    let port = Atomic(0)
  }

  private static let fragment = "Peer"
  /// As in `SDPTests.transport`.
  private static let password = Array("P2uYro0UCOQ4zxjKXaWCBui1".utf8)

  init(_ faults: Faults = Faults()) async throws {
    self.faults = faults
    identity = try WebRTCIdentity()
    let (datagrams, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    self.datagrams = datagrams
    let service = Sender()
    self.service = service
    channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.socketOption(.so_rcvbuf), value: 4 << 20)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let receiver = Receiver(service, continuation, isMute: faults.isMute)
          try channel.pipeline.syncOperations.addHandler(receiver)
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  deinit {
    checks?.cancel()
    channel.close(promise: nil)
  }

  private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let service: Sender
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private let isMute: Bool

    init(_ service: Sender, _ continuation: AsyncStream<[UInt8]>.Continuation, isMute: Bool) {
      (self.service, self.continuation, self.isMute) = (service, continuation, isMute)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let envelope = unwrapInboundIn(data)
      // An ended test's service may have had this port, and its client may not know that it ended.
      guard envelope.remoteAddress.port == service.port.load(ordering: .relaxed) else { return }
      let bytes = Array(envelope.data.readableBytesView)
      guard let check = STUNMessage(bytes), check.kind == .bindingRequest else {
        return _ = continuation.yield(bytes)
      }
      #expect(check.username?.starts(with: Array("\(fragment):".utf8)) == true)
      #expect(check.isSealed(with: password) && check.priority != nil && check.controlled != nil)
      guard !isMute, let address = STUNMessage.Address(envelope.remoteAddress) else { return }
      var answer = STUNMessage(.bindingSuccess, transaction: check.transaction)
      answer.mappedAddress = address
      let reply = ByteBuffer(bytes: answer.bytes(sealedWith: password))
      let datagram = AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: reply)
      context.channel.writeAndFlush(datagram, promise: nil)
    }
    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
  }

  var offer: String {
    let fingerprint = (faults.fingerprint ?? identity.fingerprint).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
    return (SDPTests.session + SDPTests.video)
      .replacing(SDPTests.fingerprint, with: fingerprint.joined(separator: ":"))
      .replacing("EsAw", with: Self.fragment)
  }

  // MARK: Connecting

  /// Proves the address, and agrees on keys.
  func connect(_ answer: Answer) async throws {
    try await prove(answer)
    let dtls = try DTLSEndpoint(.client, identity, expecting: answer.fingerprint)
    self.dtls = dtls
    try await flush()
    while dtls.state == .handshaking {
      let datagram = try await datagram { (20...63).contains($0) }
      do { try dtls.receive(datagram) } catch {
        try await flush()
        throw error
      }
      try await flush()
    }
    srtp = try dtls.makeSRTP()
  }

  /// Sends a connection check, and waits for its answer. More of them follow, as RFC 7675 wants it.
  func prove(_ answer: Answer) async throws {
    self.answer = answer
    try await check()
    let reply = try await datagram { $0 < 4 }
    let message = try #require(STUNMessage(reply))
    #expect(message.kind == .bindingSuccess)
    #expect(message.isSealed(with: Array(answer.password.utf8)))
    #expect(message.mappedAddress?.bytes == [127, 0, 0, 1])
    #expect(message.mappedAddress?.port == channel.localAddress?.port.map(UInt16.init))
    let (bytes, port) = (checkBytes(answer), answer.port)
    checks = channel.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) {
      [channel] _ in
      guard let address = try? SocketAddress(ipAddress: "127.0.0.1", port: port) else { return }
      let envelope = AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: bytes))
      channel.writeAndFlush(envelope, promise: nil)
    }
  }

  private func checkBytes(_ answer: Answer) -> [UInt8] {
    var message = STUNMessage(
      .bindingRequest, transaction: (0..<12).map { _ in UInt8.random(in: 0...255) })
    message.username = Array("\(answer.fragment):\(Self.fragment)".utf8)
    message.nominates = true
    return message.bytes(sealedWith: Array((faults.password ?? answer.password).utf8))
  }

  /// Sends a connection check, and waits for nothing.
  func check() async throws {
    guard let answer else { return }
    try await send(checkBytes(answer))
  }

  /// Sends the first flight of a handshake without a connection check.
  func sayHello(_ answer: Answer) async throws {
    self.answer = answer
    dtls = try DTLSEndpoint(.client, identity, expecting: answer.fingerprint)
    try await flush()
  }

  private func flush() async throws {
    for datagram in dtls?.takeDatagrams() ?? [] { try await send(datagram) }
  }

  /// Sends bytes to the port of the answer.
  func send(_ bytes: [UInt8]) async throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: try #require(answer).port)
    try await channel.writeAndFlush(
      AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: bytes)))
  }

  /// The next datagram that begins as `isWanted` says; others are left out.
  func datagram(_ isWanted: (UInt8) -> Bool) async throws -> [UInt8] {
    for await datagram in datagrams {
      if let first = datagram.first, isWanted(first) { return datagram }
    }
    throw CancellationError()
  }

  // MARK: Media

  /// The next packet of RTP, opened. Alerts that end the session throw.
  func packet() async throws -> [UInt8] {
    while true {
      let datagram = try await datagram { $0 >= 20 }
      if datagram[0] < 64 {
        try dtls?.receive(datagram)
        if dtls?.state == .closed { throw Ended() }
      } else if datagram.count > 1, !(192...223).contains(datagram[1]),
        let packet = srtp?.open(rtp: datagram)
      {
        return packet
      }
    }
  }

  /// The next packet of RTCP, opened.
  func report() async throws -> [UInt8] {
    while true {
      let datagram = try await datagram { $0 >= 128 }
      if datagram.count > 1, (192...223).contains(datagram[1]), let report = srtp?.open(rtcp: datagram) {
        return report
      }
    }
  }

  /// Waits for the end of the session.
  func untilEnded() async throws {
    do { while true { _ = try await packet() } } catch is Ended {}
  }

  struct Ended: Error {}

  func send(rtcp packet: [UInt8]) async throws {
    let bytes = try #require(srtp?.protect(rtcp: packet))
    try await send(Array(bytes.readableBytesView))
  }

  var profile: SRTPContext.Profile? { srtp?.profile }

  func close() async throws {
    checks?.cancel()
    dtls?.close()
    try await flush()
    try await vanish()
  }

  /// Ends without a word.
  func vanish() async throws {
    checks?.cancel()
    try await channel.close()
  }
}

extension RunningService {
  /// Begins a session: its URL, and the answer.
  func offer(
    _ peer: WHEPPeer, _ path: String = "/cameras/camera/main/whep", _ headers: [(String, String)] = []
  ) async throws -> (location: String, answer: WHEPPeer.Answer) {
    let reply = try await send(
      "POST", path, [("Content-Type", "application/sdp")] + headers, body: await peer.offer)
    guard reply.status == 201 else { throw UnexpectedStatus(code: reply.status, body: reply.text) }
    return (try #require(reply.headers["Location"].first), try #require(WHEPPeer.Answer(reply.text)))
  }

  /// The number of WebRTC sessions.
  var sessionCount: Int { inside.webRTC.counters.sessions.load(ordering: .relaxed) }
}
