// Steps through the buffered pictures of a clip, and draws them.

/// Steps through the buffered pictures of a clip.
struct ClipCursor: Sendable {
  let clip: Clip
  private let forward = ForwardDecoding()
  /// The number of the last picture that was examined.
  private var last = -1

  init(_ clip: Clip) { self.clip = clip }

  /// The longest wait for a picture before the cursor checks again whether the clip goes on.
  private static let pollInterval = Duration.seconds(1)

  /// Whether all buffered pictures were examined: the next one is still to come.
  var isCaughtUp: Bool { clip.feed.replay?.buffer.hasPicture(after: last, in: clip.times) != true }

  /// Returns the next picture; nil at the end.
  mutating func next() async throws -> ReplayBuffer.Entry? {
    guard let buffer = clip.feed.replay?.buffer else { return nil }
    while clip.isShown {
      let until = min(clip.times.upperBound, CaptureClock.now + Self.pollInterval)
      if let entry = try await buffer.next(after: &last, in: clip.times, until: until) {
        if clip.shows(entry.timestamp) { return clip.isShown ? entry : nil }
      } else if CaptureClock.now >= clip.times.upperBound {
        return nil
      }
    }
    return nil
  }

  /// Draws a picture; nil if it is gone, damaged, or may no longer be shown.
  func draw(_ entry: ReplayBuffer.Entry, as format: Picture.Format) async throws
    -> RenderedPicture?
  {
    let event = try await ForwardDecoding.$current.withValue(forward) {
      try await clip.feed.buffered(entry.sequence, isCropped: clip.view.isCropped)
    }
    guard let event else { return nil }
    let moment = try CapturedFrame(event, of: clip.feed, .placeholder, isBuffered: true)
    let view = clip.posedView(at: moment.poseTime)
    let drawn = try await moment.draw([(view, clip.preview.gpuTime)], as: format).first
    return clip.isShown && clip.shows(entry.timestamp) ? drawn : nil
  }
}
