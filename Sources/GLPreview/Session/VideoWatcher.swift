// What each watcher of a video has not read yet, and when it is too slow.

/// The limits of a video.
struct VideoTimes: Sendable {
  /// How long the encoder stays open without a watcher.
  var linger = Duration.seconds(5)
  /// The least time between two key pictures: for watchers that join (`joining`), and for slow ones (`dropping`).
  var joining = Duration.milliseconds(300)
  var dropping = Duration.seconds(1)
  /// How much a watcher may leave unread.
  var unread = Duration.milliseconds(500)
  var unreadBytes = 8_000_000
  /// The same of a patient one.
  var patientlyUnread = Duration.seconds(5)
  var patientlyUnreadBytes = 64_000_000
  /// When a picture is repeated because nothing new comes.
  var repeats = Duration.seconds(1)
  /// When the bit rate that the watchers share goes down and up.
  var control = BitrateControl()
}

/// A watcher's samples.
struct VideoWatcher {
  var unread: [VideoSample] = []
  /// How many of them are of the past: they came at once, and may be read late.
  var past = 0
  var needsKey = true
  /// Whether the key picture that it needs was requested. A watcher that lost pictures requests it with its next read, so
  /// that a watcher that never reads again costs the others nothing.
  var isPromised = true
  /// How many clients it reads for.
  var clients = 1
  /// Whether it reads all unread samples about twice a second, and takes only pictures of the camera, no stand-ins.
  var isPatient = false
  /// Whether a patient one waits for pictures.
  var isAsking = false
  /// Whether it is to be told, after what is unread, that the camera shows nothing.
  var isAway = false

  /// Whether it is in no need of another picture yet.
  var isContent: Bool { isPatient && (!isAsking || !unread.isEmpty) }

  /// Returns how many it loses.
  @discardableResult
  mutating func lose() -> Int {
    defer { (unread, past, needsKey, isPromised) = ([], 0, true, false) }
    return unread.count
  }

  /// Begins with the last key picture of some samples; without one, it waits.
  mutating func begin(_ samples: [VideoSample]) {
    guard let key = samples.lastIndex(where: \.isKey) else { return }
    // A patient one has lost nothing of what it has not read: the camera was away for a moment.
    unread = (isPatient ? unread : []) + samples[key...]
    (needsKey, isPromised, isAway) = (false, true, false)
    past = unread.count - 1
  }

  /// Adds new samples. Returns how many it loses, and whether because it is too slow.
  mutating func take(_ samples: [VideoSample], _ times: VideoTimes) -> (count: Int, isTooSlow: Bool) {
    var (dropped, isTooSlow) = (0, false)
    if let first = unread.dropFirst(past).first, let newest = samples.last {
      let bytes = (unread.dropFirst(past) + samples).reduce(0) { $0 + $1.bytes.count }
      isTooSlow =
        newest.timestamp - first.timestamp > (isPatient ? times.patientlyUnread : times.unread)
        || bytes > (isPatient ? times.patientlyUnreadBytes : times.unreadBytes)
      if isTooSlow { dropped = lose() }
    }
    guard needsKey else {
      unread += samples
      return (dropped, isTooSlow)
    }
    if !isPromised { dropped += samples.prefix { !$0.isKey }.count }
    begin(samples)
    return (dropped, isTooSlow)
  }

  /// The camera shows nothing: what comes later begins with a key picture.
  mutating func leaveAway() {
    guard isPatient, !needsKey || !unread.isEmpty else { return }
    (needsKey, isPromised, isAway) = (true, true, true)
  }

  /// All that a patient one has not read, or nothing where the camera has gone away; nil if it waits.
  mutating func readAll(isShown: Bool) -> [VideoSample]? {
    if !isShown { lose() }
    guard !unread.isEmpty || isAway else { return nil }
    defer {
      isAway = isAway && !unread.isEmpty
      (unread, past, isAsking) = ([], 0, false)
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
