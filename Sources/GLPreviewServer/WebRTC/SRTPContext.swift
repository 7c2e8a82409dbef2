// Protects packets of RTP and RTCP that are sent, and opens those that are received, by libsrtp.
internal import CWebRTC
internal import NIOCore

/// The header of the packets of a run.
struct RTPHeader: Sendable {
  /// The header's bytes, except for the marker and the sequence number.
  let bytes: [UInt8]
  /// The sequence number of the first packet.
  let sequenceNumber: UInt16

  static let mostBytes = Int(GLP_RTP_HEADER_BYTES)
}

@safe final class SRTPContext {
  /// How packets are protected, with the name that IANA registered.
  enum Profile: String, Sendable, Hashable {
    case aes128GCM = "AEAD_AES_128_GCM"
    case aes128SHA1 = "AES128_CM_HMAC_SHA1_80"

    fileprivate var native: glp_srtp_profile {
      self == .aes128GCM ? GLP_SRTP_AES_128_GCM : GLP_SRTP_AES_128_CM_SHA1_80
    }
  }

  private let srtp: OpaquePointer
  let profile: Profile

  /// How many more bytes a packet may need while it is protected or opened.
  static let trailerBytes = GLP_SRTP_TRAILER_BYTES

  /// Takes ownership of `srtp`.
  @unsafe init(_ srtp: OpaquePointer) {
    unsafe self.srtp = srtp
    profile = unsafe glp_srtp_profile_of(srtp) == GLP_SRTP_AES_128_GCM ? .aes128GCM : .aes128SHA1
  }

  /// `outbound` is the key and the salt for packets that are sent, `inbound` for those that are received.
  ///
  /// - Throws: `WebRTCError` if their length is not the profile's.
  init(_ profile: Profile, outbound: [UInt8], inbound: [UInt8]) throws(WebRTCError) {
    let count = glp_srtp_key_bytes(profile.native)
    guard outbound.count == count, inbound.count == count else {
      throw WebRTCError(.failed, "a key and its salt have \(count) bytes")
    }
    var error = glp_rtc_error()
    guard let srtp = unsafe glp_srtp_new(profile.native, outbound, inbound, &error) else {
      throw WebRTCError(error)
    }
    unsafe self.srtp = srtp
    self.profile = profile
  }

  deinit { unsafe glp_srtp_free(srtp) }

  /// The protected packet; nil if libsrtp refuses it.
  func protect(rtp packet: [UInt8]) -> ByteBuffer? { apply(GLP_PROTECT_RTP, packet) }
  func protect(rtcp packet: [UInt8]) -> ByteBuffer? { apply(GLP_PROTECT_RTCP, packet) }

  /// The plain packet; nil if it is not authentic, or was received before.
  func open(rtp packet: [UInt8]) -> [UInt8]? {
    apply(GLP_UNPROTECT_RTP, packet).map { Array($0.readableBytesView) }
  }
  func open(rtcp packet: [UInt8]) -> [UInt8]? {
    apply(GLP_UNPROTECT_RTCP, packet).map { Array($0.readableBytesView) }
  }

  /// Writes packets one after another, protected. The same packets may be written again.
  ///
  /// - Returns: the number of bytes; 0 if libsrtp refuses a packet, or there is no room.
  func write(
    _ run: RTPPicture.Run, of picture: RTPPicture, _ header: RTPHeader,
    into room: UnsafeMutableRawBufferPointer
  ) -> Int {
    var native = glp_rtp_header()
    native.count = UInt8(min(header.bytes.count, RTPHeader.mostBytes))
    native.has_marker = run.first + run.packets == picture.count
    native.sequence_number = header.sequenceNumber
    unsafe withUnsafeMutableBytes(of: &native.bytes) {
      unsafe $0.copyBytes(from: header.bytes.prefix($0.count))
    }
    return unsafe picture.bytes.withUnsafeBufferPointer { payloads in
      guard let start = room.baseAddress, let first = payloads.baseAddress,
        run.offset + run.count <= payloads.count
      else { return 0 }
      return unsafe glp_srtp_write_run(
        srtp, &native, first + run.offset, run.count, run.length, start.assumingMemoryBound(to: UInt8.self),
        room.count)
    }
  }

  private func apply(_ work: glp_srtp_work, _ packet: [UInt8]) -> ByteBuffer? {
    let capacity = packet.count + Self.trailerBytes
    var buffer = ByteBuffer()
    buffer.reserveCapacity(capacity)
    buffer.writeBytes(packet)
    let count = unsafe buffer.withVeryUnsafeMutableBytes { bytes in
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      guard let start = unsafe start, bytes.count >= capacity else { return 0 }
      return unsafe glp_srtp_apply(srtp, work, start, packet.count, capacity)
    }
    guard count > 0 else { return nil }
    buffer.moveWriterIndex(to: count)
    return buffer
  }
}
