// Requests to a source's feed, and the feed's answers.

/// The state of a source at one time: its newest frame, or an outage.
struct FeedEvent: Sendable {
  /// The newest frame; nil before the first.
  let frame: Frame?
  /// The camera's own JPEG, instead of a frame, for a request that accepts it.
  var passed: CameraPicture?
  /// The outage that is shown instead; nil if the frame is shown.
  let outage: Outage?
  let key: FeedKey
  /// Whether no other event follows.
  let isLast: Bool
}

extension FeedEvent {
  /// When its frame or JPEG was captured.
  var timestamp: CaptureInstant? { frame?.timestamp ?? passed?.timestamp }

  /// A frame of a source that is live.
  init(_ frame: Frame) {
    self.init(frame: frame, outage: nil, key: FeedKey(sequence: frame.sequence, outage: 0), isLast: false)
  }

  /// The camera's own JPEG.
  init(_ passed: CameraPicture, isLast: Bool = false) {
    self.init(
      frame: nil, passed: passed, outage: nil, key: FeedKey(sequence: passed.sequence, outage: 0),
      isLast: isLast)
  }
}

/// Identifies an event of a feed.
struct FeedKey: Sendable, Hashable {
  /// The sequence of the newest frame; -1 before the first.
  var sequence: Int
  /// Counts the outages; 0 if the frame is shown.
  var outage: Int
}

struct FeedRequest {
  let subject: Subject
  /// The number of the first frame that is new enough. Earlier ones are old: the source has newer ones, or was
  /// closed since.
  var earliest = 0
  let answer = Promise<Answer>()

  enum Subject: Sendable {
    /// A picture that differs from `after`. With `passes`, the camera's own JPEG will do where the view shows
    /// exactly that.
    case picture(Preview, PictureForm, after: PictureKey?, passes: Bool)
    /// An event that differs from `after`. `isOver` means that the requester knows that the source has given
    /// its last frame.
    case event(after: FeedKey?, isOver: Bool)
    /// A frame captured at this time or later, or the outage instead; `isCropped` if crops will be drawn from
    /// it, `passes` if the camera's own JPEG will do.
    case frame(capturedAt: CaptureInstant, isCropped: Bool, passes: Bool)
  }

  enum Answer: Sendable {
    case picture(PreviewPicture)
    case event(FeedEvent)

    var picture: PreviewPicture? { if case .picture(let picture) = self { picture } else { nil } }
    var event: FeedEvent? { if case .event(let event) = self { event } else { nil } }
  }

  /// Whether the feed's state `key` satisfies the request. `isLast` says that no newer frame follows.
  func isMet(by key: FeedKey, timestamp: CaptureInstant?, isLast: Bool) -> Bool {
    let isAnything = key.outage > 0 || timestamp != nil
    switch subject {
    case .picture(let preview, _, let last, _):
      guard isAnything, let last else { return isAnything }
      if last.version != preview.current.version { return true }
      if last.pose != preview.pose(ofFrame: key.outage > 0 || isLast ? nil : timestamp) { return true }
      return key.outage > 0 ? last.outage != key.outage : key.sequence > last.sequence
    case .event(let last, _):
      guard isAnything, let last else { return isAnything }
      return key.outage > 0 ? last.outage != key.outage : key.sequence > last.sequence
    case .frame(let time, _, _):
      return key.outage > 0 || timestamp.map { $0 >= time } ?? false
    }
  }

  /// Whether it needs a crop, which is in pixels of the source's reference size.
  var isCropped: Bool {
    switch subject {
    case .picture(let preview, _, _, _): preview.configuration.isCropped
    case .frame(_, let isCropped, _): isCropped
    case .event: false
    }
  }

  /// The picture that is to be drawn; nil if an event is wanted.
  var picture: PictureRequest? {
    if case .picture(let preview, let form, _, _) = subject {
      PictureRequest(preview: preview, form: form)
    } else {
      nil
    }
  }

  var isObsolete: Bool { picture?.preview.current.isRemoved == true }

  var isDisabled: Bool { picture?.preview.isEnabled == false }

  /// Whether the requester knows that the source has given its last frame.
  var hasSeenAll: Bool { if case .event(_, isOver: true) = subject { true } else { false } }

  /// Whether the same frame will satisfy it, because the view moves.
  var waitsForMove: Bool { picture?.preview.isMoving == true }

  var isForEvents: Bool { if case .event = subject { true } else { false } }

  /// Whether it accepts a frame that may not be the newest.
  var isForFrame: Bool { if case .frame = subject { true } else { false } }
}
