// A session of an RTSP client: sends its view's pictures as packets, until the client or the view ends.
internal import HTTPTypes
internal import Logging
internal import NIOCore

final class RTSPSession {
  let id: String
  let url: String
  let ssrc = UInt32.random(in: 1 ... .max)
  private let parts: RTSPServer.Parts
  private let channel: any Channel
  private let transport: RTSPTransport
  private let ports: RTSPPorts?
  private let permit: AdmissionPermit
  private let wantsKey = Watched(false)
  private var packetizer: RTPPacketizer
  private var stream: VideoStream?
  private var task: Task<Void, Never>?

  init(
    _ parts: RTSPServer.Parts, _ channel: any Channel, _ transport: RTSPTransport,
    _ ports: RTSPPorts?, url: String, holding permit: AdmissionPermit
  ) {
    (self.parts, self.channel) = (parts, channel)
    (self.transport, self.ports, self.url, self.permit) = (transport, ports, url, permit)
    id =
      String(UInt64.random(in: .min ... .max), radix: 16)
      + String(UInt64.random(in: .min ... .max), radix: 16)
    packetizer = RTPPacketizer(payloadType: RTSPDescription.payloadType, ssrc: ssrc, playoutDelay: nil)
  }

  var isPlaying: Bool { task != nil }

  /// Whether it plays over the RTSP connection itself.
  var isStreamed: Bool {
    guard case .interleaved = transport else { return false }
    return isPlaying
  }

  /// - Throws: `Problem` 504 without a picture, 409 if the view is switched off.
  static func first(of stream: VideoStream, within limit: Duration) async throws -> VideoSample {
    let first = try await withDeadline(limit) { try await stream.next() }
    guard let first else {
      throw Problem(.gatewayTimeout, "no picture within \(limit.components.seconds) s")
    }
    guard let sample = first else { throw Problem(.conflict, "the view was switched off") }
    return sample
  }

  /// Begins to watch a view, and follows it when its camera moves. The first picture is a keyframe.
  func begin(_ address: ViewAddress) async throws -> VideoSample {
    let target = try await parts.directory.awaited(address)
    var named = address
    (named.view, named.camera) = (target.name, target.camera)
    let stream = try parts.videos.begin(
      VideoRequest(target), next: parts.directory.nextVideo(named) { VideoRequest($0) })
    let first = try await Self.first(of: stream, within: parts.firstPicture)
    self.stream = stream
    return first
  }

  func firstTime(of sample: VideoSample) -> (sequenceNumber: UInt16, time: UInt32) {
    (packetizer.sequenceNumber, packetizer.time(of: sample.timestamp))
  }

  func play(from first: VideoSample) {
    guard let stream, task == nil else { return }
    let sender = RTSPSender(channel, transport, ports, stalled: parts.stalled)
    let (packetizer, wantsKey, parts) = (packetizer, wantsKey, parts)
    let channel = channel
    task = Task {
      var (packetizer, reportedAt) = (packetizer, CaptureInstant?.none)
      var (next, askedAt) = (VideoSample?.some(first), CaptureClock.now)
      do {
        while let sample = next, !Task.isCancelled {
          try await sender.send(packetizer.packets(of: sample).map(\.bytes))
          let now = CaptureClock.now
          if reportedAt.map({ now - $0 > .seconds(5) }) ?? true, let report = packetizer.senderReport(at: now)
          {
            reportedAt = now
            try await sender.send(report: report)
          }
          // A camera's own H.264 has no keyframes on request.
          if wantsKey.value, sample.format.encoder != nil, now - askedAt > .milliseconds(500) {
            askedAt = now
            stream.lost()
            wantsKey.update { $0 = false }
          }
          next = try await stream.next()
        }
        try await sender.send(report: packetizer.goodbye)
      } catch {
        parts.logger.debug("RTSP session ended", metadata: ["reason": "\(error)"])
      }
      if !Task.isCancelled { channel.close(promise: nil) }
    }
  }

  /// Takes a packet from the client: RTCP on its channel.
  func receive(_ packet: [UInt8], channel number: UInt8) {
    guard case .interleaved(_, number) = transport, RTCPFeedback.all(in: packet).contains(.keyRequest) else {
      return
    }
    wantsKey.update { $0 = true }
  }

  func end() {
    task?.cancel()
    stream?.end()
    ports?.close()
  }
}

/// Sends packets over the client's transport.
struct RTSPSender: Sendable {
  private let channel: any Channel
  private let transport: RTSPTransport
  private let ports: RTSPPorts?
  private let stalled: TimeAmount

  init(_ channel: any Channel, _ transport: RTSPTransport, _ ports: RTSPPorts?, stalled: Duration) {
    (self.channel, self.transport, self.ports) = (channel, transport, ports)
    self.stalled = .nanoseconds(Int64(stalled / .nanoseconds(1)))
  }

  func send(_ packets: [[UInt8]]) async throws {
    switch transport {
    case .interleaved(let number, _): try await write(packets, number)
    case .datagrams(let port, _): try await ports?.send(packets, to: port, of: channel, isReport: false)
    }
  }

  func send(report: [UInt8]) async throws {
    switch transport {
    case .interleaved(_, let number): try await write([report], number)
    case .datagrams(_, let port): try await ports?.send([report], to: port, of: channel, isReport: true)
    }
  }

  /// Returns when the kernel has taken all packets. Pictures that come meanwhile are dropped, up to a
  /// keyframe. A client that takes nothing for too long is disconnected.
  private func write(_ packets: [[UInt8]], _ number: UInt8) async throws {
    var buffer = ByteBuffer()
    for packet in packets {
      buffer.writeBytes([UInt8(ascii: "$"), number])
      buffer.writeInteger(UInt16(packet.count))
      buffer.writeBytes(packet)
    }
    let channel = channel
    let deadline = channel.eventLoop.scheduleTask(in: stalled) { channel.close(promise: nil) }
    defer { deadline.cancel() }
    try await channel.writeAndFlush(buffer)
  }
}
