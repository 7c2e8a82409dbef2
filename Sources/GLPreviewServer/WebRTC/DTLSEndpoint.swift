// A DTLS association and its keys, by OpenSSL. Datagrams are passed in and taken out; nothing blocks.
internal import CWebRTC

/// Why WebRTC is not available, or has failed.
struct WebRTCError: Error, Hashable, CustomStringConvertible {
  enum Kind: Sendable, Hashable {
    /// A library is missing; the description says what to install.
    case unavailable
    case failed
  }

  let kind: Kind
  let description: String

  init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

  init(_ error: glp_rtc_error) {
    kind = error.status == GLP_RTC_NO_LIBRARIES ? .unavailable : .failed
    var text = error.text
    description = unsafe withUnsafeBytes(of: &text) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Nil if the libraries are available.
  static var ofLibraries: WebRTCError? {
    var error = glp_rtc_error()
    return unsafe glp_rtc_load(&error) ? nil : WebRTCError(error)
  }
}

/// A key and its self-signed certificate.
@safe final class WebRTCIdentity: Sendable {
  /// The SHA-256 of the certificate.
  let fingerprint: [UInt8]
  /// OpenSSL's contexts may be shared by threads once they are made.
  fileprivate nonisolated(unsafe) let identity: OpaquePointer

  init() throws(WebRTCError) {
    var error = glp_rtc_error()
    guard let identity = unsafe glp_identity_new(&error) else { throw WebRTCError(error) }
    unsafe self.identity = identity
    fingerprint = unsafe Array(
      UnsafeBufferPointer(start: glp_identity_fingerprint(identity), count: GLP_FINGERPRINT_BYTES))
  }

  deinit { unsafe glp_identity_free(identity) }
}

/// One end of an association. The peer's certificate must have the fingerprint from its SDP.
@safe final class DTLSEndpoint {
  enum Role { case client, server }
  enum State: Sendable, Hashable { case handshaking, connected, closed }

  private let dtls: OpaquePointer
  private(set) var state = State.handshaking

  init(_ role: Role, _ identity: WebRTCIdentity, expecting fingerprint: [UInt8]) throws(WebRTCError) {
    guard fingerprint.count == GLP_FINGERPRINT_BYTES else {
      throw WebRTCError(.failed, "a fingerprint has 32 bytes")
    }
    var error = glp_rtc_error()
    guard let dtls = unsafe glp_dtls_new(identity.identity, role == .server, fingerprint, &error) else {
      throw WebRTCError(error)
    }
    unsafe self.dtls = dtls
  }

  deinit { unsafe glp_dtls_free(dtls) }

  /// Takes a received datagram. If it throws, the association has ended, and an alert may be left to be sent.
  func receive(_ datagram: [UInt8]) throws(WebRTCError) {
    var error = glp_rtc_error()
    try follow(unsafe glp_dtls_receive(dtls, datagram, datagram.count, &error), error)
  }

  /// Sends lost messages again if it is time. Call it a few times a second during the handshake.
  func tick() throws(WebRTCError) {
    var error = glp_rtc_error()
    try follow(unsafe glp_dtls_tick(dtls, &error), error)
  }

  private func follow(_ state: glp_dtls_state, _ error: glp_rtc_error) throws(WebRTCError) {
    switch state {
    case GLP_DTLS_HANDSHAKING: self.state = .handshaking
    case GLP_DTLS_CONNECTED: self.state = .connected
    case GLP_DTLS_CLOSED: self.state = .closed
    default:
      self.state = .closed
      throw WebRTCError(error)
    }
  }

  func close() {
    unsafe glp_dtls_close(dtls)
    state = .closed
  }

  /// The datagrams to be sent.
  func takeDatagrams() -> [[UInt8]] {
    var datagrams: [[UInt8]] = []
    while true {
      let capacity = GLP_DTLS_DATAGRAM_BYTES
      let datagram = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { bytes, count in
        count = unsafe bytes.baseAddress.map { unsafe glp_dtls_take(dtls, $0, capacity) } ?? 0
      }
      guard !datagram.isEmpty else { return datagrams }
      datagrams.append(datagram)
    }
  }

  /// The SRTP context with the keys that both sides have agreed on, once they are connected.
  func makeSRTP() throws(WebRTCError) -> SRTPContext {
    var error = glp_rtc_error()
    guard let srtp = unsafe glp_srtp_of_dtls(dtls, &error) else { throw WebRTCError(error) }
    return unsafe SRTPContext(srtp)
  }
}
