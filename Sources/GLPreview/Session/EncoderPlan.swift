// Decides what a video does with each picture of its preview; `VideoFeed` carries it out.

/// A value without an encoder, a lock or a clock.
struct EncoderPlan {
  enum Step: Hashable {
    /// Sends the originals that arrived before the camera was lost.
    case flush
    /// Discards unread samples. `batched` includes those of batched watchers.
    case discard(batched: Bool)
    /// Notifies batched watchers that the camera shows nothing.
    case loseSource
    /// Closes the encoder, because originals follow.
    case rest
    /// Sends the originals up to this picture.
    case passOn
    /// Encodes the picture; a keyframe after originals, and whenever one is due.
    case encode(keyframe: Bool, time: CaptureInstant)
    /// Discards the picture.
    case drop
  }

  /// After this long without a new picture, the current one is encoded again.
  let repeats: Duration
  private var last: PictureKey?
  private var sourceState = SourceState.live
  /// Whether the last picture was an original.
  private var passes = false
  /// When the last picture was encoded; nil unless it is to be repeated.
  var encodedAt: CaptureInstant?

  init(repeats: Duration) { self.repeats = repeats }

  /// The steps for the next picture, in order. `isBatched` means that all watchers are.
  mutating func steps(for picture: PreviewPicture, isBatched: Bool, at now: CaptureInstant) -> [Step] {
    let (isLive, isOtherView) = (picture.sourceState == .live, last?.version != picture.key.version)
    let isHidden = picture.sourceState == .off || isOtherView
    var steps: [Step] = []
    if !isLive, !isHidden, passes { steps.append(.flush) }
    // Samples from before a change of the view, or before the camera was switched off, are not shown after
    // it.
    if last != nil && isOtherView || picture.sourceState != sourceState {
      steps.append(.discard(batched: isHidden))
    }
    if !isLive { steps.append(.loseSource) }
    encodedAt = nil
    if picture.video != nil {
      steps += passes ? [.passOn] : [.rest, .passOn]
    } else if !isLive, isBatched {
      steps.append(.drop)
    } else {
      let time = picture.key == last ? now : max(picture.timestamp, now - repeats)
      steps.append(.encode(keyframe: passes, time: time))
      encodedAt = now
    }
    (last, sourceState, passes) = (picture.key, picture.sourceState, picture.video != nil)
    return steps
  }
}
