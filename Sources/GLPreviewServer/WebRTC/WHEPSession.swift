// A client of a view by WebRTC: it proves its address, agrees on keys, and gets pictures. There is no I/O and
// no clock here: datagrams are passed in, and those to be sent are taken out.
internal import Glibc
internal import NIOCore

/// A session from its offer to its end; used on one event loop.
final class WHEPSession {
  /// The terms that both sides have exchanged before the first datagram.
  struct Terms: Sendable {
    let id: String
    let offer: SDPOffer
    /// Identifies and proves this side in connection checks.
    let fragment: String
    let password: String
    let ssrc: UInt32
  }

  struct Datagram {
    let bytes: ByteBuffer
    let path: DatagramPath
  }

  let terms: Terms
  private let view: Grant<ViewRight>
  /// The client that began it.
  let client: RequestClient?
  /// Released with the session, as is `permit`.
  private let grant: ClientGrant?
  private let identity: WebRTCIdentity
  private let permit: AdmissionPermit?
  /// The start of the time limit for the DTLS handshake.
  private let createdAt: CaptureInstant
  private var checkedAt: CaptureInstant
  private var reportedAt: CaptureInstant?
  private var keys = KeyframeRequests()
  private var paths: WHEPPaths
  private var dtls: DTLSEndpoint?
  private(set) var srtp: SRTPContext?
  private var pictures: SentPictures
  /// Datagrams to be sent other than pictures.
  private var outbox: [Datagram] = []
  /// Buffered pictures from the last keyframe on, for a client that is still connecting.
  private var waiting: [RTPPicture] = []
  /// Whether pictures are still buffered for a client that is connecting.
  private(set) var isPreparing = true

  /// Why it has ended; nil while it is running.
  private(set) var end: String?
  /// Whether a keyframe is needed; the port resets it.
  var wantsKey = false
  /// The source of its pictures; set by the port.
  var feed: WHEPFeed?
  /// Whether the port knows that it has packets to send.
  var isQueued = false
  private let counters: WebRTCCounters

  /// How long a client may take to connect, and how long the last connection check is valid.
  private let consent: Duration
  private static let reportsEvery = Duration.seconds(1)
  /// How much of the earlier pictures a client gets when it connects.
  private static let preparesFor = Duration.seconds(1)

  init(
    _ terms: Terms, showing view: Grant<ViewRight>, _ identity: WebRTCIdentity, for client: RequestClient?,
    by grant: ClientGrant? = nil, holding permit: AdmissionPermit?, counting counters: WebRTCCounters,
    consent: Duration,
    at now: CaptureInstant
  ) {
    self.consent = consent
    (self.terms, self.view, self.identity) = (terms, view, identity)
    (self.client, self.grant, self.permit, self.counters) = (client, grant, permit, counters)
    (createdAt, checkedAt) = (now, now)
    paths = WHEPPaths(terms, consent: consent)
    pictures = SentPictures(
      RTPPacketizer(
        payloadType: terms.offer.format.payloadType, ssrc: terms.ssrc, playoutDelay: terms.offer.playoutDelay)
    )
  }

  var target: ServedPreview { view.subject.target }

  var isConnected: Bool { srtp != nil && end == nil }

  /// The addresses that have proved the password.
  var addresses: [SocketAddress] { paths.addresses }

  /// The datagrams to be sent.
  func takeOutbox() -> [Datagram] {
    defer { outbox = [] }
    return outbox
  }

  private func send(_ bytes: ByteBuffer) {
    guard let path = paths.path else { return }
    outbox.append(Datagram(bytes: bytes, path: path))
  }

  // MARK: Connection checks

  /// Answers a connection check that names this session. Does not answer if the sender does not know the
  /// password.
  ///
  /// - Returns: whether the sender knows it.
  func check(_ message: STUNMessage, from address: SocketAddress, at now: CaptureInstant) -> Bool {
    let name = Array("\(terms.fragment):\(terms.offer.fragment)".utf8)
    guard end == nil, message.kind == .bindingRequest, message.username == name,
      message.isSealed(with: Array(terms.password.utf8)), let mapped = STUNMessage.Address(address)
    else { return false }
    checkedAt = now
    let path = paths.checked(from: address, nominates: message.nominates, at: now)
    var answer = STUNMessage(.bindingSuccess, transaction: message.transaction)
    answer.mappedAddress = mapped
    let bytes = answer.bytes(sealedWith: Array(terms.password.utf8))
    outbox.append(Datagram(bytes: ByteBuffer(bytes: bytes), path: path))
    sendChecks(at: now)
    return true
  }

  /// Takes an answer to a check of this side.
  func receive(answer message: STUNMessage, from address: SocketAddress, at now: CaptureInstant) {
    guard end == nil else { return }
    paths.answered(message, from: address, at: now)
    // The handshake may have been waiting for it.
    if let dtls { flush(dtls) }
  }

  private func sendChecks(at now: CaptureInstant) {
    for check in paths.due(at: now) {
      let bytes = check.message.bytes(sealedWith: Array(terms.offer.password.utf8))
      outbox.append(Datagram(bytes: ByteBuffer(bytes: bytes), path: check.path))
    }
  }

  // MARK: Keys

  /// Takes a DTLS datagram from an address that has proved the password.
  func receive(dtls datagram: [UInt8], from address: SocketAddress, at now: CaptureInstant) {
    guard end == nil, addresses.contains(address) else { return }
    do throws(WebRTCError) {
      let dtls =
        if let dtls { dtls } else {
          try DTLSEndpoint(.server, identity, expecting: terms.offer.fingerprint)
        }
      self.dtls = dtls
      defer { flush(dtls) }
      try dtls.receive(datagram)
      if dtls.state == .closed { end = "closed by the client" }
      if dtls.state == .connected, srtp == nil {
        srtp = try dtls.makeSRTP()
        flush(dtls)
        wantsKey = waiting.isEmpty
        for picture in waiting { send(picture, at: now) }
        (waiting, isPreparing) = ([], false)
      }
    } catch {
      end = error.description
    }
  }

  private func flush(_ dtls: DTLSEndpoint) {
    guard paths.path != nil else { return }
    for datagram in dtls.takeDatagrams() { send(ByteBuffer(bytes: datagram)) }
  }

  // MARK: Pictures

  /// Takes a picture to be sent, or buffers it for a client that is still connecting.
  func send(_ picture: RTPPicture, at now: CaptureInstant) {
    guard end == nil else { return }
    guard isConnected else { return prepare(picture) }
    if pictures.add(picture, at: now) == .tooLate { needKey(at: now) }
  }

  private func prepare(_ picture: RTPPicture) {
    guard isPreparing else { return }
    if picture.isKey { waiting = [] }
    guard picture.isKey || !waiting.isEmpty else { return }
    waiting.append(picture)
    guard let first = waiting.first, picture.timestamp - first.timestamp > Self.preparesFor else { return }
    (waiting, isPreparing) = ([], false)
  }

  /// Starts again with `past`, a keyframe and the pictures that depend on it; without it, with the next
  /// keyframe.
  func restart(with past: [RTPPicture], at now: CaptureInstant) {
    guard isConnected else {
      for picture in past { prepare(picture) }
      return
    }
    pictures.restart(with: past, at: now)
  }

  /// Whether there are packets to be written.
  var hasPackets: Bool { isConnected && paths.path != nil && pictures.isWaiting }

  /// Writes the packets that may be sent now. The rest may have to wait for `PacketPace.step`.
  func write(into outbox: DatagramOutbox, at now: CaptureInstant) {
    guard end == nil, let srtp, let path = paths.path else { return }
    let sent = pictures.write(into: outbox, by: srtp, to: path, at: now)
    counters.count(packets: sent.packets, bytes: sent.bytes, repeated: sent.repeated)
  }

  // MARK: Feedback

  /// Takes the client's RTCP feedback.
  func receive(rtcp datagram: [UInt8], from address: SocketAddress, at now: CaptureInstant) {
    guard end == nil, addresses.contains(address), let plain = srtp?.open(rtcp: datagram) else { return }
    for feedback in RTCPFeedback.all(in: plain) {
      switch feedback {
      case .lost(let numbers): pictures.lost(numbers)
      case .missing(let count, terms.ssrc): counters.countLost(pictures.missing(count))
      case .missing: break
      case .keyRequest:
        counters.countKeyRequest()
        needKey(at: now)
      case .goodbye: end = "closed by the client (BYE)"
      }
    }
  }

  private func needKey(at now: CaptureInstant) {
    if keys.need(at: now) { wantsKey = true }
  }

  /// Whether it needs keyframes repeatedly.
  func isStruggling(at now: CaptureInstant) -> Bool { keys.isStruggling(at: now) }

  // MARK: Time

  /// Does what is due. Call it a few times a second.
  func tick(at now: CaptureInstant) {
    guard end == nil else { return }
    guard now - checkedAt <= consent else {
      end = isConnected ? "client lost" : "the client did not connect"
      return
    }
    sendChecks(at: now)
    if let dtls, srtp == nil {
      do throws(WebRTCError) { try dtls.tick() } catch { end = error.description }
      if now - createdAt > consent { end = "the DTLS handshake timed out" }
      flush(dtls)
    }
    report(at: now)
  }

  private func report(at now: CaptureInstant) {
    guard let srtp, reportedAt.map({ now - $0 >= Self.reportsEvery }) ?? true,
      let report = pictures.senderReport(at: now)
    else { return }
    reportedAt = now
    if let bytes = srtp.protect(rtcp: report) { send(bytes) }
  }

  /// Ends the session, and notifies the client.
  func close(_ reason: String) {
    if end == nil { end = reason }
    guard let dtls else { return }
    if let srtp, let bytes = srtp.protect(rtcp: pictures.goodbye) { send(bytes) }
    dtls.close()
    flush(dtls)
  }
}

extension STUNMessage.Address {
  /// Nil unless IPv4 or IPv6. An IPv4-mapped IPv6 address becomes IPv4.
  init?(_ address: SocketAddress) {
    guard let port = address.port.flatMap(UInt16.init(exactly:)), port > 0, let text = address.ipAddress
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    if unsafe inet_pton(AF_INET, text, &bytes) == 1 {
      self.init(bytes: Array(bytes[..<4]), port: port)
    } else if unsafe inet_pton(AF_INET6, text, &bytes) == 1 {
      let isMapped = bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
      self.init(bytes: isMapped ? Array(bytes[12...]) : bytes, port: port)
    } else {
      return nil
    }
  }
}
