// `/cameras/{camera}/{view}.m3u8`: a view for players of HLS, such as iPhones and television sets.
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// A media playlist and, below its path, its segments. A view has one rendition, so that it needs no master
/// playlist (docs/hls.md).
package final class HLSFeature: ServiceFeature, Service {
  private let videos: VideoRoutes
  private let gate = AdmissionLimit(capacity: 1024, subject: "HLS viewers", retryAfter: 5)
  let streams = Mutex<[HLSStream]>([])

  package init(_ videos: VideoRoutes) { self.videos = videos }

  package func addRoutes(to group: ServiceRoutes) {
    group.get(
      "cameras/:camera/{view}.m3u8", .pictures,
      as: [
        .init(
          "getPlaylist", "Returns the HLS playlist of a view", query: VideoRoutes.query,
          answers: [.bytes(Response.playlist, purpose: "a media playlist")], problems: [.notImplemented])
      ]
    ) { try await self.playlist($0, $1) }
    group.get(
      "cameras/:camera/{view}.m3u8/:name", .pictures,
      as: [
        .init(
          "getSegment", "Returns a segment of a playlist, or the initialization segment",
          query: VideoRoutes.query,
          answers: [.bytes("video/mp4", purpose: "a part of an MP4 file")])
      ]
    ) { try await self.segment($0, $1) }
  }

  package func paths(of view: ServedPreview) -> [String: String] {
    ["hls": "/cameras/\(view.camera)/\(view.name).m3u8"]
  }

  package var pathNames: [String] { ["hls"] }

  package func run() async {
    try? await cancelWhenGracefulShutdown { [self] in
      while true {
        try await Task.sleep(for: .seconds(1))
        forgetViewers(at: CaptureClock.now)
      }
    }
  }

  func forgetViewers(at now: CaptureInstant) {
    streams.withLock { $0.removeAll { !$0.forgetViewers(at: now) } }
  }

  /// Returns the stream that a request is for, and counts its viewer. Nil if there is no stream and `begins`
  /// is false. A stream of a view's earlier configuration is not found.
  private func stream(
    _ request: Request, _ context: ServiceContext, begins: Bool = false
  ) async throws -> HLSStream? {
    let (camera, view) = (try context.parameters.require("camera"), try context.parameters.require("view"))
    let target = try videos.registry.view(view, of: camera)
    var query = try QueryParameters(request)
    let (wanted, video) = try videos.take(from: &query, over: target)
    try query.finish(known: VideoRoutes.query)
    let isServed = target.serves(wanted)
    if begins, !isServed { try await videos.registry.check(wanted.view, of: target) }
    try videos.registry.check(ViewRight(target, isServed: isServed))
    return try streams.withLock { streams in
      let known = streams.first {
        !$0.isOver && $0.shows(wanted, of: target) && $0.configuration == video
      }
      guard begins || known != nil else { return nil }
      let stream = try known ?? HLSStream(target, wanted, video, videos.streams)
      try stream.visit(Self.viewer(request, context), at: CaptureClock.now, context.grant, gate)
      guard known == nil else { return stream }
      streams.append(stream)
      Task { [budget = videos.registry.budget] in await stream.run(within: budget) }
      return stream
    }
  }

  private static func viewer(_ request: Request, _ context: ServiceContext) -> HLSStream.Viewer {
    HLSStream.Viewer(program: request.headers[.userAgent], context.grant)
  }

  private func playlist(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let stream = try await stream(request, context, begins: true)
    let (viewer, now) = (Self.viewer(request, context), CaptureClock.now)
    let limit = context.rest(of: videos.registry.timeouts.firstPicture)
    let query = (request.uri.query ?? "").replacing("\"", with: "%22").replacing("?", with: "%3F")
    let text = try await context.whileClientStays {
      try await beforeShutdown { try await stream?.playlist(query, for: viewer, at: now, within: limit) }
    }
    guard let text else { throw Problem(.gatewayTimeout, "no segment within \(limit.components.seconds) s") }
    return Response(
      status: .ok, headers: [.contentType: Response.playlist, .cacheControl: "private, no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  private func segment(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let name = try context.parameters.require("name")
    guard let stream = try await stream(request, context), let (bytes, lease) = stream.file(name) else {
      throw Problem.notFound("no segment '\(name)': the playlist lists the current ones")
    }
    let channel = context.channel
    let grant = try videos.registry.grants.grant(ViewRight(stream.target, .buffered(stream.wanted.view)))
    let body = ResponseBody(contentLength: bytes.readableBytes) { writer in
      var rest = bytes
      while let part = rest.readSlice(length: max(1, min(rest.readableBytes, 64 << 10))) {
        try grant.check()
        try await writer.write(part)
        try await channel.seesWrites()
      }
      try await writer.finish(nil)
      withExtendedLifetime(lease) {}
    }
    return Response(
      status: .ok, headers: [.contentType: "video/mp4", .cacheControl: "private, max-age=10"], body: body)
  }
}
