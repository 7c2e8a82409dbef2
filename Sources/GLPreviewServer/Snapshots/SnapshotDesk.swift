// Where snapshots are taken: a moment of the source, then what is wanted of it, made once for all who want the same.
internal import GLPreview
internal import HTTPTypes
internal import NIOCore

/// A picture that is ready to be sent, and what is said with it.
struct SnapshotAnswer: Sendable {
  /// As it is sent.
  let bytes: ByteBuffer
  let mediaType: String
  /// In pixels.
  let size: Size
  /// The JPEG quality that was taken; nil of a PNG.
  let quality: Int?
  /// Its part of the service's memory, for as long as it is kept or waits to be read; nil where that is not counted.
  let lease: MemoryLease?
}

/// What a snapshot shows.
struct SnapshotSubject: Sendable {
  /// Of which source, or scene.
  let camera: String
  /// Frame number, time, and how the source is.
  let sequence: Int
  let timestamp: Duration
  let time: WallTime
  let state: SourceState
  /// Of the source, upright; nil of a scene, and where there never was a frame.
  let sourceSize: Size?
  /// Differs between any two answers whose bytes may differ.
  let entityTag: String
}

/// Takes snapshots for a service.
final class SnapshotDesk: Sendable {
  private let session: PreviewSession
  private let pictures: SharedWork<PictureKey, SnapshotAnswer>
  private let sceneShots: SharedWork<SceneKey, PreviewFrame>
  /// What pictures count against.
  private let budget: MemoryBudget?
  private let measured: @Sendable (ServiceStage, Duration) -> Void
  /// Lets in who has something drawn that is not drawn anyway.
  private let gate: AdHocGate
  /// Lets in who has one of the served views drawn or encoded.
  private let servedGate = AdHocGate(capacity: servedAtATime, subject: "snapshots are drawn")
  /// Of this life of the service: frames are numbered from 0 in each.
  private let epoch = String(UInt32.random(in: 0...UInt32.max), radix: 36)

  /// What makes a picture what it is.
  private struct PictureKey: Hashable {
    /// The name of the served view's preview: what comes after it under the same words has another one.
    let target: String
    let sequence: Int
    let timestamp: Duration
    /// Of what stands in for the source; nil where nothing does.
    let state: SourceState?
    let reason: String?
    let view: ViewConfiguration
    let quality: Int
    let format: EncodedFormat
    let encoding: SnapshotEncoding
    let maximumBytes: Int?
    let hasEXIF: Bool
  }

  private struct SceneKey: Hashable {
    /// The name of its preview.
    let scene: String
    let format: EncodedFormat
    /// A scene is taken at most so often.
    let tick: Int64
  }

  /// Who asks while a source is being opened waits for it so long at a time.
  private static let openingStep = Duration.milliseconds(20)
  private static let sceneInterval = Duration.milliseconds(33)
  /// Of pictures that were made, and of scenes that were drawn, each.
  private static let keptBytes = 32 << 20
  /// More are not drawn and encoded at a time: who asks for other pictures than those is told to come again.
  private static let servedAtATime = 16

  init(
    _ session: PreviewSession, gate: AdHocGate, within budget: MemoryBudget? = nil,
    measuring measured: @escaping @Sendable (ServiceStage, Duration) -> Void = { _, _ in }
  ) {
    self.session = session
    self.gate = gate
    self.budget = budget
    // What is kept must leave room for what is to be made.
    let kept = min(Self.keptBytes, (budget?.capacity ?? .max) / 16)
    pictures = SharedWork(capacity: kept) { $0.bytes.storageCapacity }
    sceneShots = SharedWork(capacity: kept) { $0.picture.bytes.count }
    self.measured = measured
  }

  // MARK: Moments

  /// The moment that a query asks for.
  ///
  /// - Throws: `Problem`: 503 where the source gives nothing and that is to be an error, or where the service ends, 504 where
  ///   it took too long.
  func moment(of target: ServedPreview, _ wanted: SnapshotRequest) async throws -> SourceMoment {
    try await beforeShutdown { try await self.waitForMoment(of: target, wanted) }
  }

  private func waitForMoment(of target: ServedPreview, _ wanted: SnapshotRequest) async throws -> SourceMoment
  {
    let start = CaptureClock.now
    var request = wanted
    // What is being opened is no error yet.
    if request.fallback == .error { request.fallback = .placeholder }
    do {
      var moment = try await session.moment(of: target.source, request)
      // What is being opened is worth waiting for: the first picture is to be one of the camera.
      while moment.sourceState == .opening {
        let rest = start + wanted.timeout - CaptureClock.now
        guard rest > Self.openingStep else { break }
        try await Task.sleep(for: Self.openingStep)
        request.timeout = rest
        moment = try await session.moment(of: target.source, request)
      }
      if wanted.fallback == .error, moment.isFallback {
        throw SourceError(.unavailable, path: target.camera, reason: moment.reason ?? "gives none")
      }
      return moment
    } catch let error as SourceError {
      throw problem(error, isLate: CaptureClock.now - start >= wanted.timeout, target.camera)
    }
  }

  private func problem(_ error: SourceError, isLate: Bool, _ camera: String) -> Problem {
    isLate
      ? Problem(.gatewayTimeout, "camera '\(camera)' \(error.reason)")
      : .busy(.serviceUnavailable, "camera '\(camera)' gives no picture: \(error.reason)", retryAfter: 1)
  }

  /// What a moment shows in a view of `target`'s.
  func subject(_ moment: SourceMoment, _ query: SnapshotQuery, _ target: ServedPreview) -> SnapshotSubject {
    SnapshotSubject(
      camera: target.camera, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
      state: moment.sourceState, sourceSize: moment.size, entityTag: entityTag(key(moment, query, target)))
  }

  /// Within a process equal keys have equal hashes; the epoch tells processes apart.
  private func entityTag(_ key: PictureKey) -> String {
    "\"\(epoch)-\(key.sequence)-\(String(UInt(bitPattern: key.hashValue), radix: 36))\""
  }

  private func key(_ moment: SourceMoment, _ query: SnapshotQuery, _ target: ServedPreview) -> PictureKey {
    // Placeholders look the same for a second.
    let timestamp =
      moment.isFallback ? .seconds(moment.timestamp.components.seconds) : moment.timestamp
    return PictureKey(
      target: target.preview.name, sequence: moment.sequence, timestamp: timestamp,
      state: moment.isFallback ? moment.sourceState : nil, reason: moment.isFallback ? moment.reason : nil,
      view: query.served.view, quality: query.served.quality, format: query.format, encoding: query.encoding,
      maximumBytes: query.maximumBytes, hasEXIF: query.hasEXIF)
  }

  // MARK: Pictures

  /// The picture of a moment, as `query` wants to see `target`.
  ///
  /// - Throws: `Problem`: 400 where the view can't be drawn, 503 where too much is being drawn.
  func picture(_ moment: SourceMoment, _ query: SnapshotQuery, of target: ServedPreview) async throws
    -> SnapshotAnswer
  {
    let start = CaptureClock.now
    defer { measured(.snapshot, CaptureClock.now - start) }
    let isServed = query.served.view == target.served.view
    do {
      return try await pictures.value(key(moment, query, target), (isServed ? servedGate : gate).enter) {
        [self] in
        let preview = isServed ? target.preview : nil
        let frame = try await drawn(query, preview, at: moment)
        return try await encoded(frame, query, moment.isFallback ? nil : moment.time)
      }
    } catch let error as WordError {
      throw Problem.badParameter(error.key, error.reason)
    } catch let error as EncodingError {
      throw Problem.badParameter(query.maximumBytes == nil ? "view" : "max_bytes", error.description)
    }
  }

  /// What a query wants to see of a moment; taken over from `preview` where that has drawn it.
  private func drawn(_ query: SnapshotQuery, _ preview: Preview?, at moment: SourceMoment) async throws
    -> PreviewFrame
  {
    let (view, format) = (query.served.view, query.format.pictures)
    if let preview, let frame = try await session.draw([preview], at: moment, as: format).first,
      // It may be another one since the view was looked up.
      preview.configuration.view == view.named(preview.name)
    {
      return frame
    }
    guard let frame = try await session.draw([view], at: moment, as: format).first else {
      throw SourceError(.unavailable, path: moment.source, reason: "gave no picture")
    }
    return frame
  }

  /// A scene as it is, no older than a thirtieth of a second.
  func scene(_ target: ServedPreview, _ query: SnapshotQuery) async throws -> (
    SnapshotSubject, SnapshotAnswer
  ) {
    let start = CaptureClock.now
    defer { measured(.snapshot, CaptureClock.now - start) }
    let (scene, preview) = (target.camera, target.preview.name)
    let tick = Int64(start / Self.sceneInterval)
    do {
      // Who came first may have more time.
      let frame = try await withTimeout(query.timeout, scene) { [session, sceneShots, servedGate] in
        try await sceneShots.value(
          SceneKey(scene: preview, format: query.format, tick: tick), servedGate.enter
        ) {
          try await session.drawScene(target.preview, as: query.format.pictures, within: query.timeout)
        }
      }
      let key = PictureKey(
        target: preview, sequence: frame.sequence, timestamp: frame.timestamp, state: nil, reason: nil,
        view: query.served.view,
        quality: query.served.quality, format: query.format, encoding: query.encoding,
        maximumBytes: query.maximumBytes, hasEXIF: query.hasEXIF)
      let time = WallTime(capturedAt: frame.timestamp)
      let answer = try await pictures.value(key, servedGate.enter) {
        try await self.encoded(frame, query, time)
      }
      let subject = SnapshotSubject(
        camera: scene, sequence: frame.sequence, timestamp: frame.timestamp, time: time, state: .live,
        sourceSize: nil, entityTag: entityTag(key))
      return (subject, answer)
    } catch let error as SourceError {
      throw problem(error, isLate: CaptureClock.now - start >= query.timeout, scene)
    } catch let error as EncodingError {
      throw Problem.badParameter("max_bytes", error.description)
    }
  }

  /// The picture as a query wants it sent; `time` is when it was taken, for EXIF, nil of what was not taken at all.
  private func encoded(_ frame: PreviewFrame, _ query: SnapshotQuery, _ time: WallTime?) async throws
    -> SnapshotAnswer
  {
    // No picture is larger encoded than as samples; then it is known.
    let lease = try budget?.reserve(frame.picture.bytes.count)
    var encoded: EncodedPicture
    let room = query.maximumBytes.map { query.encoding.room(in: $0, query.format) }
    switch query.format {
    case .png: encoded = try await frame.png()
    case .jpeg:
      encoded = try await frame.jpeg(quality: query.served.quality)
      if let room, encoded.bytes.count > room {
        encoded = try await frame.jpeg(quality: query.served.quality, maxBytes: room)
      }
    }
    var bytes = encoded.bytes
    if query.format == .jpeg, query.hasEXIF, let time {
      let segment = EXIFSegment(taken: time)
      // Under a budget the picture is worth more.
      if bytes.count + segment.bytes.count <= room ?? .max { bytes = segment.inserted(into: bytes) }
    }
    // Its bytes, their text, and the buffer that is sent, whose size is a power of two.
    try lease?.resize(to: 4 * bytes.count)
    // Text is a third more bytes, made one by one: beside the threads that answer.
    let sent = await Task(executorPreference: DecodingQueue.shared) { [bytes] in
      Self.wrapped(bytes, query)
    }.value
    try lease?.resize(to: sent.storageCapacity)
    return SnapshotAnswer(
      bytes: sent,
      mediaType: query.encoding == .binary ? query.format.mediaType : "text/plain",
      size: encoded.size, quality: encoded.quality, lease: lease)
  }

  private static func wrapped(_ bytes: [UInt8], _ query: SnapshotQuery) -> ByteBuffer {
    switch query.encoding {
    case .binary: ByteBuffer(bytes: bytes)
    case .base64: ByteBuffer(bytes: Base64.encoded(bytes))
    case .dataurl:
      ByteBuffer(bytes: Array(SnapshotEncoding.prefix(query.format).utf8) + Base64.encoded(bytes))
    }
  }
}
