// `/cameras/{camera}/{view}.mp4?before=5s&after=5s`: the kept pictures of a time as a video with an end.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

extension VideoRoutes {
  static let clipKeys =
    ViewConfiguration.keys + ["quality", "bitrate", "keyframe", "at", "before", "after", "download"]

  /// Whether a request is for a clip of kept pictures, which has an end.
  static func isClip(_ request: Request) -> Bool {
    ["at", "before", "after"].contains { request.uri.queryParameters[Substring($0)] != nil }
  }

  /// The time of a clip that a URL asks for; nil if it asks for none. A trigger that is late asks for an earlier one.
  func clipTime(from words: inout QueryWords, of target: ServedPreview) throws
    -> ClosedRange<CaptureInstant>?
  {
    let (before, after) = (words.take("before"), words.take("after"))
    guard before != nil || after != nil else { return nil }
    if target.isScene { throw Problem.momentOfScene() }
    let now = CaptureClock.now
    let moment = try words.take("at").map { try SnapshotMoment(parsing: $0, key: "at") }
    let middle = moment?.instant(at: now, delay: target.triggerDelay) ?? now - target.triggerDelay
    let first = try before.map { try middle - SnapshotMoment.duration($0, key: "before") }
    let last = try after.map { try middle + SnapshotMoment.duration($0, key: "after") } ?? middle
    guard last - now <= Self.longestWait else {
      throw Problem.badParameter(
        "after", "a clip ends at most \(Self.longestWait.components.seconds) s from now")
    }
    return (first ?? middle)...last
  }

  private static let longestWait = Duration.seconds(600)

  /// Sends each picture of `times` that is kept, once, and ends; those that are still to come are waited for.
  func clip(
    _ target: ServedPreview, _ times: ClosedRange<CaptureInstant>, as wanted: ServedView,
    _ configuration: VideoConfiguration, headers: HTTPFields
  ) async throws -> Response {
    let permit = try clips.enter()
    var reader = ClipReader(registry, target, wanted.view, configuration, times)
    // It tells whether there is anything, and an encoder.
    guard let first = try await reader.next() else {
      throw Problem.notKept(target.source.flatMap { registry.session.replay(of: $0) })
    }
    var headers = headers
    headers[.contentType] = first.format.mediaType
    let body = ResponseBody { [reader] writer in
      defer { withExtendedLifetime(permit) {} }
      var (reader, mp4, next) = (reader, FragmentedMP4(), Optional(first))
      while let sample = next {
        try await writer.write(ByteBuffer(bytes: mp4.append(sample)))
        next = try await reader.next()
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: headers, body: body)
  }
}

/// Draws and encodes the kept pictures of a time one after another.
private struct ClipReader: Sendable {
  private let registry: CameraRegistry
  private let target: ServedPreview
  private let view: ViewConfiguration
  private let times: ClosedRange<CaptureInstant>
  private let encoder: VideoEncoder
  private var keys: KeySchedule
  private var last: CaptureInstant?

  init(
    _ registry: CameraRegistry, _ target: ServedPreview, _ view: ViewConfiguration,
    _ configuration: VideoConfiguration, _ times: ClosedRange<CaptureInstant>
  ) {
    (self.registry, self.target, self.view, self.times) = (registry, target, view, times)
    encoder = VideoEncoder(configuration)
    keys = KeySchedule(every: configuration.keyframeInterval)
  }

  /// How often a picture that is still to come is looked for.
  private static let looksEvery = Duration.milliseconds(20)

  /// The next sample; nil at the end, or once the view is no longer served as it was.
  mutating func next() async throws -> VideoSample? {
    while !Task.isShuttingDownGracefully {
      let begin = last.map { $0 + .nanoseconds(1) } ?? times.lowerBound
      guard begin <= times.upperBound, isServed else { return nil }
      guard let time = target.preview.keptTimes(in: begin...times.upperBound).min() else {
        guard CaptureClock.now < times.upperBound else { return nil }
        try await Task.sleep(for: Self.looksEvery)
        continue
      }
      last = time
      guard let picture = try await picture(at: time) else { continue }
      let sample = try await encoder.encode(picture, at: time, isKey: keys.isDue(at: time))
      if sample.isKey { keys.came(at: time) }
      return sample
    }
    return nil
  }

  /// The picture of exactly this time; nil if it is gone or damaged.
  private func picture(at time: CaptureInstant) async throws -> Picture? {
    do {
      let moment = try await target.preview.moment(SnapshotRequest(.at(time)))
      guard moment.timestamp == time else { return nil }
      return try await moment.draw([view], as: .video).first?.picture
    } catch is NotKept {
      return nil
    }
  }

  /// Whether the view may still be shown so: a reload or a PATCH may have hidden, locked or changed it.
  private var isServed: Bool {
    guard let now = try? registry.view(target.name, of: target.camera), now.preview === target.preview,
      now.served.isEnabled
    else { return false }
    return now.served.view == target.served.view && (view == now.served.view || !now.served.isLocked)
  }
}
