// The requests that wait for a source, and what the source shows. Decides which requests are satisfied, and
// by what.

/// A value without I/O or a clock. `SourceFeed` reads, decodes and draws.
struct RequestBoard {
  /// The newest picture of a camera, if it can be passed through.
  struct Original: Sendable {
    let picture: CameraPicture
    /// Whether `latest` shows this picture, or the picture can't be shown.
    var isDecoded = false
    var isCounted = false
    /// Whether H.264 may be passed through.
    var passesVideo = true
  }

  private(set) var requests: [Int: FeedRequest] = [:]
  private var lastID = 0
  /// The newest decoded frame.
  private(set) var latest: Frame?
  /// The newest picture, if it can be passed through; `latest` shows this picture or an older one.
  private(set) var original: Original?
  /// The current outage; nil if there is none.
  private(set) var outage: Outage?
  private var outageCount = 0
  /// Whether the open source has given its last frame.
  var isEnded = false
  /// H.264 whose keyframe was captured at this time or later may be passed through. An outage and a closing
  /// set it to the current time.
  private var passesVideoSince = CaptureInstant.start
  /// Whether crops must wait because the camera is to be switched from this size to its reference size.
  private let isSwitching: @Sendable (Size) -> Bool

  init(isSwitching: @escaping @Sendable (Size) -> Bool = { _ in false }) { self.isSwitching = isSwitching }

  // MARK: What the source shows

  /// The current state, as far as it is decoded.
  var event: FeedEvent { FeedEvent(frame: latest, outage: outage, key: key, isLast: isEnded) }

  private var key: FeedKey {
    FeedKey(sequence: latest?.sequence ?? -1, outage: outage == nil ? 0 : outageCount)
  }

  /// The newest picture, if it is not decoded yet.
  var undecoded: CameraPicture? { original.flatMap { $0.isDecoded ? nil : $0.picture } }

  mutating func show(_ picture: CameraPicture) {
    original = Original(picture: picture)
    switch picture.content {
    case .samples(let frame): (latest, original) = (frame.with(sequence: picture.sequence), nil)
    case .h264(let place): original?.passesVideo = place.keyTime >= passesVideoSince
    case .jpeg: break
    }
  }

  /// Shows an outage; nil shows the frames again. Returns whether another outage began.
  mutating func show(_ outage: Outage?, at now: CaptureInstant) -> Bool {
    guard outage != self.outage else { return false }
    self.outage = outage
    guard outage != nil else { return false }
    endVideo(at: now)
    outageCount += 1
    return true
  }

  /// Stops passing through the H.264 that was captured until now.
  mutating func endVideo(at now: CaptureInstant) {
    original?.passesVideo = false
    passesVideoSince = now
  }

  /// Discards all pictures received so far.
  mutating func forget() { (latest, original) = (nil, nil) }

  /// Discards a frame that is older than the newest picture, so that no reader gets it.
  mutating func forgetOlder() { if undecoded != nil { latest = nil } }

  /// Records that the picture of number `sequence` was decoded to `frame`, or can't be shown (nil). Returns
  /// whether the frame is shown.
  mutating func decoded(_ sequence: Int, to frame: Frame?) -> Bool {
    if original?.picture.sequence == sequence { original?.isDecoded = true }
    guard let frame, sequence > latest?.sequence ?? -1 else { return false }
    latest = frame
    return true
  }

  // MARK: Requests

  mutating func add(_ request: FeedRequest) -> Int {
    lastID += 1
    requests[lastID] = request
    return lastID
  }

  /// Removes a request. Returns whether it was there.
  mutating func remove(_ id: Int) -> Bool { requests.removeValue(forKey: id) != nil }

  /// Whether a request waits for a frame that may come.
  var isWanted: Bool { requests.values.contains { !(isEnded && ($0.hasSeenAll || $0.waitsForMove)) } }

  /// Whether the current state, as far as it is decoded, satisfies a request.
  func isMet(_ request: FeedRequest) -> Bool {
    let timestamp = isNew(key.sequence, for: request) ? latest?.timestamp : nil
    guard request.isMet(by: key, timestamp: timestamp, isLast: isEnded) else { return false }
    guard outage == nil, let latest else { return true }
    return !isSwitching(request, latest.format.uprightSize)
  }

  /// Whether the newest picture, passed through or decoded, satisfies a request.
  func isMetByOriginal(_ request: FeedRequest) -> Bool {
    answer(to: request) != nil || waitsForDecoding(request)
  }

  /// Whether a request needs the samples of the newest picture, which is not decoded yet. An outage is drawn
  /// over them.
  func waitsForDecoding(_ request: FeedRequest) -> Bool {
    guard let picture = undecoded else { return false }
    guard outage == nil else { return request.isMet(by: key, timestamp: nil, isLast: isEnded) }
    return isNew(picture.sequence, for: request)
      && request.isMet(
        by: FeedKey(sequence: picture.sequence, outage: 0), timestamp: picture.timestamp, isLast: isEnded)
      && !isSwitching(request, picture.size)
  }

  /// Whether a frame is new enough for a request. The last one is for all.
  private func isNew(_ sequence: Int, for request: FeedRequest) -> Bool {
    isEnded || sequence >= request.earliest
  }

  private func isSwitching(_ request: FeedRequest, _ size: Size) -> Bool {
    request.isCropped && isSwitching(size)
  }

  // MARK: Answers

  /// Removes and returns requests, in the order in which they came.
  mutating func take(where isTaken: (FeedRequest, RequestBoard) -> Bool) -> [FeedRequest] {
    requests.filter { isTaken($0.value, self) }.keys.sorted().compactMap { requests.removeValue(forKey: $0) }
  }

  /// Removes the requests that only a further frame would satisfy, with their answers. Readers of pictures
  /// get nil, unless their view moves; scenes and snapshots get the last frame.
  mutating func takeLast() -> [(request: FeedRequest, answer: FeedRequest.Answer?)] {
    let last = FeedEvent(frame: latest, outage: outage, key: key, isLast: true)
    return take { !$1.isMet($0) && !$0.hasSeenAll && !$0.waitsForMove }.map {
      ($0, $0.isForEvents || $0.isForFrame && latest != nil ? .event(last) : nil)
    }
  }

  /// Removes the requests that accept the newest picture passed through, with their answers.
  mutating func takeOriginals() -> [(request: FeedRequest, answer: FeedRequest.Answer)] {
    guard original != nil, outage == nil else { return [] }
    let taken = requests.compactMap { id, request in answer(to: request).map { (id, request, $0) } }
    for (id, _, _) in taken { requests[id] = nil }
    return taken.map { ($1, $2) }
  }

  /// Returns whether the newest picture is a JPEG that is passed through for the first time, and marks it as
  /// counted.
  mutating func countsOriginal() -> Bool {
    guard original?.isCounted == false, case .jpeg = original?.picture.content else { return false }
    original?.isCounted = true
    return true
  }

  /// Returns the answer to a request that accepts the newest picture passed through; nil if it does not, or
  /// has seen it.
  private func answer(to request: FeedRequest) -> FeedRequest.Answer? {
    guard outage == nil, let original, isNew(original.picture.sequence, for: request) else { return nil }
    let picture = original.picture
    switch request.subject {
    case .picture(let preview, let form, after: let last, passes: true):
      // The decision and the picture's key must be of one version of the view, whatever changes meanwhile.
      let (configuration, version, isRemoved) = preview.current
      let isNew = last.map { $0.version != version || $0.sequence < picture.sequence } ?? true
      guard isNew, !isRemoved, configuration.isEnabled else { return nil }
      switch picture.content {
      // Videos take H.264, all others JPEGs.
      case .jpeg where form.format != .video && configuration.view?.isWhole == true: break
      case .h264(let place)
      where original.passesVideo && form.format == .video && preview.passesVideo(since: place.keyTime):
        break
      default: return nil
      }
      return .picture(.original(picture, version: version))
    case .frame(capturedAt: let time, _, passes: true) where picture.timestamp >= time && picture.jpeg != nil:
      return .event(FeedEvent(picture, isLast: isEnded))
    default: return nil
    }
  }
}
