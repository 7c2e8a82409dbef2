// A source at one moment, held: what is drawn of it, in however many views and calls, is of that one frame.
public import PreviewCore

/// A frame of a source, or what stands in for it; its views are drawn by the session that gave it, whenever they are wanted.
public struct SourceMoment: Sendable {
  /// The source's name.
  public let source: String
  /// The frame's number among its source's; 0 where there never was one.
  public let sequence: Int
  /// When the frame was captured, by `CaptureClock`; of what stands in for it, when that was asked for.
  public let timestamp: Duration
  /// When that was.
  public let time: WallTime
  /// How the source was: `.live` where the frame is what it shows.
  public let sourceState: SourceState
  /// Why the source gives nothing, for people; nil where it does.
  public let reason: String?
  /// The source's size, upright, in whose pixels crops are; nil where there never was a frame.
  public var size: Size? { feed.drawing.reference ?? frame?.format.uprightSize }
  /// Whether a fallback is drawn in its place.
  public var isFallback: Bool { fallback != nil }

  let frame: Frame?
  let fallback: FallbackState?
  let feed: SourceFeed

  /// What a feed shows.
  ///
  /// - Throws: `SourceError` where it gives nothing and that is to be an error.
  init(_ event: FeedEvent, of feed: SourceFeed, _ policy: SnapshotFallback) throws {
    self.feed = feed
    frame = event.frame
    source = feed.source.name
    sequence = max(event.key.sequence, 0)
    sourceState = event.fallback?.reason.sourceState ?? .live
    reason = event.fallback.map { $0.text.isEmpty ? "is \($0.reason.rawValue)" : $0.text }
    switch policy {
    case .error:
      if let reason { throw SourceError(.unavailable, path: source, reason: reason) }
      fallback = nil
    case .placeholder: fallback = event.fallback
    case .lastFrame: fallback = event.frame == nil ? event.fallback : nil
    }
    guard fallback != nil || frame != nil else { throw SnapshotError("source '\(source)' has no frame") }
    timestamp = fallback == nil ? event.frame?.timestamp ?? CaptureClock.now : CaptureClock.now
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
    switch request.mode {
    case .newest(let maximumAge): try await feed.frame(capturedAt: CaptureClock.now - maximumAge)
    case .next: try await feed.frame(capturedAt: CaptureClock.now)
    case .still(let settling): try await feed.still(settling: settling, within: request.timeout)
    }
  }

  /// Previews of the moment's source as they show it; what was drawn already is not drawn again.
  func draw(_ previews: [Preview], at moment: SourceMoment, as format: PictureFormat) async throws
    -> [PreviewFrame]
  {
    var frames: [PreviewFrame?] = []
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
    -> [PreviewFrame]
  {
    guard !views.isEmpty else { return [] }
    let drawing = moment.feed.drawing
    if let fallback = moment.fallback {
      var frames: [PreviewFrame] = []
      for view in views {
        let picture = try await drawing.draw(view, format, moment.frame, fallback, of: moment.feed.source)
        frames.append(moment.frame(picture, of: view.name))
      }
      return frames
    }
    guard let frame = moment.frame else { return [] }
    return zip(views, try await drawing.draw(views, frame, as: format)).map { view, picture in
      moment.frame(picture, of: view.name)
    }
  }
}

extension SourceMoment {
  /// What was drawn of this frame for a preview that is as it was then.
  fileprivate func drawn(_ preview: Preview, _ format: PictureFormat) -> PreviewFrame? {
    guard fallback == nil, let newest = preview.newest(format), newest.key.sequence == sequence,
      newest.frame.timestamp == timestamp, newest.frame.fallback == nil
    else { return nil }
    return newest.frame
  }

  fileprivate func frame(_ picture: Picture, of name: String) -> PreviewFrame {
    PreviewFrame(
      preview: name, sequence: sequence, timestamp: timestamp, picture: picture, fallback: fallback?.reason,
      iccProfile: fallback == nil ? frame?.iccProfile : nil)
  }
}
