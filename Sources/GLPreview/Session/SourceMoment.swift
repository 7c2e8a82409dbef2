// A source at one moment, held: what is drawn of it, in however many views and calls, is of that one frame.
package import PreviewCore

/// A frame of a source, or what stands in for it; its views are drawn by the session that gave it, whenever they are wanted.
package struct SourceMoment: Sendable {
  /// The source's name.
  package let source: String
  /// The frame's number among its source's; 0 where there never was one.
  package let sequence: Int
  /// When the frame was captured, by `CaptureClock`; of what stands in for it, when that was asked for.
  package let timestamp: Duration
  /// When that was.
  package let time: WallTime
  /// How the source was: `.live` where the frame is what it shows.
  package let sourceState: SourceState
  /// Why the source gives nothing, for people; nil where it does.
  package let reason: String?
  /// The source's reference size, upright, in whose pixels crops are; nil where there never was a frame.
  package var size: Size? { feed.drawing.reference ?? frame?.format.uprightSize }
  /// Whether a fallback is drawn in its place.
  package var isFallback: Bool { outage != nil }

  /// The frame's own size, upright; it differs from `size` where a camera is in a smaller mode, or a stream has changed.
  package var frameSize: Size? { frame?.format.uprightSize }

  let frame: Frame?
  let outage: Outage?
  let feed: SourceFeed
  let policy: FallbackPolicy

  /// What a feed shows.
  ///
  /// - Throws: `SourceError` where it gives nothing and that is to be an error.
  init(_ event: FeedEvent, of feed: SourceFeed, _ policy: FallbackPolicy) throws {
    self.feed = feed
    self.policy = policy
    frame = event.frame
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
    guard outage != nil || frame != nil else { throw SnapshotError("source '\(source)' has no frame") }
    timestamp = outage == nil ? event.frame?.timestamp ?? CaptureClock.now : CaptureClock.now
    time = WallTime(capturedAt: timestamp)
  }
}

extension SessionCore {
  /// A source at the moment that a request asks for.
  func moment(of source: String, _ request: SnapshotRequest) async throws -> SourceMoment {
    guard !isClosed else { throw SnapshotError("the session is closed") }
    guard let feed = feed(source) else { throw SnapshotError("there is no source '\(source)'") }
    let event = try await withTimeout(request.timeout, source) { () -> FeedEvent in
      guard let event = try await self.event(of: feed, request) else {
        guard !self.isClosed else { throw SnapshotError("the session is closed") }
        throw SourceError(.unavailable, path: source, reason: "gives no more frames")
      }
      return event
    }
    return try SourceMoment(event, of: feed, request.fallback)
  }

  private func event(of feed: SourceFeed, _ request: SnapshotRequest) async throws -> FeedEvent? {
    let isCropped = request.isCropped
    return switch request.mode {
    case .newest(let maximumAge):
      try await feed.frame(capturedAt: CaptureClock.now - maximumAge, isCropped: isCropped)
    case .next: try await feed.frame(capturedAt: CaptureClock.now, isCropped: isCropped)
    case .still(let settling):
      try await feed.still(settling: settling, within: request.timeout, isCropped: isCropped)
    }
  }

  /// Previews of the moment's source as they show it; what was drawn already is not drawn again.
  func draw(_ previews: [Preview], at moment: SourceMoment, as format: PictureFormat) async throws
    -> [RenderedPicture]
  {
    var frames: [RenderedPicture?] = []
    var missing: [ViewConfiguration] = []
    for preview in previews {
      guard preview.sourceName == moment.source else {
        throw SessionError("preview '\(preview.name)' is none of '\(moment.source)'")
      }
      if let drawn = moment.drawn(preview, format) {
        frames.append(drawn)
      } else {
        missing.append(try preview.view(of: preview.configuration))
        frames.append(nil)
      }
    }
    var drawn = try await draw(missing, at: moment, as: format)[...]
    return frames.compactMap { $0 ?? drawn.popFirst() }
  }

  /// Views of the moment, by name.
  func draw(_ views: [ViewConfiguration], at moment: SourceMoment, as format: PictureFormat) async throws
    -> [RenderedPicture]
  {
    guard !views.isEmpty else { return [] }
    let drawing = moment.feed.drawing
    if let outage = moment.outage {
      var frames: [RenderedPicture] = []
      for view in views {
        let picture = try await drawing.draw(view, format, moment.frame, outage, of: moment.feed.source)
        frames.append(moment.frame(picture, of: view.name))
      }
      return frames
    }
    guard let frame = moment.frame else { return [] }
    let misfits = views.map { drawing.plans.misfit($0, frame.format) }
    if moment.policy == .error, let misfit = misfits.compactMap(\.self).first {
      throw SourceError(.unavailable, path: moment.source, reason: misfit.reason)
    }
    let fitting = zip(views, misfits).filter { $1 == nil }.map(\.0)
    var drawn = fitting.isEmpty ? [] : try await drawing.draw(fitting, frame, as: format)[...]
    var frames: [RenderedPicture] = []
    for (view, misfit) in zip(views, misfits) {
      if let misfit {
        let outage = misfit.outage(since: moment.timestamp)
        let picture = try await drawing.draw(view, format, nil, outage, of: moment.feed.source)
        frames.append(moment.frame(picture, of: view.name, insteadOf: outage.state))
      } else if let picture = drawn.popFirst() {
        frames.append(moment.frame(picture, of: view.name))
      }
    }
    return frames
  }
}

extension SourceMoment {
  /// What was drawn of this frame for a preview that is as it was then.
  fileprivate func drawn(_ preview: Preview, _ format: PictureFormat) -> RenderedPicture? {
    guard outage == nil, let newest = preview.newest(format), newest.sequence == sequence,
      newest.timestamp == timestamp, newest.sourceState == .live
    else { return nil }
    return newest
  }

  /// `misfit` is set where the picture is not one of the frame.
  fileprivate func frame(_ picture: Picture, of name: String, insteadOf misfit: SourceState? = nil)
    -> RenderedPicture
  {
    let state = outage?.state ?? misfit ?? .live
    return RenderedPicture(
      name: name, picture: picture, PictureKey(sequence: sequence), timestamp: timestamp, sourceState: state,
      iccProfile: state == .live ? frame?.iccProfile : nil, onEncode: feed.drawing.onEncode)
  }
}
