// One stream for any number of clients: each picture is drawn and encoded once and passed to every
// connection.
internal import Logging
internal import NIOCore
internal import Synchronization

/// Reads a preview while there are clients, and passes each JPEG to all of them.
final class StreamHub: Sendable {
  let preview: Preview
  /// The grant to show the view.
  private let grant: Grant<ViewRight>
  /// Returns the view's quality; nil if the camera's original JPEGs may be passed through.
  private let quality: @Sendable () -> Int?
  /// Whether a client has requested a quality, so that the camera's original JPEGs are not passed through.
  private let isEncoded = Atomic(false)
  private let metrics: ServiceMetrics
  private let logger: Logger
  /// The permit of a stream with limited admission.
  private let permit: AdmissionPermit?
  private let budget: MemoryBudget
  private let state = Watched(State())
  /// Called when the last client has left.
  private let onEnd: (@Sendable () -> Void)?

  private struct State {
    var newest: StreamPart?
    /// The subject that `newest` shows.
    var subject: PreviewSubject?
    /// The time when `newest` arrived from another node; nil for this node's pictures, and for a placeholder.
    var arrivedAt: CaptureInstant?
    /// The time when `newest` was last sent.
    var publishedAt = CaptureInstant.start
    var failure: (any Error)?
    var loops: [ObjectIdentifier: LoopWatchers] = [:]
    /// The minimum time between pictures, by client.
    var intervals: [Int: Duration] = [:]
    var subscriptions: [Int: WeakSubscription] = [:]
    var nextID = 0
    /// Reads the preview, and repeats the last picture; only while there are clients.
    var pump: Task<Void, Never>?
    var rate = RateMeter()
    var hasNewClient = false
    var isOver = false
  }

  /// If no newer picture arrives for this long, the last one is sent again, so that nothing on the path times
  /// out.
  private static let repeatsAfter = Duration.seconds(1)
  /// The largest age of a new client's first picture, while a newer one is expected within `freshWithin`.
  private static let freshFor = Duration.seconds(1)
  private static let freshWithin = Duration.milliseconds(200)
  /// The delay before a failure is retried.
  private static let retriesAfter = Duration.seconds(1)
  /// The longest delay until the pace follows a new client with a higher rate.
  private static let paceStep = Duration.milliseconds(100)

  init(
    _ grant: Grant<ViewRight>, _ preview: Preview, quality: @escaping @Sendable () -> Int?,
    counting metrics: ServiceMetrics, logger: Logger, holding permit: AdmissionPermit?,
    within budget: MemoryBudget, onEnd: (@Sendable () -> Void)?
  ) {
    self.grant = grant
    self.permit = permit
    self.budget = budget
    self.preview = preview
    self.quality = quality
    self.metrics = metrics
    self.logger = logger
    self.onEnd = onEnd
  }

  deinit { onEnd?() }

  /// The view at the time of its lookup.
  private var target: ServedPreview { grant.subject.target }
  var camera: String { target.camera }
  var view: String { target.name }

  /// Encodes every picture from now on, because a client has requested the view's quality.
  func encodeAll() { isEncoded.store(true, ordering: .relaxed) }

  // MARK: Clients

  /// Adds a client until it releases the subscription; nil if the hub has ended. Zero means every picture.
  func join(every interval: Duration) -> StreamSubscription? {
    let id = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.nextID += 1
      state.intervals[state.nextID] = interval
      state.hasNewClient = true
      if state.pump == nil {
        (state.newest, state.failure) = (nil, nil)
        state.pump = Task {
          await withDiscardingTaskGroup { group in
            group.addTask { await self.run() }
            group.addTask { await self.repeatStale() }
          }
        }
      }
      return state.nextID
    }
    guard let id else { return nil }
    let subscription = StreamSubscription(self, id)
    state.withLock { $0.subscriptions[id] = WeakSubscription(subscription: subscription) }
    return subscription
  }

  func leave(_ id: Int) {
    let pump = state.withLock { state -> Task<Void, Never>? in
      (state.intervals[id], state.subscriptions[id]) = (nil, nil)
      guard state.intervals.isEmpty else { return nil }
      defer { (state.pump, state.newest) = (nil, nil) }
      return state.pump
    }
    pump?.cancel()
  }

  /// Ends the stream: all clients are disconnected, and no new one can join.
  func end() {
    let (pump, loops) = state.update { state in
      state.isOver = true
      state.failure = StreamEnded()
      defer { (state.pump, state.newest, state.loops) = (nil, nil, [:]) }
      return (state.pump, Array(state.loops.values))
    }
    pump?.cancel()
    for watchers in loops { watchers.end() }
  }

  var subscriptions: [StreamSubscription] {
    state.withLock { $0.subscriptions.values.compactMap(\.subscription) }
  }

  var clientCount: Int { state.withLock { $0.intervals.count } }

  /// The current frame rate in pictures per second; 0 without clients.
  var framesPerSecond: Double {
    state.withLock { $0.pump == nil ? 0 : $0.rate.perSecond(at: CaptureClock.now) }
  }

  var newest: StreamPart? { state.withLock { shown($0) } }

  /// Returns the newest picture, unless it was made before the view changed, or before another node's stream
  /// ended: it may show parts that are hidden now.
  private func shown(_ state: State) -> StreamPart? { state.subject == preview.subject ? state.newest : nil }

  /// Returns the newest picture for a client that joined at `start`. A picture of another node must have
  /// arrived later: that node may since have hidden parts of an older one.
  private func shown(_ state: State, since start: CaptureInstant) -> StreamPart? {
    state.arrivedAt.map { $0 >= start } ?? true ? shown(state) : nil
  }

  /// Returns the first picture of a client that joined at `start`; nil if there is none yet.
  func newest(since start: CaptureInstant) -> StreamPart? { state.withLock { shown($0, since: start) } }

  /// Waits for the newest picture for a client that has just joined.
  ///
  /// - Throws: the errors of drawing it; `StreamTimeout` after `limit`; `StreamEnded`.
  func firstPart(since joined: CaptureInstant, within limit: Duration) async throws -> StreamPart {
    let start = CaptureClock.now
    let fresh = try await state.first(until: start + min(limit, Self.freshWithin)) { state in
      if let newest = shown(state, since: joined), newest.timestamp >= start - Self.freshFor { return newest }
      if let failure = state.failure { throw failure }
      return nil
    }
    if let fresh { return fresh }
    // An older picture is better than none.
    let newest = try await state.first(until: start + limit) { state in
      if let newest = shown(state, since: joined) { return newest }
      if let failure = state.failure { throw failure }
      return nil
    }
    guard let newest else { throw StreamTimeout() }
    return newest
  }

  /// Waits for a picture other than `last`, or for the first one of a client that joined at `start`. Pictures
  /// in between are skipped.
  ///
  /// - Throws: `StreamEnded`; `CancellationError`.
  func part(after last: StreamPart?, since start: CaptureInstant) async throws -> StreamPart {
    let part = try await state.first { state in
      guard !state.isOver else { throw StreamEnded() }
      return shown(state, since: start).flatMap { part in
        last.map { $0.timestamp == part.timestamp && $0.pose == part.pose } == true ? nil : part
      }
    }
    guard let part else { throw CancellationError() }
    return part
  }

  /// Adds a connection that receives parts; false if the stream has ended. Must be called on its event loop.
  func add(_ watcher: StreamWatcher, on loop: any EventLoop) -> Bool {
    let added = state.withLock { state -> (LoopWatchers, StreamPart?)? in
      guard !state.isOver else { return nil }
      let watchers = state.loops[ObjectIdentifier(loop)] ?? LoopWatchers(loop)
      state.loops[ObjectIdentifier(loop)] = watchers
      return (watchers, shown(state, since: watcher.since))
    }
    guard let (watchers, newest) = added else { return false }
    watchers.add(watcher)
    // The first part is sent at once.
    if let newest, watcher.offer(newest, at: CaptureClock.now) == .sent {
      metrics.countParts(sent: 1, skipped: 0, bytes: newest.bytes.readableBytes)
    }
    return true
  }

  /// Removes a connection. Must be called on its event loop.
  func remove(_ watcher: StreamWatcher, on loop: any EventLoop) {
    state.withLock { $0.loops[ObjectIdentifier(loop)] }?.remove(watcher)
  }

  // MARK: Pictures

  private func run() async {
    var pace = Pace()
    while !Task.isCancelled {
      do {
        var frames = preview.pictures(for: .jpeg).makeAsyncIterator()
        while !Task.isCancelled {
          try await waitUntilDue(pace)
          let passes = quality() == nil && !isEncoded.load(ordering: .relaxed)
          let before = preview.subject
          let encoding = quality() ?? ServedView().encodedQuality
          frames.coding = PictureCoding(quality: encoding)
          guard let picture = try await frames.nextPicture(passes: passes) else { break }
          // A placeholder shows nothing of the earlier connection, so it belongs to the current subject.
          let subject = picture.sourceState == .live ? before : preview.subject
          let now = CaptureClock.now
          pace.took(at: now, every: interval)
          // The quality may have been changed meanwhile.
          let isCoded = picture.isCoded
          let jpeg = try await picture.jpeg(
            quality: isCoded ? encoding : quality() ?? ServedView().encodedQuality)
          let state = picture.sourceState == .live ? target.remoteView?.trouble() : nil
          publish(
            try StreamPart(
              jpeg, picture, camera: camera, view: view, state: state ?? picture.sourceState, budget: budget),
            of: subject.of(picture), isLive: picture.sourceState == .live)
        }
        // A persistent failure is retried, in case something changes.
        try await preview.rest(for: Self.retriesAfter)
      } catch is CancellationError {
        return
      } catch {
        failed(error)
        try? await Task.sleep(for: Self.retriesAfter)
      }
    }
  }

  /// The interval between pictures of the client with the highest rate.
  private var interval: Duration { state.withLock { $0.intervals.values.min() ?? .zero } }

  private func waitUntilDue(_ pace: Pace) async throws {
    while true {
      let wait = pace.wait(at: CaptureClock.now, every: interval)
      guard wait > .zero, !takeNewClient() else { return }
      try await Task.sleep(for: min(wait, Self.paceStep))
    }
  }

  /// Returns whether a client has joined since the last picture. The pace of other clients must not delay its
  /// first picture.
  private func takeNewClient() -> Bool {
    state.withLock { state in
      defer { state.hasNewClient = false }
      return state.hasNewClient
    }
  }

  private func publish(_ part: StreamPart, of subject: PreviewSubject, isLive: Bool) {
    let now = CaptureClock.now
    let loops = state.update { state -> [LoopWatchers] in
      // Discards a picture that was in progress when the stream ended.
      guard !state.isOver else { return [] }
      (state.newest, state.subject) = (part, subject)
      state.arrivedAt = isLive && preview.isOfAnotherNode ? now : nil
      state.failure = nil
      state.publishedAt = now
      state.rate.count(at: now)
      return Array(state.loops.values)
    }
    metrics.measured(.deliver, now - part.timestamp)
    for watchers in loops { watchers.offer(part, metrics) }
  }

  /// Sends the last picture again if no newer one has come for a while.
  private func repeatStale() async {
    while !Task.isCancelled {
      try? await Task.sleep(for: Self.repeatsAfter / 4)
      let now = CaptureClock.now
      let (part, loops) = state.withLock { state -> (StreamPart?, [LoopWatchers]) in
        guard let newest = shown(state), now - state.publishedAt >= Self.repeatsAfter else {
          return (nil, [])
        }
        state.publishedAt = now
        return (newest, Array(state.loops.values))
      }
      if let part { for watchers in loops { watchers.offer(part, metrics) } }
    }
  }

  private func failed(_ error: any Error) {
    let isNew = state.update { state in
      let isNew = state.failure == nil
      guard !state.isOver else { return false }
      state.failure = error
      return isNew
    }
    if isNew {
      logger.warning(
        "stream interrupted",
        metadata: ["camera": "\(camera)", "view": "\(view)", "reason": "\(error)"])
    }
  }
}

struct StreamEnded: Error {}

/// No picture arrived in time.
struct StreamTimeout: Error {}

/// Counts events over the last seconds.
struct RateMeter: Sendable {
  private var times: [CaptureInstant] = []
  private static let window = Duration.seconds(3)

  mutating func count(at time: CaptureInstant) {
    times.append(time)
    if times.count > 512 || times.first.map({ $0 < time - Self.window * 2 }) == true {
      times.removeAll { $0 < time - Self.window }
    }
  }

  /// Returns the rate over the last three seconds; 0 for fewer than two events.
  func perSecond(at now: CaptureInstant) -> Double {
    let recent = times.filter { $0 >= now - Self.window }
    guard let first = recent.first, let last = recent.last, last > first else { return 0 }
    return Double(recent.count - 1) / ((last - first) / .seconds(1))
  }
}
