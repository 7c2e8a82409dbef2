// The best picture of each motion event. It shows the camera's first enabled view, which every client with
// the role `read` may see.
internal import Logging

/// Takes and stores the pictures of motion events, a limited number for each camera.
final class MotionPictures: Sendable {
  /// The picture of one event, encoded.
  struct EventPicture: Sendable {
    fileprivate let event: Int
    fileprivate let bestAt: CaptureInstant
    /// Revoked when the view may no longer be shown, or shows something else.
    fileprivate let grant: Grant<ViewRight>
    /// At most `largest` in size.
    let whole: EncodedPicture
    /// At most `thumbnail` in size, with a frame around what moved.
    let framed: EncodedPicture
    fileprivate let lease: MemoryLease

    fileprivate var bytes: Int { whole.bytes.count + framed.bytes.count }
  }

  /// The pictures of a camera, oldest first.
  private struct Album {
    var pictures: [EventPicture] = []
    /// The event whose picture is to be taken next.
    var next: MotionEvent?
    /// The event whose picture is being taken.
    var current: Int?

    func isTaking(_ event: Int) -> Bool { current == event || next?.number == event }

    /// Ends taking a picture. The new picture, if any, replaces an earlier one of the same event.
    mutating func end(with picture: EventPicture?) {
      current = nil
      guard let picture else { return }
      pictures.removeAll { $0.event == picture.event }
      pictures.append(picture)
      while pictures.count > mostPictures
        || pictures.count > 1 && pictures.reduce(0, { $0 + $1.bytes }) > mostBytes
      {
        pictures.removeFirst()
      }
    }
  }

  private let registry: CameraRegistry
  private let logger: Logger
  /// By the names of the cameras' sources.
  private let albums = Watched<[String: Album]>([:])

  private static let (mostPictures, mostBytes) = (32, 4 << 20)
  private static let (largest, thumbnail) = (Size(width: 1280, height: 1280), Size(width: 320, height: 320))
  private static let (largestBytes, thumbnailBytes) = (256 << 10, 32 << 10)
  private static let (quality, thumbnailQuality) = (80, 75)
  /// The largest age of a picture that is taken because the best frame is not in the replay buffer.
  private static let latest = Duration.milliseconds(250)

  init(_ registry: CameraRegistry, logger: Logger) { (self.registry, self.logger) = (registry, logger) }

  /// Takes a picture of an event that has begun or has a better frame. Returns before the picture is taken.
  func take(_ event: MotionEvent, of camera: ServedCamera) {
    let isFirst = albums.update { albums in
      let isFirst = albums[camera.source]?.current == nil && albums[camera.source]?.next == nil
      albums[camera.source, default: Album()].next = event
      return isFirst
    }
    guard isFirst else { return }
    Task { [self] in
      while let event = begin(camera.source) {
        var picture: EventPicture?
        do { picture = try await self.picture(event, camera) } catch {
          logger.debug(
            "motion picture not taken",
            metadata: [
              "camera": "\(camera.configuration.name)", "reason": "\(Redaction.message("\(error)"))",
            ])
        }
        albums.update { $0[camera.source]?.end(with: picture) }
      }
    }
  }

  private func begin(_ source: String) -> MotionEvent? {
    albums.update { albums in
      let event = albums[source]?.next
      albums[source]?.next = nil
      albums[source]?.current = event?.number
      return event
    }
  }

  /// The picture of an event; nil if there is none, if it is from before `since`, or if it may no longer be shown. Waits
  /// for a picture that is being taken.
  func picture(
    of event: Int, _ camera: ServedCamera, since: CaptureInstant? = nil
  ) async -> EventPicture? {
    _ = try? await albums.first(until: CaptureClock.now + registry.timeouts.snapshot) { albums in
      albums[camera.source]?.isTaking(event) == true ? nil : true
    }
    return stored(event, camera).flatMap { picture in
      since.map { picture.bestAt >= $0 } ?? true ? picture : nil
    }
  }

  /// Whether there is a picture of an event.
  func hasPicture(of event: Int, _ camera: ServedCamera) -> Bool { stored(event, camera) != nil }

  private func stored(_ event: Int, _ camera: ServedCamera) -> EventPicture? {
    albums.value[camera.source]?.pictures.last { $0.event == event && $0.grant.isValid }
  }

  /// Forgets pictures of other cameras, and those that may no longer be shown.
  func keep(_ cameras: [ServedCamera]) {
    albums.withLock { albums in
      guard !albums.isEmpty else { return }
      let sources = Set(cameras.map(\.source))
      albums = albums.filter { sources.contains($0.key) }
      for source in sources { albums[source]?.pictures.removeAll { !$0.grant.isValid } }
    }
  }

  // MARK: Taking

  /// Takes a picture of the first view that is switched on. Nil if there is no such view, if the camera gives
  /// no picture, or if the album already has it.
  private func picture(_ event: MotionEvent, _ camera: ServedCamera) async throws -> EventPicture? {
    guard
      let view = registry.served[camera: camera.configuration.name]?.views.first(where: \.served.isEnabled),
      view.source == camera.source
    else { return nil }
    if albums.value[camera.source]?.pictures.contains(where: {
      $0.event == event.number && $0.bestAt == event.bestAt && $0.grant.isValid
        && $0.grant.subject.target.preview === view.preview
    }) == true {
      return nil
    }
    let grant = try registry.grants.grant(ViewRight(view, .buffered(view.served.view)))
    let moment = try await moment(event, view)
    guard moment.sourceState == .live, let picture = try await moment.draw([view.preview]).first else {
      return nil
    }
    let whole = try await picture.jpeg(
      quality: Self.quality, maxBytes: Self.largestBytes, fitting: Self.largest)
    var framed = picture
    if let box = event.best?.box, let size = moment.size,
      let place = try moment.withLens(
        view.preview.posed(view.served.view, at: moment.poseTime)
      ).rectangle(
        showing: box, of: size, in: picture.picture.size)
    {
      framed = picture.framed(place)
    }
    let thumbnail = try await framed.jpeg(
      quality: Self.thumbnailQuality, maxBytes: Self.thumbnailBytes, fitting: Self.thumbnail)
    let lease = try registry.budget.reserve(whole.bytes.count + thumbnail.bytes.count)
    return EventPicture(
      event: event.number, bestAt: event.bestAt, grant: grant, whole: whole, framed: thumbnail, lease: lease)
  }

  /// The best frame of the event if the replay buffer has it, else the current frame.
  private func moment(_ event: MotionEvent, _ view: ServedPreview) async throws -> CapturedFrame {
    var request = SnapshotRequest(
      .newest(maxAge: Self.latest), fallback: .placeholder, timeout: registry.timeouts.snapshot)
    request.isCropped = view.served.view.isCropped
    guard let source = view.source, registry.session[source]?.bufferedTimes != nil else {
      return try await view.preview.moment(request)
    }
    var wanted = request
    // A report from outside arrives late.
    wanted.mode = .at(event.best == nil ? event.bestAt - view.triggerDelay : event.bestAt)
    do { return try await view.preview.moment(wanted) } catch is NotBuffered {
      return try await view.preview.moment(request)
    }
  }
}

extension ViewConfiguration {
  /// The rectangle, in pixels of a picture of the view, that shows a part of the source; nil if the view does
  /// not show it.
  fileprivate func rectangle(showing box: MotionBox, of source: Size, in picture: Size) throws -> Rectangle? {
    let full = try RenderPlanner().size(of: self, in: source)
    let scale = SIMD2(
      Double(picture.width) / Double(full.width), Double(picture.height) / Double(full.height))
    let (size, part) = (SIMD2(Double(source.width), Double(source.height)), box.fractions)
    var (low, high) = (SIMD2<Double>(repeating: .infinity), SIMD2<Double>(repeating: -.infinity))
    // A part of the box may be outside the view, or may not be visible in it, so points all over the box are
    // mapped.
    let points = (0..<Self.steps * Self.steps).map { place -> SIMD2<Double> in
      let step = SIMD2(Double(place % Self.steps), Double(place / Self.steps)) / Double(Self.steps - 1)
      return (SIMD2(part[0], part[1]) + step * SIMD2(part[2], part[3])) * size
    }
    for case let seen? in try picturePoints(of: points, in: source) {
      low = pointwiseMin(low, seen * scale)
      high = pointwiseMax(high, seen * scale)
    }
    guard low.x < high.x, low.y < high.y else { return nil }
    return Rectangle(
      x: Int(low.x), y: Int(low.y), width: Int((high.x - low.x).rounded(.up)),
      height: Int((high.y - low.y).rounded(.up)))
  }

  private static let steps = 17
}
