// Takes snapshots: gets the source's current moment, then makes each picture once for all equal requests.
internal import HTTPTypes
internal import NIOCore

/// A picture that is ready to be sent, and its metadata.
struct SnapshotAnswer: Sendable {
  /// The bytes as they are sent.
  let bytes: ByteBuffer
  let mediaType: String
  /// In pixels.
  let size: Size
  /// The JPEG quality; nil for a PNG, and for a camera's own JPEG.
  let quality: Int?
  /// Its share of the memory budget, held while it is cached or being sent.
  let lease: MemoryLease
}

/// The subject of a snapshot.
struct SnapshotSubject: Sendable {
  /// The source or scene.
  let camera: String
  /// The frame's time, and the source's state.
  let timestamp: CaptureInstant
  let time: WallTime
  let state: SourceState
  /// The upright size of the source; nil for a scene, and before the first frame.
  let sourceSize: Size?
  fileprivate let key: SnapshotKey

  /// The frame's number.
  var sequence: Int { key.sequence }

  /// Differs between any two answers whose bytes may differ.
  var entityTag: String { key.entityTag }
}

/// Everything that determines a picture.
private struct SnapshotKey: Hashable {
  /// The name of the view's preview, which is unique: a later view of the same name has another one.
  let target: String
  let sequence: Int
  var timestamp: CaptureInstant
  /// The state that the fallback shows; nil without a fallback.
  var state: SourceState?
  var reason: String?
  let view: ViewConfiguration
  /// Nil for the camera's own JPEG.
  var quality: Int?
  let format: EncodedPicture.Format
  let encoding: SnapshotEncoding
  let maximumBytes: Int?
  let hasEXIF: Bool

  /// Distinguishes processes, because hashes and frame numbers begin anew in each.
  private static let epoch = String(UInt32.random(in: 0...UInt32.max), radix: 36)

  var entityTag: String {
    "\"\(Self.epoch)-\(sequence)-\(String(UInt(bitPattern: hashValue), radix: 36))\""
  }

  init(_ query: SnapshotQuery, of target: ServedPreview, sequence: Int, timestamp: CaptureInstant) {
    self.target = target.preview.name
    self.sequence = sequence
    self.timestamp = timestamp
    view = query.served.view
    quality = query.served.encodedQuality
    format = query.format
    encoding = query.encoding
    maximumBytes = query.maximumBytes
    hasEXIF = query.hasEXIF
  }
}

/// Takes snapshots for a service.
final class SnapshotProvider: Sendable {
  private let pictures: SingleFlightCache<SnapshotKey, SnapshotAnswer>
  private let sceneShots: SingleFlightCache<SceneKey, RenderedPicture>
  /// The budget of pictures.
  private let budget: MemoryBudget
  private let metrics: ServiceMetrics
  /// Limits pictures that are drawn only for their request.
  private let gate: AdmissionLimit
  /// Limits snapshots of served views being drawn or encoded.
  private let servedGate = AdmissionLimit(capacity: servedAtATime, subject: "snapshots being drawn")

  /// Limits snapshots of kept pictures being decoded, drawn or encoded. A client may ask for many moments at a time: they wait.
  let keptGate = AdmissionLimit(capacity: servedAtATime, subject: "kept pictures being drawn")
  /// Moments of kept pictures, none of which is cached: each is decoded once for all that ask for it at a time.
  private let keptMoments = SingleFlightCache<KeptKey, SourceMoment>(capacity: 0) { _ in 0 }

  /// Places of `keptGate`: requests of one client for the same picture share one. Other clients have shares of their own.
  private let keptPlaces = SingleFlightCache<PlaceKey, AdmissionPermit>(capacity: 0) { _ in 0 }

  private struct PlaceKey: Hashable {
    let picture: SnapshotKey
    let client: RequestClient?
  }

  /// A kept picture of a view.
  private struct KeptKey: Hashable {
    /// The name of its preview.
    let target: String
    let sequence: Int
    let isCropped: Bool
    let passes: Bool
  }

  private struct SceneKey: Hashable {
    /// The name of its preview.
    let scene: String
    let format: EncodedPicture.Format
    /// Limits how often a scene is drawn.
    let tick: Int64
  }

  private static let sceneInterval = Duration.milliseconds(33)
  /// The bytes of cached pictures, and of cached scenes.
  private static let keptBytes = 32 << 20
  /// The most pictures drawn and encoded at a time; further requests must retry.
  private static let servedAtATime = 16

  /// The longest time that a URL may give a snapshot.
  static let longestTimeout = Duration.seconds(60)

  init(gate: AdmissionLimit, within budget: MemoryBudget, counting metrics: ServiceMetrics) {
    self.gate = gate
    self.budget = budget
    // The cache must leave room for new pictures.
    let kept = min(Self.keptBytes, budget.capacity / 16)
    pictures = SingleFlightCache(capacity: kept) { $0.bytes.storageCapacity }
    sceneShots = SingleFlightCache(capacity: kept) { $0.picture.bytes.count }
    self.metrics = metrics
  }

  // MARK: Moments

  /// The moment that a query requests. A source that is being opened is waited for, so that the first snapshot shows
  /// the camera.
  ///
  /// - Throws: `Problem`: 503 if the source delivers nothing and the policy is an error, or if the service shuts
  ///   down; 504 after the timeout.
  func moment(of target: ServedPreview, _ wanted: SnapshotRequest) async throws -> SourceMoment {
    let start = CaptureClock.now
    // Many pictures are drawn to find the best.
    let permit = if case .sharpest = wanted.mode { try gate.enter() } else { AdmissionPermit?.none }
    defer { withExtendedLifetime(permit) {} }
    var request = wanted
    request.waitsForOpening = true
    if request.fallback == .error { request.fallback = .placeholder }
    let moment: SourceMoment
    do {
      moment = try await beforeShutdown { [self, request] in
        guard case .at(let time) = request.mode, let sequence = target.preview.keptSequence(at: time) else {
          return try await target.preview.moment(request)
        }
        let key = KeptKey(
          target: target.preview.name, sequence: sequence, isCropped: request.isCropped,
          passes: request.passes)
        return try await keptMoments.value(key, { nil }) {
          // The others may have more time than the first.
          var request = request
          request.timeout = max(request.timeout, Self.longestTimeout)
          return try await target.preview.moment(request)
        }
      }
    } catch let error as SourceError {
      throw problem(error, isLate: CaptureClock.now - start >= wanted.timeout, target.camera)
    }
    guard wanted.fallback == .error, moment.isFallback else { return moment }
    let error = SourceError(.unavailable, path: target.camera, reason: moment.reason ?? "gives none")
    throw problem(error, isLate: false, target.camera)
  }

  /// Does all the work for one request within its time. If it asks for a kept picture, it waits for a place first and
  /// holds it to the end: those that wait hold no decoded frame. Requests of one client that wait for the picture of one
  /// `query` share a place.
  ///
  /// - Throws: `Problem`: 504 after the timeout, 503 and 429 if too many wait; the errors of `work`.
  func inTurn<Value: Sendable>(
    _ request: SnapshotRequest, of target: ServedPreview, _ query: SnapshotQuery? = nil,
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard request.mode.isKept else { return try await work() }
    var key: PlaceKey?
    if let query, case .at(let time) = request.mode, let sequence = target.preview.keptSequence(at: time) {
      let picture = SnapshotKey(
        query, of: target, sequence: sequence, timestamp: CaptureInstant(sinceStart: .zero))
      key = PlaceKey(picture: picture, client: .current)
    }
    let longest = max(request.timeout, Self.longestTimeout)
    let value = try await withDeadline(request.timeout) { [keptGate, keptPlaces, key] in
      let permit = try await beforeShutdown {
        guard let key else { return try await keptGate.enter(within: longest) }
        return try await keptPlaces.value(key, { nil }) {
          try await keptGate.enter(within: longest)
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
      : .busy(.serviceUnavailable, "camera '\(camera)' gives no picture: \(error.reason)", retryAfter: 1)
  }

  /// What a moment shows in a view of `target`.
  func subject(_ moment: SourceMoment, _ query: SnapshotQuery, _ target: ServedPreview) -> SnapshotSubject {
    var key = SnapshotKey(query, of: target, sequence: moment.sequence, timestamp: moment.timestamp)
    if moment.isFallback {
      // Placeholders count as the same for a second.
      key.timestamp = CaptureInstant(sinceStart: .seconds(moment.timestamp.sinceStart.components.seconds))
      (key.state, key.reason) = (moment.sourceState, moment.reason)
    }
    if moment.passed != nil { key.quality = nil }
    return SnapshotSubject(
      camera: target.camera, timestamp: moment.timestamp, time: moment.time, state: moment.sourceState,
      sourceSize: moment.size, key: key)
  }

  // MARK: Pictures

  /// The picture of a moment's subject, as `query` requests it of `target`. A kept one is made `inTurn`.
  ///
  /// - Throws: `Problem`: 400 if the view can't be drawn, 503 if too many pictures are being drawn.
  func picture(
    _ subject: SnapshotSubject, at moment: SourceMoment, _ query: SnapshotQuery, of target: ServedPreview
  ) async throws -> SnapshotAnswer {
    let start = CaptureClock.now
    defer { metrics.measured(.snapshot, CaptureClock.now - start) }
    let isServed = query.served.view == target.served.view
    let isKept = query.request.mode.isKept
    do {
      return try await pictures.value(
        subject.key, { isKept ? nil : try (isServed ? servedGate : gate).enter() }
      ) { [self] in
        if let passed = moment.passed?.jpeg {
          return try await sent(passed, query, holding: budget.reserve(0))
        }
        let preview = isServed ? target.preview : nil
        let frame = try await drawn(query, preview, at: moment)
        return try await encoded(frame, query)
      }
    } catch let error as PictureEncoder.Failure {
      throw Problem.badParameter(query.maximumBytes == nil ? "view" : "max_bytes", error.description)
    }
  }

  /// Draws the requested view of a moment, or reuses it if `preview` has already drawn it.
  private func drawn(_ query: SnapshotQuery, _ preview: Preview?, at moment: SourceMoment) async throws
    -> RenderedPicture
  {
    let (view, format) = (query.served.view, query.format.pictures)
    if let preview, let frame = try await moment.draw([preview], as: format).first,
      // The view may have changed since it was looked up.
      preview.configuration.view == view.named(preview.name)
    {
      return frame
    }
    guard let frame = try await moment.draw([view], as: format).first else {
      throw SourceError(.unavailable, path: moment.source, reason: "gave no picture")
    }
    return frame
  }

  /// The current scene, at most a thirtieth of a second old.
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
  private func encoded(_ picture: RenderedPicture, _ query: SnapshotQuery) async throws -> SnapshotAnswer {
    // An encoded picture is never larger than its samples, so reserve that until its size is known.
    let lease = try budget.reserve(picture.picture.bytes.count)
    var encoded: EncodedPicture
    switch query.format {
    case .png: encoded = try await picture.png()
    case .jpeg:
      let (quality, exif) = (query.served.encodedQuality, query.hasEXIF)
      encoded = try await picture.jpeg(quality: quality, exif: exif)
      if let room = query.maximumBytes.map({ query.encoding.room(in: $0, query.format) }),
        encoded.bytes.count > room
      {
        encoded = try await picture.jpeg(quality: quality, maxBytes: room, exif: exif)
      }
    }
    return try await sent(encoded, query, holding: lease)
  }

  /// The answer with an encoded picture. It holds `lease`.
  private func sent(
    _ encoded: EncodedPicture, _ query: SnapshotQuery, holding lease: MemoryLease
  ) async throws -> SnapshotAnswer {
    let bytes = encoded.bytes
    // The encoded bytes, their text, and the send buffer, whose size is a power of two.
    try lease.resize(to: 4 * bytes.count)
    // Encoding as text is slow, so it runs outside the threads that answer.
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
