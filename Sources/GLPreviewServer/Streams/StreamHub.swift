// One stream, however many watch it: each picture is drawn once, encoded once and handed to every connection.
internal import GLPreview
internal import Logging
internal import NIOCore
internal import Synchronization

/// Reads a preview while somebody watches, and gives each JPEG to all who do.
final class StreamHub: Sendable {
  let camera: String
  let view: String
  let preview: Preview
  /// Of its JPEGs; another one holds from the next picture on.
  let quality: Atomic<Int>
  private let counters: StreamCounters
  private let logger: Logger
  /// Of one that not everybody may have.
  private let pass: AdHocPass?
  /// What its pictures count against.
  private let budget: MemoryBudget?
  private let state = Watched(State())
  /// Called when the last one has gone, of a hub that nobody joins again; nil of one that goes on.
  private let onEnd: (@Sendable () -> Void)?

  private struct State {
    var newest: StreamPart?
    /// When `newest` was handed out last.
    var publishedAt = Duration.zero
    var failure: (any Error)?
    var loops: [ObjectIdentifier: LoopWatchers] = [:]
    /// From a picture to the next, by who wants that.
    var intervals: [Int: Duration] = [:]
    var tickets: [Int: WeakTicket] = [:]
    var nextID = 0
    var pump: Task<Void, Never>?
    var repeater: Task<Void, Never>?
    var rate = RateMeter()
    var hasNewcomer = false
    var isOver = false
  }

  /// Nothing newer came for so long: the last picture is sent again, so that nobody on the way gives up.
  private static let repeatsAfter = Duration.seconds(1)
  /// Who comes takes a picture that is no older, if another one is there soon.
  private static let freshFor = Duration.seconds(1)
  private static let freshWithin = Duration.milliseconds(200)
  /// What fails is tried again.
  private static let retriesAfter = Duration.seconds(1)
  /// How soon somebody who wants more pictures has them.
  private static let paceStep = Duration.milliseconds(100)

  init(
    camera: String, view: String, _ preview: Preview, quality: Int, counting counters: StreamCounters,
    logger: Logger, holding pass: AdHocPass? = nil, within budget: MemoryBudget? = nil,
    onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.pass = pass
    self.budget = budget
    self.camera = camera
    self.view = view
    self.preview = preview
    self.quality = Atomic(quality)
    self.counters = counters
    self.logger = logger
    self.onEnd = onEnd
  }

  deinit {
    state.withLock { state in
      state.pump?.cancel()
      state.repeater?.cancel()
    }
  }

  // MARK: Who watches

  /// Somebody watches, for as long as he holds the ticket.
  ///
  /// - Parameter interval: from a picture to the next; zero is every one.
  /// - Returns: the ticket; nil where the hub has come to its end.
  func join(every interval: Duration) -> StreamTicket? {
    let id = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.nextID += 1
      state.intervals[state.nextID] = interval
      state.hasNewcomer = true
      if state.pump == nil {
        (state.newest, state.failure) = (nil, nil)
        state.pump = Task { [weak self] in await self?.run() }
        state.repeater = Task { [weak self] in
          while !Task.isCancelled {
            try? await Task.sleep(for: Self.repeatsAfter / 4)
            self?.repeatIfStale()
          }
        }
      }
      return state.nextID
    }
    guard let id else { return nil }
    let ticket = StreamTicket(self, id)
    state.withLock { $0.tickets[id] = WeakTicket(ticket: ticket) }
    return ticket
  }

  func leave(_ id: Int) {
    let (isEmpty, tasks) = state.withLock { state -> (Bool, [Task<Void, Never>?]) in
      (state.intervals[id], state.tickets[id]) = (nil, nil)
      guard state.intervals.isEmpty else { return (false, []) }
      if onEnd != nil { state.isOver = true }
      defer { (state.pump, state.repeater, state.newest) = (nil, nil, nil) }
      return (true, [state.pump, state.repeater])
    }
    for task in tasks { task?.cancel() }
    if isEmpty { onEnd?() }
  }

  /// What it shows is not to be seen any more: all who watch are sent away, and nobody joins again.
  func end() {
    let (tasks, loops) = state.update { state in
      state.isOver = true
      state.failure = StreamEnded()
      defer {
        (state.pump, state.repeater, state.newest) = (nil, nil, nil)
        state.loops = [:]
      }
      return ([state.pump, state.repeater], Array(state.loops.values))
    }
    for task in tasks { task?.cancel() }
    for watchers in loops { watchers.end() }
  }

  /// Those who watch.
  var tickets: [StreamTicket] { state.withLock { $0.tickets.values.compactMap(\.ticket) } }

  /// How many watch.
  var clientCount: Int { state.withLock { $0.intervals.count } }

  /// Pictures a second, of late; 0 while nobody watches.
  var framesPerSecond: Double {
    state.withLock { $0.pump == nil ? 0 : $0.rate.perSecond(at: CaptureClock.now) }
  }

  /// The newest picture; nil before the first.
  var newest: StreamPart? { state.withLock { $0.newest } }

  /// The newest picture, waited for.
  ///
  /// - Throws: what drawing it throws; `StreamTimeout` after `limit`; `StreamEnded`.
  func firstPart(within limit: Duration) async throws -> StreamPart {
    let start = CaptureClock.now
    let fresh = try await state.first(until: start + min(limit, Self.freshWithin)) { state in
      if let newest = state.newest, newest.timestamp >= start - Self.freshFor { return newest }
      if let failure = state.failure { throw failure }
      return nil
    }
    // An older one is better than none.
    let part =
      try await fresh == nil
      ? state.first(until: start + limit) { state in
        if let newest = state.newest { return newest }
        if let failure = state.failure { throw failure }
        return nil
      } : fresh
    guard let part else { throw StreamTimeout() }
    return part
  }

  /// A connection takes parts from now on; to be called on its event loop.
  ///
  /// - Returns: false where there will be none.
  func add(_ watcher: StreamWatcher, on loop: any EventLoop) -> Bool {
    let added = state.withLock { state -> (LoopWatchers, StreamPart?)? in
      guard !state.isOver else { return nil }
      let watchers = state.loops[ObjectIdentifier(loop)] ?? LoopWatchers(loop)
      state.loops[ObjectIdentifier(loop)] = watchers
      return (watchers, state.newest)
    }
    guard let (watchers, newest) = added else { return false }
    watchers.add(watcher)
    // The first comes at once.
    if let newest, watcher.offer(newest, at: CaptureClock.now) == .sent {
      counters.count(sent: 1, skipped: 0, bytes: newest.bytes.readableBytes)
    }
    return true
  }

  /// It takes none any more; to be called on its event loop.
  func remove(_ watcher: StreamWatcher, on loop: any EventLoop) {
    state.withLock { $0.loops[ObjectIdentifier(loop)] }?.remove(watcher)
  }

  // MARK: Pictures

  private func run() async {
    var pace = StreamPace()
    while !Task.isCancelled {
      do {
        var frames = preview.jpegs().makeAsyncIterator()
        while !Task.isCancelled {
          try await waitUntilDue(pace)
          guard let frame = try await frames.next() else { break }
          let now = CaptureClock.now
          pace.took(at: now, every: interval)
          let jpeg = try await frame.jpeg(quality: quality.load(ordering: .relaxed))
          counters.encoded(in: CaptureClock.now - now)
          publish(try StreamPart(jpeg, frame, camera: camera, view: view, budget: budget))
        }
        // What is at its end stays as it is, unless it is changed.
        try await Task.sleep(for: Self.retriesAfter)
      } catch is CancellationError {
        return
      } catch {
        failed(error)
        try? await Task.sleep(for: Self.retriesAfter)
      }
    }
  }

  /// From a picture to the next, as the fastest wants it.
  private var interval: Duration { state.withLock { $0.intervals.values.min() ?? .zero } }

  private func waitUntilDue(_ pace: StreamPace) async throws {
    while true {
      let wait = pace.wait(at: CaptureClock.now, every: interval)
      guard wait > .zero, !takeNewcomer() else { return }
      try await Task.sleep(for: min(wait, Self.paceStep))
    }
  }

  /// Whether somebody came since the last picture: his first one is not to be as old as the others' pace makes it.
  private func takeNewcomer() -> Bool {
    state.withLock { state in
      defer { state.hasNewcomer = false }
      return state.hasNewcomer
    }
  }

  private func publish(_ part: StreamPart) {
    let now = CaptureClock.now
    let loops = state.update { state -> [LoopWatchers] in
      // One that was on its way when nobody was to see it any more.
      guard !state.isOver else { return [] }
      state.newest = part
      state.failure = nil
      state.publishedAt = now
      state.rate.count(at: now)
      return Array(state.loops.values)
    }
    counters.delivered(after: now - part.timestamp)
    for watchers in loops { watchers.offer(part, counters) }
  }

  private func repeatIfStale() {
    let now = CaptureClock.now
    let (part, loops) = state.withLock { state -> (StreamPart?, [LoopWatchers]) in
      guard let newest = state.newest, now - state.publishedAt >= Self.repeatsAfter else { return (nil, []) }
      state.publishedAt = now
      return (newest, Array(state.loops.values))
    }
    guard let part else { return }
    for watchers in loops { watchers.offer(part, counters) }
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
        "a stream has no pictures",
        metadata: ["camera": "\(camera)", "view": "\(view)", "reason": "\(error)"])
    }
  }
}

/// What was to be seen is not to be seen any more.
struct StreamEnded: Error {}

/// No picture came in time.
struct StreamTimeout: Error {}
