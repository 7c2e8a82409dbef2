// `/cameras/{camera}/{view}.mp4`: a view as H.264, in fragments of MP4, without an end unless one is asked for.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

struct VideoRoutes: Sendable {
  let registry: CameraRegistry
  let streams: VideoStreams
  /// Limits clips of kept pictures, which are encoded as fast as they are read.
  let clips = AdmissionLimit(capacity: 4, subject: "clips being made")

  static let keys =
    ViewConfiguration.keys + ["quality", "bitrate", "keyframe", "duration", "download"]

  func mp4(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws -> Response {
    var words = try QueryWords(request)
    let duration = try words.takeNumber("duration", in: 0.1...86_400).map { Duration.seconds($0) }
    let isDownload = try words.takeFlag("download") ?? false
    let (wanted, configuration) = try take(from: &words, over: target)
    let times = try duration == nil ? clipTime(from: &words, of: target) : nil
    try words.finish(known: times == nil ? Self.keys : Self.clipKeys)
    if wanted.view != target.served.view { try await registry.check(wanted.view, of: target) }
    var headers: HTTPFields = [.cacheControl: "no-store"]
    // Tells nginx not to buffer.
    headers[named: "X-Accel-Buffering"] = "no"
    if isDownload {
      headers[.contentDisposition] = "attachment; filename=\"\(target.camera)-\(target.name).mp4\""
    }
    if let times { return try await clip(target, times, as: wanted, configuration, headers: headers) }
    let stream = try streams.begin(target, as: wanted, configuration)
    let first = try await first(of: stream, target, context)
    headers[.contentType] = first.format.mediaType
    let channel = context.channel
    let body = ResponseBody { writer in
      // Of video at a low bit rate, what is little for pictures would be seconds.
      channel.keepLittleUnsent(16 << 10)
      // The server waits for its clients before other services end.
      try await withGracefulShutdownHandler {
        try await Self.send(stream, from: first, for: duration, to: &writer, of: channel)
      } onGracefulShutdown: {
        stream.end()
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: headers, body: body)
  }

  /// What a URL makes of a view, and how it is encoded.
  func take(from words: inout QueryWords, over target: ServedPreview) throws -> (
    ServedView, VideoConfiguration
  ) {
    var configuration = target.served.video
    if let bitrate = try words.takeInteger("bitrate", in: 16_000...100_000_000) {
      configuration.bitrate = bitrate
    }
    if let interval = try words.takeNumber("keyframe", in: 0.1...60) {
      configuration.keyframeInterval = .seconds(interval)
    }
    if let quality = try words.takeInteger("quality", "q", in: 1...100) { configuration.quality = quality }
    // A scene shows several cameras and has no parameters of its own.
    var base = target.served
    if target.isScene { base.isLocked = true }
    return (try words.takeView(over: base), configuration)
  }

  /// The first picture, which tells whether there is a camera and an encoder.
  private func first(
    of stream: VideoStream, _ target: ServedPreview, _ context: ServiceContext
  ) async throws -> VideoSample {
    let limit = context.rest(of: registry.patience.firstPicture)
    let first = try await beforeShutdown { try await withDeadline(limit) { try await stream.next() } }
    guard let first else {
      throw Problem(.gatewayTimeout, "no picture came within \(limit.components.seconds) s")
    }
    guard let sample = first else { throw Problem.switchedOff(target) }
    return sample
  }

  private static func send(
    _ stream: VideoStream, from first: VideoSample, for duration: Duration?,
    to writer: inout any ResponseBodyWriter, of channel: any Channel
  ) async throws {
    var mp4 = FragmentedMP4()
    var next: VideoSample? = first
    while let sample = next, duration.map({ sample.timestamp - first.timestamp < $0 }) ?? true {
      try await writer.write(ByteBuffer(bytes: mp4.append(sample)))
      // A write only waits if the event loop knows that the socket is full: it has to see this one first.
      try await channel.eventLoop.submit {}.get()
      next = try await stream.next()
    }
  }
}
