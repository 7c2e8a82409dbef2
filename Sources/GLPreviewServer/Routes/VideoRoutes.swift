// `/cameras/{camera}/{view}.mp4`: a view as H.264, in fragments of MP4, without an end unless one is asked for.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

struct VideoRoutes: Sendable {
  let registry: CameraRegistry
  let streams: VideoStreams
  let clips: ClipGates
  /// As of `StreamRoutes`.
  var guests: @Sendable (_ view: String, _ camera: String, Request) throws -> ServedPreview? = { _, _, _ in
    nil
  }
  var moves: @Sendable (_ camera: String) -> Bool = { _ in false }

  /// What only video has.
  static let encodingKeys = ["bitrate", "keyframe", "duration", "download"]
  static let keys = ViewConfiguration.keys + ["quality"] + encodingKeys
  static let socketKeys = ViewConfiguration.keys + ["quality", "bitrate", "keyframe"]

  func mp4(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws -> Response {
    var words = try QueryWords(request)
    let file = try File(&words)
    let (wanted, configuration) = try take(from: &words, over: target)
    let times = try file.duration == nil ? clipTime(from: &words, of: target) : nil
    try words.finish(known: times == nil ? Self.keys : Self.clipKeys)
    if wanted.view != target.served.view { try await registry.check(wanted.view, of: target) }
    if let times {
      return try await clip(
        target, times, as: wanted, configuration, headers: Self.headers(of: target, file), context)
    }
    let stream = try streams.begin(target, as: wanted, configuration)
    return try await response(stream, of: target, file, request, context)
  }

  /// A view of another node's camera, which has taken the other words of the URL.
  func mp4(guest target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws
    -> Response
  {
    var words = try QueryWords(request)
    let file = try File(&words)
    let stream = try streams.begin(target, as: target.served, target.served.video)
    return try await response(stream, of: target, file, request, context)
  }

  /// What a view that has ended goes on with, where its camera moves between nodes: the view at its new node, or here.
  func successor(of view: String, _ camera: String, _ request: Request, passes: Bool = true) -> VideoStream? {
    guard moves(camera), !Task.isShuttingDownGracefully else { return nil }
    if let guest = try? guests(view, camera, request) {
      return try? streams.begin(guest, as: guest.served, guest.served.video)
    }
    guard let target = try? registry.view(view, of: camera), var words = try? QueryWords(request),
      let (wanted, configuration) = try? take(from: &words, over: target)
    else { return nil }
    return try? streams.begin(target, as: wanted, configuration, passes: passes)
  }

  /// What a URL says of the file, whatever it shows.
  private struct File {
    let duration: Duration?
    let isDownload: Bool

    init(_ words: inout QueryWords) throws {
      duration = try words.takeNumber("duration", in: 0.1...86_400).map { Duration.seconds($0) }
      isDownload = try words.takeFlag("download") ?? false
    }
  }

  private static func headers(of target: ServedPreview, _ file: File) -> HTTPFields {
    var headers: HTTPFields = [.cacheControl: "no-store"]
    // Tells nginx not to buffer.
    headers[named: "X-Accel-Buffering"] = "no"
    if file.isDownload {
      headers[.contentDisposition] = "attachment; filename=\"\(target.camera)-\(target.name).mp4\""
    }
    return headers
  }

  private func response(
    _ stream: VideoStream, of target: ServedPreview, _ file: File, _ request: Request,
    _ context: ServiceContext
  ) async throws -> Response {
    let first = try await first(of: stream, target, context)
    var headers = Self.headers(of: target, file)
    headers[.contentType] = first.format.mediaType
    let (channel, request) = (context.channel, request.head)
    let body = ResponseBody { [self] writer in
      // Of video at a low bit rate, what is little for pictures would be seconds.
      channel.keepLittleUnsent(16 << 10)
      var (mp4, next, begin) = (FragmentedMP4(), VideoStream?.some(stream), VideoSample?.some(first))
      while let stream = next {
        // The server waits for its clients before other services end.
        let isEnough = try await withGracefulShutdownHandler {
          try await Self.send(
            stream, from: begin, since: first.timestamp, for: file.duration, in: &mp4, to: &writer,
            of: channel)
        } onGracefulShutdown: {
          stream.end()
        }
        begin = nil
        next =
          isEnough
          ? nil
          : successor(
            of: target.name, target.camera,
            Request(head: request, body: RequestBody(buffer: ByteBuffer())))
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

  /// Whether the duration is over, and not the stream.
  private static func send(
    _ stream: VideoStream, from first: VideoSample?, since start: CaptureInstant, for duration: Duration?,
    in mp4: inout FragmentedMP4, to writer: inout any ResponseBodyWriter, of channel: any Channel
  ) async throws -> Bool {
    var next = first
    if next == nil { next = try await stream.next() }
    while let sample = next {
      if let duration, sample.timestamp - start >= duration { return true }
      try await writer.write(ByteBuffer(bytes: mp4.append(sample)))
      // A write only waits if the event loop knows that the socket is full: it has to see this one first.
      try await channel.eventLoop.submit {}.get()
      next = try await stream.next()
    }
    return false
  }
}
