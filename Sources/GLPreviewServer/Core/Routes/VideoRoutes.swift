// `/cameras/{camera}/{view}.mp4`: a view as H.264 in fragmented MP4, without an end unless the request sets
// one.
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

package struct VideoRoutes: Sendable {
  package let registry: CameraRegistry
  package let streams: VideoStreams
  let clips: ClipGates
  let directory: ViewDirectory

  private static let bitrate = QueryKey<Int>.integer(
    "bitrate", in: 16_000...100_000_000, "the maximum bits per second; by default as configured for the view")
  private static let keyframe = QueryKey<Double>.number(
    "keyframe", in: 0.1...60, "the maximum time between keyframes in seconds")
  private static let duration = QueryKey<Double>.number(
    "duration", in: 0.1...86_400, "the duration of the file in seconds; without it the file has no end")

  /// The parameters of a view as video.
  package static let query = QueryEntry.view + .of(QueryEntry.quality, bitrate, keyframe)
  /// The parameters of a file without an end, or with an end by its duration.
  static let fileQuery = query + .of(duration, SnapshotQuery.download)
  /// The names of the parameters that only video has.
  static let encodingKeys = [QueryEntry].of(bitrate, keyframe, duration, SnapshotQuery.download).names

  package func mp4(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws
    -> Response
  {
    var query = try QueryParameters(request)
    let file = try File(&query)
    // A peer has already checked the other parameters of its views.
    if target.remoteView == nil {
      let (wanted, configuration) = try take(from: &query, over: target)
      let times = try file.duration == nil ? clipTime(from: &query, of: target) : nil
      try query.finish(known: times == nil ? Self.fileQuery : Self.clipQuery)
      if wanted.view != target.served.view { try await registry.check(wanted.view, of: target) }
      if let times {
        return try await clip(
          target, times, as: wanted, configuration, headers: Self.headers(of: target, file), context)
      }
    }
    return try await response(try begin(target, request, context), of: target, file, context)
  }

  /// Begins the video of a request, which continues at the next node of the camera.
  func begin(
    _ target: ServedPreview, _ request: Request, _ context: ServiceContext, passes: Bool = true
  ) throws -> VideoStream {
    let address = request.address(of: target.name, target.camera, as: .video)
    let request = request.withoutBody
    let asked = { @Sendable (target: ServedPreview) throws -> VideoRequest in
      guard target.remoteView == nil else { return VideoRequest(target) }
      var query = try QueryParameters(request)
      let (wanted, configuration) = try take(from: &query, over: target)
      return VideoRequest(target, as: wanted, configuration, passes: passes)
    }
    let next = directory.nextVideo(address, asked)
    return try streams.begin(try asked(target)) { begin in
      // Nothing is written during the search, so that only this detects a client that disconnects.
      (try? await context.whileClientStays { await next(begin) }) ?? false
    }
  }

  /// The parameters of the file, which do not depend on the view.
  private struct File {
    let duration: Duration?
    let isDownload: Bool

    init(_ query: inout QueryParameters) throws {
      duration = try query.take(VideoRoutes.duration).map { Duration.seconds($0) }
      isDownload = try query.take(SnapshotQuery.download) ?? false
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
    _ stream: VideoStream, of target: ServedPreview, _ file: File, _ context: ServiceContext
  ) async throws -> Response {
    let first = try await first(of: stream, target, context)
    var headers = Self.headers(of: target, file)
    headers[.contentType] = first.format.mediaType
    let channel = try context.connection()
    let body = ResponseBody { writer in
      // At a low bit rate, the usual limit of unsent bytes would hold seconds of video.
      channel.limitUnsentBytes(16 << 10)
      // While there are no samples, only this detects a client that has disconnected.
      channel.closeFuture.whenComplete { [weak stream] _ in stream?.end() }
      var (mp4, next) = (FragmentedMP4(), VideoSample?.some(first))
      // The server waits for its clients before other services end, so the shutdown must end the stream.
      try await withGracefulShutdownHandler {
        while let sample = next {
          if let duration = file.duration, sample.timestamp - first.timestamp >= duration { break }
          try await writer.write(ByteBuffer(bytes: mp4.append(sample)))
          // A write only waits if the event loop knows that the socket is full, so the loop must handle this
          // write first.
          try await channel.eventLoop.submit {}.get()
          next = try await stream.next()
        }
      } onGracefulShutdown: {
        stream.end()
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: headers, body: body)
  }

  /// Takes the parameters of a view and its encoding, and applies them to those of `target`.
  package func take(from query: inout QueryParameters, over target: ServedPreview) throws -> (
    ServedView, VideoConfiguration
  ) {
    var configuration = target.served.video
    if let bitrate = try query.take(Self.bitrate) {
      configuration.bitrate = bitrate
    }
    if let interval = try query.take(Self.keyframe) {
      configuration.keyframeInterval = .seconds(interval)
    }
    if let quality = try query.take(QueryEntry.quality) { configuration.quality = quality }
    // A scene shows several cameras, so it accepts no view parameters.
    var base = target.served
    if target.isScene { base.isLocked = true }
    return (try query.takeView(over: base), configuration)
  }

  /// Waits for the first sample, which shows whether there are a camera and an encoder.
  private func first(
    of stream: VideoStream, _ target: ServedPreview, _ context: ServiceContext
  ) async throws -> VideoSample {
    let limit = context.rest(of: registry.timeouts.firstPicture)
    let first = try await beforeShutdown { try await withDeadline(limit) { try await stream.next() } }
    guard let first else {
      throw Problem(.gatewayTimeout, "no picture within \(limit.components.seconds) s")
    }
    guard let sample = first else { throw Problem.switchedOff(target) }
    return sample
  }
}
