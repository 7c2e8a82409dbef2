// The unread samples of each watcher of a video, and when a watcher is too slow.

/// The limits of a video.
struct VideoTimes: Sendable {
  /// How long the encoder stays open without a watcher.
  var linger = Duration.seconds(5)
  /// The minimum time between two requested keyframes: for watchers that join (`joining`), and for slow ones
  /// (`dropping`).
  var joining = Duration.milliseconds(300)
  var dropping = Duration.seconds(1)
  /// How much a watcher may leave unread.
  var unread = Duration.milliseconds(500)
  var unreadBytes = 8_000_000
  /// How much a batched watcher may leave unread.
  var batchedUnread = Duration.seconds(5)
  var batchedUnreadBytes = 64_000_000
  /// How long after the last picture it is repeated, if no new one comes.
  var repeats = Duration.seconds(1)
  /// Lowers and raises the bit rate that the watchers share.
  var control = BitrateControl()
}

/// A watcher's samples.
struct VideoWatcher {
  var unread: [VideoSample] = []
  /// How many of them were buffered already: they came at once, and may be read late.
  var past = 0
  var needsKey = true
  /// Whether the keyframe that it needs was requested. A watcher that lost pictures requests it with its next
  /// read, so that a watcher that never reads again costs the other watchers nothing.
  var isKeyRequested = true
  /// How many clients it reads for.
  var clients = 1
  /// Whether it reads in batches: all unread samples about twice a second, and only pictures of the camera,
  /// no fallbacks.
  var readsInBatches = false
  /// Whether a batched watcher waits for pictures.
  var isWaiting = false
  /// Whether it is to be notified, after the unread samples, that the camera shows nothing.
  var hasLostSource = false

  /// Whether it needs no further picture yet.
  var needsNoPicture: Bool { readsInBatches && (!isWaiting || !unread.isEmpty) }

  /// Discards the unread samples. Returns how many.
  @discardableResult
  mutating func lose() -> Int {
    defer { (unread, past, needsKey, isKeyRequested) = ([], 0, true, false) }
    return unread.count
  }

  /// Begins with the last keyframe of some samples; without one, it goes on waiting.
  mutating func begin(_ samples: [VideoSample]) {
    guard let key = samples.lastIndex(where: \.isKey) else { return }
    // A batched watcher keeps its unread samples: only the camera was unavailable for a moment.
    unread = (readsInBatches ? unread : []) + samples[key...]
    (needsKey, isKeyRequested, hasLostSource) = (false, true, false)
    past = unread.count - 1
  }

  /// Adds new samples. Returns how many it loses, and whether because it is too slow.
  mutating func take(_ samples: [VideoSample], _ times: VideoTimes) -> (count: Int, isTooSlow: Bool) {
    var (dropped, isTooSlow) = (0, false)
    if let first = unread.dropFirst(past).first, let newest = samples.last {
      let bytes = (unread.dropFirst(past) + samples).reduce(0) { $0 + $1.bytes.count }
      isTooSlow =
        newest.timestamp - first.timestamp > (readsInBatches ? times.batchedUnread : times.unread)
        || bytes > (readsInBatches ? times.batchedUnreadBytes : times.unreadBytes)
      if isTooSlow { dropped = lose() }
    }
    guard needsKey else {
      unread += samples
      return (dropped, isTooSlow)
    }
    if !isKeyRequested { dropped += samples.prefix { !$0.isKey }.count }
    begin(samples)
    return (dropped, isTooSlow)
  }

  /// Records that the camera shows nothing: later samples begin with a keyframe.
  mutating func sourceLost() {
    guard readsInBatches, !needsKey || !unread.isEmpty else { return }
    (needsKey, isKeyRequested, hasLostSource) = (true, true, true)
  }

  /// Returns all unread samples of a batched watcher, or none where the camera shows nothing any more; nil if
  /// it waits.
  mutating func readAll(isShown: Bool) -> [VideoSample]? {
    if !isShown { lose() }
    guard !unread.isEmpty || hasLostSource else { return nil }
    defer {
      hasLostSource = hasLostSource && !unread.isEmpty
      (unread, past, isWaiting) = ([], 0, false)
    }
    return unread
  }

  mutating func read(isShown: @autoclosure () -> Bool) -> VideoSample? {
    if !unread.isEmpty, !isShown() { lose() }
    guard !unread.isEmpty else { return nil }
    past = max(past - 1, 0)
    return unread.removeFirst()
  }
}
