// Takes snapshots: gets a frame of the source, then makes each picture once for all equal requests.
internal import HTTPTypes
internal import NIOCore

/// An encoded picture with its metadata.
struct SnapshotAnswer: Sendable {
  /// The bytes to send.
  let bytes: ByteBuffer
  let mediaType: String
  /// The size in pixels.
  let size: Size
  /// The JPEG quality; nil for a PNG, and for a camera's original JPEG.
  let quality: Int?
  /// Its share of the memory budget, held while it is cached or being sent.
  let lease: MemoryLease
}

/// Takes snapshots for a service.
final class SnapshotProvider: Sendable {
  private let pictures: SingleFlightCache<SnapshotKey, SnapshotAnswer>
  private let sceneShots: SingleFlightCache<SceneKey, RenderedPicture>
  /// The memory budget of pictures.
  private let budget: MemoryBudget
  private let metrics: ServiceMetrics
  /// Limits the pictures that are drawn only for one request.
  private let gate: AdmissionLimit
  /// Refuses them while the GPU is busy.
  private let checkGPU: @Sendable () throws(Problem) -> Void
  /// Limits the snapshots of served views that are being drawn or encoded.
  private let servedGate = AdmissionLimit(capacity: servedAtATime, subject: "snapshots being rendered")

  /// Limits the buffered frames that are being decoded, drawn or encoded. Further requests wait.
  let bufferedGate = AdmissionLimit(capacity: servedAtATime, subject: "buffered pictures being rendered")
  /// Buffered frames that are being decoded, each once for all concurrent requests. None is cached.
  private let bufferedMoments = SingleFlightCache<BufferedKey, CapturedFrame>(capacity: 0) { _ in 0 }

  /// The places of `bufferedGate`. A client's requests for one picture share a place.
  private let bufferedPlaces = SingleFlightCache<PlaceKey, AdmissionPermit>(capacity: 0) { _ in 0 }

  private struct PlaceKey: Hashable {
    let picture: SnapshotKey
    let client: RequestClient?
  }

  /// A buffered frame of a view.
  private struct BufferedKey: Hashable {
    /// The name of the view's preview.
    let target: String
    let sequence: Int
    let isCropped: Bool
    let passes: Bool
  }

  private struct SceneKey: Hashable {
    /// The name of the scene's preview.
    let scene: String
    let format: EncodedPicture.Format
    /// The number of the interval: a scene is drawn at most once per interval.
    let tick: Int64
  }

  private static let sceneInterval = Duration.milliseconds(33)
  /// The most bytes of cached pictures, and of cached scenes.
  private static let mostCachedBytes = 32 << 20
  /// The most pictures drawn and encoded at a time; further requests must retry.
  private static let servedAtATime = 16

  /// The longest timeout that a URL may set.
  static let longestTimeout = Duration.seconds(60)

  init(
    gate: AdmissionLimit, within budget: MemoryBudget, counting metrics: ServiceMetrics,
    checkGPU: @escaping @Sendable () throws(Problem) -> Void
  ) {
    self.gate = gate
    self.checkGPU = checkGPU
    self.budget = budget
    // The cache must leave memory for new pictures.
    let bytes = min(Self.mostCachedBytes, budget.capacity / 16)
    pictures = SingleFlightCache(capacity: bytes) { $0.bytes.storageCapacity }
    sceneShots = SingleFlightCache(capacity: bytes) { $0.picture.bytes.count }
    self.metrics = metrics
  }

  // MARK: Frames

  /// Returns the frame that a query requests. If the source is being opened, waits for it, so that the first
  /// snapshot shows the camera.
  ///
  /// - Throws: `Problem`: 503 if the source delivers nothing and the policy is `error`, or if the service
  ///   shuts down; 504 after the timeout.
  func moment(of target: ServedPreview, _ wanted: SnapshotRequest) async throws -> CapturedFrame {
    let start = CaptureClock.now
    // Finding the best frame draws many pictures.
    let permit = if case .sharpest = wanted.mode { try gate.enter() } else { AdmissionPermit?.none }
    defer { withExtendedLifetime(permit) {} }
    var request = wanted
    request.waitsForOpening = true
    if request.fallback == .error { request.fallback = .placeholder }
    let moment: CapturedFrame
    do {
      moment = try await beforeShutdown { [self, request] in
        guard case .at(let time) = request.mode, let sequence = target.preview.sequence(at: time) else {
          return try await target.preview.moment(request)
        }
        let key = BufferedKey(
          target: target.preview.name, sequence: sequence, isCropped: request.isCropped,
          passes: request.passes)
        return try await bufferedMoments.value(key, { nil }) {
          // Other requests may have a longer timeout than the first.
          var request = request
          request.timeout = max(request.timeout, Self.longestTimeout)
          return try await target.preview.moment(request)
        }
      }
    } catch let error as SourceError {
      throw problem(error, isLate: CaptureClock.now - start >= wanted.timeout, target.camera)
    }
    guard wanted.fallback == .error, moment.isFallback else { return moment }
    let error = SourceError(.unavailable, path: target.camera, reason: moment.reason ?? "none has arrived")
    throw problem(error, isLate: false, target.camera)
  }

  /// Does all the work for a request within its timeout. A request for a buffered frame first waits for a
  /// place, and holds it to the end, so that waiting requests hold no decoded frames. Requests of one client
  /// that wait for the picture of one `query` share a place.
  ///
  /// - Throws: `Problem`: 504 after the timeout, 503 and 429 if too many wait; the errors of `work`.
  func inTurn<Value: Sendable>(
    _ request: SnapshotRequest, of target: ServedPreview, _ query: SnapshotQuery? = nil,
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard request.mode.isBuffered else { return try await work() }
    var key: PlaceKey?
    if let query, case .at(let time) = request.mode, let sequence = target.preview.sequence(at: time) {
      let picture = SnapshotKey(
        query, of: target, sequence: sequence, timestamp: CaptureInstant(sinceStart: .zero))
      key = PlaceKey(picture: picture, client: .current)
    }
    let longest = max(request.timeout, Self.longestTimeout)
    let value = try await withDeadline(request.timeout) { [bufferedGate, bufferedPlaces, key] in
      let permit = try await beforeShutdown {
        guard let key else { return try await bufferedGate.enter(within: longest) }
        return try await bufferedPlaces.value(key, { nil }) {
          try await bufferedGate.enter(within: longest)
        }
      }
      defer { withExtendedLifetime(permit) {} }
      return try await work()
    }
    guard let value else {
      throw problem(SourceError.late(target.camera, request.timeout), isLate: true, target.camera)
    }
    return value
  }

  private func problem(_ error: SourceError, isLate: Bool, _ camera: String) -> Problem {
    isLate
      ? Problem(.gatewayTimeout, "camera '\(camera)' \(error.reason)")
      : .busy(.serviceUnavailable, "camera '\(camera)' delivers no frames: \(error.reason)", retryAfter: 1)
  }

  /// Returns the metadata and the key of the picture that `query` requests of a frame.
  func subject(_ moment: CapturedFrame, _ query: SnapshotQuery, _ target: ServedPreview) -> SnapshotSubject {
    var key = SnapshotKey(query, of: target, sequence: moment.sequence, timestamp: moment.timestamp)
    key.view = target.posed(query.served, at: moment.poseTime)
    if moment.isFallback {
      // Placeholders count as equal for one second.
      key.timestamp = CaptureInstant(sinceStart: .seconds(moment.timestamp.sinceStart.components.seconds))
      (key.state, key.reason) = (moment.sourceState, moment.reason)
    }
    if moment.passed != nil { key.quality = nil }
    return SnapshotSubject(
      camera: target.camera, timestamp: moment.timestamp, time: moment.time, state: moment.sourceState,
      sourceSize: moment.size, key: key)
  }

  // MARK: Pictures

  /// Returns the picture of a frame, as `query` requests it of `target`. For a buffered frame, it must be
  /// called within `inTurn`.
  ///
  /// - Throws: `Problem`: 400 if the view can't be drawn, 503 if too many pictures are being drawn.
  func picture(
    _ subject: SnapshotSubject, at moment: CapturedFrame, _ query: SnapshotQuery, of target: ServedPreview
  ) async throws -> SnapshotAnswer {
    let start = CaptureClock.now
    defer { metrics.measured(.snapshot, CaptureClock.now - start) }
    let isServed = query.served.view == target.served.view
    let isBuffered = query.request.mode.isBuffered
    do {
      return try await pictures.value(
        subject.key,
        {
          if !isServed, moment.passed == nil { try checkGPU() }
          return isBuffered ? nil : try (isServed ? servedGate : gate).enter()
        }
      ) { [self] in
        if let passed = moment.passed?.jpeg {
          return try await sent(passed, query, holding: budget.reserve(0))
        }
        let frame = try await drawn(
          subject.key.view, query, of: target.preview, isServed: isServed, at: moment)
        return try await encoded(frame, query)
      }
    } catch let error as PictureEncoder.Failure {
      throw Problem.badParameter(query.maximumBytes == nil ? "view" : "max_bytes", error.description)
    }
  }

  /// Draws `view` of a frame for a query, or reuses the picture if `preview` serves it and has drawn it.
  private func drawn(
    _ view: ViewConfiguration, _ query: SnapshotQuery, of preview: Preview, isServed: Bool,
    at moment: CapturedFrame
  ) async throws -> RenderedPicture {
    let (format, coding) = (query.format.pictures, query.coding)
    let drawn =
      if isServed {
        try await moment.draw(view, for: preview, as: format, coding: coding)
      } else {
        try await moment.draw([(view, preview.gpuTime)], as: format, coding: coding).first
      }
    guard let drawn else {
      throw SourceError(.unavailable, path: moment.source, reason: "none has arrived")
    }
    return drawn
  }

  /// Returns a picture of the scene, at most a thirtieth of a second old.
  func scene(_ target: ServedPreview, _ query: SnapshotQuery) async throws -> (
    SnapshotSubject, SnapshotAnswer
  ) {
    let start = CaptureClock.now
    defer { metrics.measured(.snapshot, CaptureClock.now - start) }
    let scene = target.camera
    let tick = Int64(start.sinceStart / Self.sceneInterval)
    do {
      // The first client may have a longer timeout.
      let shot = try await withDeadline(query.request.timeout) { [sceneShots, servedGate] in
        try await sceneShots.value(
          SceneKey(scene: target.preview.name, format: query.format, tick: tick), servedGate.enter
        ) {
          try await target.preview.drawScene(as: query.format.pictures, within: query.request.timeout)
        }
      }
      guard let frame = shot else { throw SourceError.late(scene, query.request.timeout) }
      let key = SnapshotKey(query, of: target, sequence: frame.sequence, timestamp: frame.timestamp)
      let answer = try await pictures.value(key, servedGate.enter) { try await self.encoded(frame, query) }
      let subject = SnapshotSubject(
        camera: scene, timestamp: frame.timestamp, time: WallTime(capturedAt: frame.timestamp), state: .live,
        sourceSize: nil, key: key)
      return (subject, answer)
    } catch let error as SourceError {
      throw problem(error, isLate: CaptureClock.now - start >= query.request.timeout, scene)
    } catch let error as PictureEncoder.Failure {
      throw Problem.badParameter("max_bytes", error.description)
    }
  }

  /// Encodes a picture as requested.
  func encoded(_ picture: RenderedPicture, _ query: SnapshotQuery) async throws -> SnapshotAnswer {
    // An encoded picture is hardly larger than its samples, or than its scan and the headers, until its size is known.
    let headers = 1024 + (picture.iccProfile?.count ?? 0)
    let lease = try budget.reserve(picture.picture.byteCount + headers)
    var encoded: EncodedPicture
    switch query.format {
    case .png: encoded = try await picture.png()
    case .jpeg:
      let (quality, exif) = (query.served.encodedQuality, query.hasEXIF)
      let room = query.coding?.maximumBytes
      if let room, picture.picture.scan?.maximumBytes == room {
        encoded = try await picture.jpeg(quality: quality, maxBytes: room, exif: exif)
      } else {
        encoded = try await picture.jpeg(quality: quality, exif: exif)
        if let room, encoded.bytes.count > room {
          encoded = try await picture.jpeg(quality: quality, maxBytes: room, exif: exif)
        }
      }
    }
    return try await sent(encoded, query, holding: lease)
  }

  /// Returns the answer with an encoded picture. The answer holds `lease`.
  private func sent(
    _ encoded: EncodedPicture, _ query: SnapshotQuery, holding lease: MemoryLease
  ) async throws -> SnapshotAnswer {
    let bytes = encoded.bytes
    // Enough for the encoded bytes, their text, and the send buffer, whose size is a power of two.
    try lease.resize(to: 4 * bytes.count)
    // Encoding as text is slow, so it runs outside the event loop threads.
    let sent = await Task(executorPreference: DecodingQueue.shared) { [bytes] in
      Self.wrapped(bytes, query)
    }.value
    try lease.resize(to: sent.storageCapacity)
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
