// Splits a view's pictures into RTP packets (RFC 6184), and writes the reports that accompany them (RFC
// 3550).

/// Numbers the packets of one stream, and counts them for its reports.
package struct RTPPacketizer {
  package struct Packet: Sendable, Hashable {
    package let bytes: [UInt8]
    let sequenceNumber: UInt16
  }

  private let payloadType: UInt8
  private let ssrc: UInt32
  private let playoutDelay: UInt8?
  /// The sequence number of the next packet.
  package private(set) var sequenceNumber = UInt16.random(in: 0..<1 << 15)
  private let firstTime = UInt32.random(in: .min ... .max)
  private var packets: UInt32 = 0
  private var octets: UInt32 = 0

  package init(payloadType: UInt8, ssrc: UInt32, playoutDelay: UInt8?) {
    (self.payloadType, self.ssrc, self.playoutDelay) = (payloadType, ssrc, playoutDelay)
  }

  /// Returns the packets of a picture. The last one has the marker bit.
  package mutating func packets(of sample: VideoSample) -> [Packet] {
    let picture = RTPPicture(sample)
    let header = header(time: time(of: sample.timestamp))
    return (0..<picture.count).compactMap { index in
      guard let run = picture.run(from: index, atMost: 1) else { return nil }
      let number = take(run)
      var bytes = header
      bytes.reserveCapacity(header.count + run.count)
      if index == picture.count - 1 { bytes[1] |= 0x80 }
      (bytes[2], bytes[3]) = (UInt8(number >> 8), UInt8(truncatingIfNeeded: number))
      bytes += picture.bytes[run.offset..<run.offset + run.count]
      return Packet(bytes: bytes, sequenceNumber: number)
    }
  }

  /// Returns the header of a stream's packets at an RTP time, without marker and sequence number.
  package func header(time: UInt32) -> [UInt8] {
    var bytes: [UInt8] = [playoutDelay == nil ? 0x80 : 0x90, payloadType, 0, 0]
    bytes.append(integer: time)
    bytes.append(integer: ssrc)
    // The playout delay extension. At once: at least and at most 0 ms.
    if let playoutDelay { bytes += [0xBE, 0xDE, 0, 1, playoutDelay << 4 | 2, 0, 0, 0] }
    return bytes
  }

  /// Counts packets that are sent. Returns the sequence number of the first one.
  package mutating func take(_ run: RTPPicture.Run) -> UInt16 {
    defer { sequenceNumber &+= UInt16(truncatingIfNeeded: run.packets) }
    packets &+= UInt32(run.packets)
    octets &+= UInt32(run.count)
    return sequenceNumber
  }

  package func time(of instant: CaptureInstant) -> UInt32 {
    let parts = (instant - .start).components
    let ticks = parts.seconds * 90_000 + parts.attoseconds / 1_000_000_000 * 9 / 100_000
    return UInt32(truncatingIfNeeded: ticks) &+ firstTime
  }

  // MARK: Reports

  /// Returns a sender report with what was sent, and the wall-clock time of the stream's timestamps; nil
  /// before the first packet.
  package func senderReport(at now: CaptureInstant) -> [UInt8]? {
    guard packets > 0 else { return nil }
    var bytes: [UInt8] = [0x80, 200, 0, 6]
    bytes.append(integer: ssrc)
    // Seconds since 1900, in 32.32 bits.
    let seconds = WallTime(capturedAt: now).secondsSinceEpoch + 2_208_988_800
    bytes.append(integer: UInt32(truncatingIfNeeded: Int64(seconds)))
    bytes.append(integer: UInt32((seconds - seconds.rounded(.down)) * 4_294_967_295))
    bytes.append(integer: time(of: now))
    bytes.append(integer: packets)
    bytes.append(integer: octets)
    return bytes + description
  }

  /// The name of the source (SDES), which follows every report.
  private var description: [UInt8] {
    let name = Array("glpreview".utf8)
    var bytes: [UInt8] = [0x81, 202, 0, 4]
    bytes.append(integer: ssrc)
    bytes += [1, UInt8(name.count)] + name
    while bytes.count < 20 { bytes.append(0) }
    return bytes
  }

  /// A packet that announces the end of the stream (BYE).
  package var goodbye: [UInt8] {
    var bytes: [UInt8] = [0x81, 203, 0, 1]
    bytes.append(integer: ssrc)
    return bytes
  }
}

extension [UInt8] {
  fileprivate mutating func append<Value: FixedWidthInteger>(integer value: Value) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }
}
