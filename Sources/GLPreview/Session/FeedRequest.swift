// A request to a source's feed, and what a feed has to give.
internal import PreviewCore

/// What a source shows at a moment.
struct FeedEvent: Sendable {
  /// The newest frame; nil where there was none yet.
  let frame: Frame?
  /// What stands in for it; nil where the frame is what is seen.
  let outage: Outage?
  let key: FeedKey
  /// Whether nothing will follow.
  let isLast: Bool
}

/// Which moment of a feed it is.
struct FeedKey: Sendable, Hashable {
  /// Of the newest frame; -1 before the first.
  var sequence: Int
  /// Counts what stood in for the source; 0 where the frame itself is seen.
  var outage: Int
}

/// Somebody who waits.
struct FeedRequest {
  let subject: Subject
  private let continuation: CheckedContinuation<Answer?, any Error>

  /// What for.
  enum Subject: Sendable {
    /// A picture that shows something else than `after` does.
    case picture(Preview, PictureFormat, after: PictureKey?)
    /// Something else than at `after`; where `isOver`, that may never come.
    case event(after: FeedKey?, isOver: Bool)
    /// A frame that was captured at a time or later, or what stands in for it; with crops to be drawn of it, or without.
    case frame(capturedAt: Duration, isCropped: Bool)
  }

  /// What comes of it.
  enum Answer: Sendable {
    case picture(RenderedPicture)
    case event(FeedEvent)
  }

  init(_ subject: Subject, _ continuation: CheckedContinuation<Answer?, any Error>) {
    self.subject = subject
    self.continuation = continuation
  }

  func answer(_ result: Result<Answer?, any Error>) { continuation.resume(with: result) }

  /// Whether what a feed shows at `key` is what is wanted.
  func isMet(by key: FeedKey, timestamp: Duration?) -> Bool {
    let isAnything = key.outage > 0 || timestamp != nil
    switch subject {
    case .picture(let preview, _, let last):
      guard isAnything, let last else { return isAnything }
      if last.version != preview.current.version { return true }
      return key.outage > 0 ? last.outage != key.outage : key.sequence > last.sequence
    case .event(let last, _):
      guard isAnything, let last else { return isAnything }
      return key.outage > 0 ? last.outage != key.outage : key.sequence > last.sequence
    case .frame(let time, _):
      return key.outage > 0 || timestamp.map { $0 >= time } ?? false
    }
  }

  /// Whether a part of the frame is wanted that is said in pixels of the source's reference size.
  var isCropped: Bool {
    switch subject {
    case .picture(let preview, _, _): preview.current.configuration.view?.crop != nil
    case .frame(_, let isCropped): isCropped
    case .event: false
    }
  }

  /// Whether its preview was removed.
  var isObsolete: Bool {
    if case .picture(let preview, _, _) = subject { preview.current.isRemoved } else { false }
  }

  /// Whether its preview gives no pictures for the time being.
  var isDisabled: Bool {
    if case .picture(let preview, _, _) = subject { !preview.isEnabled } else { false }
  }

  /// Whether it knows that the source has given its last frame.
  var hasSeenAll: Bool { if case .event(_, isOver: true) = subject { true } else { false } }

  /// Whether it is told what the source shows.
  var isForEvents: Bool { if case .event = subject { true } else { false } }

  /// Whether a frame will do that is not known to be the newest.
  var isForFrame: Bool { if case .frame = subject { true } else { false } }
}
