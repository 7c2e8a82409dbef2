// `/cameras/{camera}/{view}.mp4?before=5s&after=5s`, and `.webp`: the buffered frames of a time span as a
// video with an end.
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

extension QueryKey<Duration> {
  /// A time above 0, such as `500ms` or `3s`.
  fileprivate static func time(_ name: String, _ purpose: String) -> QueryKey {
    QueryKey(name, .text, purpose) { name, text throws(ParameterError) in
      try SnapshotMoment.duration(text, key: name)
    }
  }
}

extension VideoRoutes {
  private static let before = QueryKey<Duration>.time(
    "before", "the start of a clip from the replay buffer: this time before `at`, such as `5s`")
  private static let after = QueryKey<Duration>.time(
    "after", "the end of a clip from the replay buffer: this time after `at`, such as `5s`")
  private static let rate = QueryKey<Double>.number(
    "fps", in: 0.1...60, usual: 5, "the pictures per second of the animation")
  private static let times = [QueryEntry].of(SnapshotQuery.moments, before, after, SnapshotQuery.download)
  static let clipQuery = query + times
  static let fileAndClipQuery = fileQuery + times.filter { !fileQuery.contains($0) }
  static let webPQuery = QueryEntry.view + .of(QueryEntry.quality, rate) + times

  /// Whether a request is for a clip of buffered frames, which has an end.
  package static func isClip(_ request: Request) -> Bool {
    ["at", "before", "after"].contains { request.uri.queryParameters[Substring($0)] != nil }
  }

  /// Takes the time span of a clip; nil if the URL requests none. The span is earlier by the camera's trigger
  /// delay.
  func clipTime(from query: inout QueryParameters, of target: ServedPreview) throws
    -> ClosedRange<CaptureInstant>?
  {
    let (before, after) = (try query.take(Self.before), try query.take(Self.after))
    guard before != nil || after != nil else { return nil }
    if target.isScene { throw Problem.momentOfScene() }
    let now = CaptureClock.now
    let moment = try query.take(SnapshotQuery.moments)
    let middle = moment?.instant(at: now, delay: target.triggerDelay) ?? now - target.triggerDelay
    let first = before.map { middle - $0 }
    let last = after.map { middle + $0 } ?? middle
    guard last - now <= Self.longestWait else {
      throw Problem.badParameter(
        "after", "a clip may end at most \(Self.longestWait.components.seconds) s from now")
    }
    return (first ?? middle)...last
  }

  private static let longestWait = Duration.seconds(600)

  /// Sends each buffered frame of `times` once, waits for frames that are still to come, and ends.
  func clip(
    _ target: ServedPreview, _ times: ClosedRange<CaptureInstant>, as wanted: ServedView,
    _ configuration: VideoConfiguration, headers: HTTPFields, _ context: ServiceContext
  ) async throws -> Response {
    let (clip, grant) = try clip(of: target, as: wanted, times, configuration)
    let all = clip.samples.makeAsyncIterator()
    let places = try ClipPlaces(clips, times, isCaughtUp: all.isCaughtUp)
    // The first sample shows whether there are frames and an encoder.
    let (first, started) = try await context.whileClientStays {
      let limit = registry.timeouts.firstPicture
      let found = try await withDeadline(limit) {
        var samples = all
        return (try await samples.next(), samples)
      }
      guard let (sample, samples) = found else {
        throw Problem(.gatewayTimeout, "no picture within \(limit.components.seconds) s")
      }
      guard let sample else { throw clip.notBuffered }
      return (sample, samples)
    }
    var headers = headers
    headers[.contentType] = first.format.mediaType
    // Players apply an edit list only in files without fragments, for which all samples must be available.
    if first.format.encoder == nil, times.upperBound <= CaptureClock.now {
      let lease = try registry.budget.reserve(0)
      let parts = try await context.whileClientStays {
        try await Clip.file(first, started, holding: lease)
      }
      try grant.check()
      return Response(
        status: .ok, headers: headers,
        body: ResponseBody(contentLength: parts.reduce(0) { $0 + $1.count }) { writer in
          defer { withExtendedLifetime((places, lease)) {} }
          for part in parts {
            try grant.check()
            try await writer.write(ByteBuffer(bytes: part))
          }
          try await writer.finish(nil)
        })
    }
    let body = ResponseBody { writer in
      defer { withExtendedLifetime(places) {} }
      var (samples, next) = (started, Optional(first))
      var mp4 = FragmentedMP4(beginningAt: started.begin ?? first.timestamp)
      while let sample = next {
        try await writer.write(ByteBuffer(bytes: mp4.append(sample)))
        if samples.isCaughtUp { places.caughtUp() }
        (next, samples) = try await context.whileClientStays { [samples] in
          var samples = samples
          return (try await samples.next(), samples)
        }
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: headers, body: body)
  }

  /// Sends the buffered frames of a time span as an animation.
  func webP(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws -> Response {
    var query = try QueryParameters(request)
    let isDownload = try query.take(SnapshotQuery.download) ?? false
    let rate = try query.take(Self.rate) ?? 5
    var base = target.served
    if target.isScene { base.isLocked = true }
    let wanted = try query.takeView(over: base)
    guard let times = try clipTime(from: &query, of: target) else {
      throw Problem.badParameter(
        "before", "an animation needs before or after, such as before=3s")
    }
    try query.finish(known: Self.webPQuery)
    let count = (times.upperBound - times.lowerBound) / .seconds(1) * rate
    guard count <= Double(Clip.mostAnimated.pictures) else {
      throw Problem.badParameter(
        "fps", "an animation has at most \(Clip.mostAnimated.pictures) pictures: lower its time or fps")
    }
    guard target.served.isEnabled else { throw Problem.switchedOff(target) }
    if wanted.view != target.served.view { try await registry.check(wanted.view, of: target) }
    let (clip, grant) = try clip(of: target, as: wanted, times, target.served.video)
    let isCaughtUp = clip.samples.makeAsyncIterator().isCaughtUp
    let places = try ClipPlaces(clips, times, isCaughtUp: isCaughtUp)
    let lease = try registry.budget.reserve(0)
    let body = try await context.whileClientStays {
      let file = try await clip.webP(
        framesPerSecond: rate, quality: wanted.encodedQuality, holding: lease, whenCaughtUp: places.caughtUp)
      // A buffer's capacity is a power of two.
      try lease.resize(to: file.capacity + 2 * file.count)
      return ByteBuffer(bytes: file)
    }
    withExtendedLifetime(places) {}
    try grant.check()
    try lease.resize(to: body.storageCapacity)
    var headers: HTTPFields = [.contentType: "image/webp", .cacheControl: "no-store"]
    if isDownload {
      headers[.contentDisposition] = "attachment; filename=\"\(target.camera)-\(target.name).webp\""
    }
    return Response(
      status: .ok, headers: headers,
      body: ResponseBody(body, holding: lease, on: context.channel))
  }

  /// Begins a clip that ends with its grant: a reload or a PATCH may hide, lock or change the view.
  private func clip(
    of target: ServedPreview, as wanted: ServedView, _ times: ClosedRange<CaptureInstant>,
    _ configuration: VideoConfiguration
  ) throws -> (Clip, Grant<ViewRight>) {
    if wanted.view != target.served.view { try registry.checkGPU() }
    let grant = try registry.grants.grant(ViewRight(target, .buffered(wanted.view)))
    let own = target.serves(wanted) ? nil : wanted.view
    let clip = try Clip(of: target.preview, as: own, follows: !wanted.setsPose, times, configuration) {
      !Task.isShuttingDownGracefully && grant.isValid
    }
    return (clip, grant)
  }
}
