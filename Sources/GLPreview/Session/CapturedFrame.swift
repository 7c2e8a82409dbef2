// A source at one time: everything drawn from it, in any number of views and calls, shows the same frame.

/// A frame of a source, or the outage instead. Its views can be drawn at any time.
package struct CapturedFrame: Sendable {
  /// The source's name.
  package let source: String
  /// The number of the frame in its source; 0 if there was none.
  package let sequence: Int
  /// When the frame was captured; for an outage, when it was requested.
  package let timestamp: CaptureInstant
  /// `timestamp` as wall-clock time.
  package let time: WallTime
  /// The time whose pose moving views have: that of the capture, or the present if no newer frame has replaced the
  /// frame.
  package let poseTime: CaptureInstant
  /// The state of the source; `.live` if it shows the frame.
  package let sourceState: SourceState
  /// Why the source delivers no pictures, for display; nil if it does.
  package let reason: String?
  /// The source's upright reference size, whose pixels crops refer to; nil if there was no frame.
  package var size: Size? { feed.drawing.reference ?? frame?.format.uprightSize }
  /// The capture times of the earliest and the latest picture of the source that is buffered now; nil if
  /// there is none.
  package var replay: ClosedRange<WallTime>? { feed.replay?.span }
  /// Whether a fallback is drawn instead of the frame.
  package var isFallback: Bool { outage != nil }

  /// The frame's own upright size. It differs from `size` if a camera is in a smaller mode, or a stream has
  /// changed.
  package var frameSize: Size? { frame?.format.uprightSize ?? passed?.size }

  /// Returns the view with the source's lens, if it has a projection and no lens of its own.
  package func withLens(_ view: ViewConfiguration) -> ViewConfiguration { feed.drawing.plans.withLens(view) }

  /// The camera's own JPEG, for a request that accepts it. There is no frame then, and nothing can be drawn.
  package let passed: CameraPicture?
  let frame: Frame?
  let outage: Outage?
  let feed: SourceFeed
  let policy: SnapshotRequest.FallbackPolicy

  /// Creates a moment from an event; `isBuffered` if that is from the replay buffer.
  ///
  /// - Throws: `SourceError` if the source delivers no pictures and the policy is `.error`.
  init(
    _ event: FeedEvent, of feed: SourceFeed, _ policy: SnapshotRequest.FallbackPolicy, isBuffered: Bool
  ) throws {
    self.feed = feed
    self.policy = policy
    (frame, passed) = (event.frame, event.passed)
    source = feed.source.name
    sequence = max(event.key.sequence, 0)
    sourceState = event.outage?.state ?? .live
    reason = event.outage.map { $0.reason.isEmpty ? "is \($0.state.rawValue)" : $0.reason }
    switch policy {
    case .error:
      if let reason { throw SourceError(.unavailable, path: source, reason: reason) }
      outage = nil
    case .placeholder: outage = event.outage
    case .lastFrame: outage = event.frame == nil ? event.outage : nil
    }
    guard outage != nil || frame != nil || passed != nil else {
      throw SessionError("source '\(source)' has no frame")
    }
    let now = CaptureClock.now
    timestamp = outage == nil ? event.timestamp ?? now : now
    time = WallTime(capturedAt: timestamp)
    let isCurrent = isBuffered || !event.isLast && now - timestamp <= Preview.freshness
    poseTime = isCurrent ? timestamp : now
  }
}

extension Preview {
  /// Returns the source at the time that a request selects; any view can be drawn from the result. The
  /// previews and the format of `request` are ignored.
  ///
  /// - Throws: `SourceError` if the source delivers nothing in time, or delivers nothing and no placeholder
  ///   is wanted; `SessionError` if the source is closed, or the preview is a scene.
  package func moment(_ request: SnapshotRequest) async throws -> CapturedFrame {
    guard let feed = producer as? SourceFeed else { throw SessionError("preview '\(name)' is a scene") }
    // The camera stays open while it warms up.
    if request.warmup != .none { feed.readerCame(self) }
    defer { if request.warmup != .none { feed.readerWent(self) } }
    var found = try await withDeadline(request.timeout) {
      try await feed.event(for: request, counting: self.gpuTime)
    }
    // A source that is still being opened shows that.
    if found == nil, request.waitsForOpening { found = await feed.openingEvent }
    guard let event = found else { throw SourceError.late(feed.source.name, request.timeout) }
    let moment = try CapturedFrame(
      event, of: feed, request.fallback, isBuffered: request.mode.isBuffered)
    if request.mode.isBuffered, !shows(moment.timestamp) { throw feed.notBuffered(moment.timestamp) }
    return moment
  }
}

extension SourceFeed {
  /// Returns the event that a request selects.
  fileprivate func event(for request: SnapshotRequest, counting gpuTime: GPUTime) async throws -> FeedEvent {
    var (earliest, settling): (CaptureInstant?, Int) = (nil, 0)
    switch request.mode {
    case .at(let time):
      return try await buffered(at: time, isCropped: request.isCropped, passes: request.passes)
    case .sharpest(let times):
      return try await sharpest(
        of: times, isCropped: request.isCropped, passes: request.passes, counting: gpuTime)
    case .newest(let maximumAge): earliest = CaptureClock.now - maximumAge
    case .next: earliest = CaptureClock.now
    case .still(let skipped): settling = skipped
    }
    while true {
      let found =
        if let earliest {
          try await frame(capturedAt: earliest, isCropped: request.isCropped, passes: request.passes)
        } else {
          try await still(settling: settling, isCropped: request.isCropped)
        }
      guard let event = found else {
        guard !isClosed else { throw SessionError("source '\(source.name)' is closed") }
        throw SourceError(.unavailable, path: source.name, reason: "gives no more frames")
      }
      if earliest != nil, event.outage == nil, !event.isLast, let captured = event.timestamp,
        camera.lasts(request.warmup, at: captured)
      {
        earliest = captured + .nanoseconds(1)
        continue
      }
      guard request.waitsForOpening, event.outage?.state == .opening else { return event }
      _ = try await self.event(after: event.key, isOver: false)
    }
  }
}

extension CapturedFrame {
  /// Draws previews of the source at this time, in one pass. Pictures of this frame that the previews have
  /// already, and their JPEGs, are reused.
  ///
  /// - Returns: a picture for each preview, in order.
  /// - Throws: `ParameterError`, `DeviceError`, `RenderError`; `SessionError` for previews of another source.
  package func draw(
    _ previews: [Preview], as format: Picture.Format = .ycbcr(.yuv420), coding: PictureCoding? = nil
  ) async throws -> [RenderedPicture] {
    let form = PictureForm(format, coding: coding)
    var frames: [RenderedPicture?] = []
    var missing: [(ViewConfiguration, GPUTime)] = []
    for preview in previews {
      let view = try preview.view(of: preview.configuration, at: poseTime)
      if let existing = try existing(preview, view, form) {
        frames.append(existing)
      } else {
        missing.append((view, preview.gpuTime))
        frames.append(nil)
      }
    }
    var drawn = try await draw(missing, as: format, coding: coding)[...]
    return frames.compactMap { $0 ?? drawn.popFirst() }
  }

  /// Draws `view` of the source at this time for a preview, or returns the picture that the preview has of it, even
  /// if the preview has been changed or moved to another view meanwhile.
  ///
  /// - Throws: `ParameterError`, `DeviceError`, `RenderError`; `SessionError` for a preview of another source.
  package func draw(
    _ view: ViewConfiguration, for preview: Preview, as format: Picture.Format, coding: PictureCoding?
  ) async throws -> RenderedPicture? {
    if let existing = try existing(preview, view, PictureForm(format, coding: coding)) { return existing }
    return try await draw([(view, preview.gpuTime)], as: format, coding: coding).first
  }

  /// Draws views of the source at this time, in one pass, and counts the GPU's time for each.
  ///
  /// - Returns: a picture for each view, in order.
  /// - Throws: `ParameterError`, `DeviceError`, `RenderError`.
  package func draw(
    _ views: [(ViewConfiguration, GPUTime)], as format: Picture.Format = .ycbcr(.yuv420),
    coding: PictureCoding? = nil
  ) async throws -> [RenderedPicture] {
    let form = PictureForm(format, coding: coding)
    guard !views.isEmpty else { return [] }
    let drawing = feed.drawing
    var frames: [RenderedPicture] = []
    if let outage {
      for (view, gpuTime) in views {
        let picture = try await drawing.draw(view, format, frame, outage, counting: gpuTime)
        frames.append(rendered(picture, of: view.name))
      }
      return frames
    }
    guard let frame else { return [] }
    let misfits = views.map { drawing.plans.misfit($0.0, frame.format) }
    if policy == .error, let misfit = misfits.compactMap(\.self).first {
      throw SourceError(.unavailable, path: source, reason: misfit.reason)
    }
    let fitting = zip(views, misfits).filter { $1 == nil }.map(\.0)
    var drawn = fitting.isEmpty ? [] : try await drawing.draw(fitting, frame, as: form)[...]
    for ((view, gpuTime), misfit) in zip(views, misfits) {
      if let misfit {
        let outage = misfit.outage(since: timestamp)
        let picture = try await drawing.draw(view, format, nil, outage, counting: gpuTime)
        frames.append(rendered(picture, of: view.name, insteadOf: outage.state))
      } else if let picture = drawn.popFirst() {
        frames.append(rendered(picture, of: view.name))
      }
    }
    return frames
  }

  /// The preview's existing picture of this frame, if it shows `view`.
  ///
  /// - Throws: `SessionError` if the preview is of another source, or may not show this frame.
  private func existing(
    _ preview: Preview, _ view: ViewConfiguration, _ form: PictureForm
  ) throws -> RenderedPicture? {
    guard preview.sourceName == source else {
      throw SessionError("preview '\(preview.name)' is not of '\(source)'")
    }
    guard preview.shows(timestamp) else { throw feed.notBuffered(timestamp) }
    guard outage == nil, let newest = preview.newest(form.format, of: view, at: poseTime),
      newest.sequence == sequence, newest.timestamp == timestamp, newest.sourceState == .live,
      form.accepts(newest.picture)
    else { return nil }
    return newest
  }

  /// Returns the picture of a view. `misfit` is set if it does not show the frame.
  private func rendered(_ picture: Picture, of name: String, insteadOf misfit: SourceState? = nil)
    -> RenderedPicture
  {
    let state = outage?.state ?? misfit ?? .live
    return RenderedPicture(
      name: name, picture: picture, PictureKey(sequence: sequence), timestamp: timestamp, sourceState: state,
      iccProfile: state == .live ? frame?.iccProfile : nil, onEncode: feed.drawing.onEncode)
  }
}
