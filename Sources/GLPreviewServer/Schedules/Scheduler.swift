// Takes the snapshots of schedules at their moments, and sends them to their destinations.
internal import Logging
internal import ServiceLifecycle

/// Runs the schedules of the cameras and scenes that this node serves. In a cluster, each moment is taken by the node
/// that owns the camera then, or serves all cameras of the scene.
final class Scheduler: Service, CustomStringConvertible {
  /// A schedule of a camera or scene, also of one that replaces another one of the same name.
  struct Key: Hashable, Sendable {
    /// The name of the camera or scene.
    let camera, schedule: String
  }

  /// The results of a schedule's moments so far.
  struct Record: Sendable {
    var counts: [ServiceMetrics.ScheduleResult: Int] = [:]
    /// The last moment, in seconds since 1970, its result, and why nothing was taken.
    var last: (moment: Int, result: ServiceMetrics.ScheduleResult, reason: String?)?
    /// The reason that was logged last; nil if pictures are taken.
    var reported: String?
  }

  /// A moment that is being taken.
  private struct Progress {
    let moment: Int
    /// Whether its frame has been captured in time.
    var hasFrame = false
    /// The moment that came before that, and waits for this one to end.
    var successor: Int?
  }

  private struct State {
    var place: Place?
    /// The moments that come next, as `run` found them last.
    var next: [Key: Int] = [:]
    var records: [Key: Record] = [:]
    var inProgress: [Key: Progress] = [:]
  }

  /// The moments of what is served. Only `run` has them: when the clock is set ahead, passing over thousands of
  /// moments takes time, which no request may wait for.
  private struct Timetable {
    var agenda: Agenda<Key>
    /// The changes of the served state that the agenda follows, and their schedules.
    var changes: Int?
    var schedules: [Key: Schedule] = [:]
  }

  let stores: [PictureStore]
  private let core: ServiceCore
  private let destinations: [String]
  private let clock: LocalClock
  private let now: @Sendable () -> WallTime
  private let state: Watched<State>
  /// Limits the snapshots that are taken at a time; others wait. Most of them wait for the camera's next frame.
  private let gate = AdmissionLimit(capacity: 64, subject: "scheduled snapshots being taken")

  /// How often the clock and the cameras are looked at.
  private static let longestWait = Duration.seconds(1)
  /// How long after the next moment a frame that was captured before it may be delivered.
  private static let grace = Duration.milliseconds(250)

  /// `now` is the wall clock; `storeTimes` are the timeouts of stores.
  init(
    _ core: ServiceCore, clock: LocalClock = .system, now: @escaping @Sendable () -> WallTime = { .now },
    storeTimes: DeliveryQueue.Times = PictureStore.usualTimes
  ) {
    let configuration = core.configuration.configuration
    (self.core, self.clock, self.now) = (core, clock, now)
    destinations = configuration.scheduleDestinations
    stores = configuration.snapshots.stores.map {
      PictureStore(
        $0, within: core.registry.budget, metrics: core.metrics, logger: core.logger, times: storeTimes)
    }
    state = Watched(State(place: configuration.place))
  }

  /// Continues with the place of a new configuration.
  func apply(_ new: ValidatedConfiguration) { state.withLock { $0.place = new.configuration.place } }

  // MARK: State

  /// Returns the moment that comes next, in seconds since 1970, and what has happened so far.
  func status(of schedule: String, of camera: String) -> (next: Int?, record: Record) {
    let key = Key(camera: camera, schedule: schedule)
    return state.withLock { ($0.next[key], $0.records[key] ?? Record()) }
  }

  /// The number of moments that are being taken.
  var inProgressCount: Int { state.withLock { $0.inProgress.count } }

  /// Returns a schedule as it is configured now; nil if this node does not serve its camera or scene.
  private func configuration(_ key: Key) -> ScheduleConfiguration? {
    let served = core.registry.served
    let schedules =
      served[camera: key.camera]?.configuration.schedules
      ?? served[scene: key.camera]?.configuration.schedules
    return schedules?.first { $0.name == key.schedule }
  }

  // MARK: Moments

  /// Takes what is due until the service ends.
  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withDiscardingTaskGroup { group in
        let place = self.state.withLock { $0.place }
        var timetable = Timetable(agenda: Agenda(at: place, by: self.clock))
        while !Task.isCancelled {
          let (due, wait) = self.due(&timetable)
          for due in due {
            if due.missed > 0 { self.missed(due) }
            if let moment = due.moment { group.addTask { await self.take(due.key, moment) } }
          }
          try? await Task.sleep(for: wait)
        }
      }
    }
  }

  /// Returns what is due now, and how long to wait for more.
  private func due(_ timetable: inout Timetable) -> ([Agenda<Key>.Due], wait: Duration) {
    let (now, place) = (now().sinceEpoch, state.withLock { $0.place })
    follow(&timetable)
    let due = timetable.agenda.due(now: now, thenFollowing: timetable.schedules, at: place)
    let moments = timetable.agenda.moments
    state.withLock { $0.next = moments }
    let wait = timetable.agenda.next.map { .seconds($0) - now } ?? Self.longestWait
    return (due, min(max(wait, .milliseconds(1)), Self.longestWait))
  }

  /// Reads the schedules of the cameras and scenes that are served now.
  private func follow(_ timetable: inout Timetable) {
    let served = core.registry.served
    guard timetable.changes != served.changes else { return }
    timetable.changes = served.changes
    var schedules: [Key: Schedule] = [:]
    let cameras = served.cameras.map { ($0.configuration.name, $0.configuration.schedules) }
    let scenes = served.scenes.map { ($0.configuration.name, $0.configuration.schedules) }
    for (name, all) in cameras + scenes {
      for schedule in all { schedules[Key(camera: name, schedule: schedule.name)] = schedule.times }
    }
    timetable.schedules = schedules
    let keys = Set(schedules.keys)
    state.withLock { state in state.records = state.records.filter { keys.contains($0.key) } }
  }

  private func missed(_ due: Agenda<Key>.Due) {
    let reason = "the machine or its clock passed over it"
    report(due.key, due.lastMissed ?? 0, .missed, reason, count: due.missed)
  }

  /// Takes a snapshot for a moment.
  private func take(_ key: Key, _ moment: Int) async {
    guard let isFree = await begin(key, moment) else { return }
    guard isFree else { return report(key, moment, .missed, Self.isBusy) }
    defer { state.update { $0.inProgress[key] = nil } }
    let window = window(of: key, moment)
    let timeout = max(Agenda<Key>.largestLateness - lateness(of: moment), .zero)
    // A free place is taken even if the window has ended meanwhile: then the reason is another one.
    var entered = try? gate.enter()
    if entered == nil { entered = try? await window.run { [gate] in try await gate.enter(within: timeout) } }
    guard let permit = entered else {
      if !isOver { report(key, moment, .missed, "too many others are being taken") }
      return
    }
    defer { withExtendedLifetime(permit) {} }
    guard let schedule = configuration(key) else { return }
    guard !known(schedule, of: key).isEmpty else { return report(key, moment, .missed, Self.waitsForRestart) }
    var request = SnapshotRequest(
      fallback: schedule.offline == .skip ? .error : .placeholder, timeout: core.registry.timeouts.snapshot)
    // A picture from before the moment would be one of another moment.
    request.mode = .next
    do {
      let isScene = core.registry.served[scene: key.camera] != nil
      let result =
        try await isScene
        ? core.snapshots.takeScheduled(ofScene: key.camera, request, within: window)
        : core.snapshots.takeScheduled(of: key.camera, request, within: window) { camera in
          Self.views(of: camera, for: key)
        }
      guard let (taken, rights) = result else {
        return report(key, moment, .missed, "its views are switched off")
      }
      // A reload meanwhile may have changed the destinations and the names.
      guard let schedule = configuration(key) else { return }
      let destinations = known(schedule, of: key)
      guard !destinations.isEmpty else { return report(key, moment, .missed, Self.waitsForRestart) }
      try await send(taken, rights, to: destinations, schedule.naming, moment)
      report(key, moment, .taken)
    } catch {
      // Otherwise the service ends.
      guard !isOver else { return }
      report(key, moment, .failed, (error as? Problem)?.detail ?? Redaction.message("\(error)"))
    }
  }

  /// Begins a moment. If the one before still waits for a frame, it ends first: only a frame that was captured before
  /// this moment, and is being delivered, can be its picture.
  ///
  /// - Returns: false if the picture of another moment is still being taken; nil if the service ends.
  private func begin(_ key: Key, _ moment: Int) async -> Bool? {
    state.update { state in
      guard let other = state.inProgress[key], !other.hasFrame, other.moment < moment else { return }
      state.inProgress[key]?.successor = moment
    }
    return try? await state.first { state -> Bool? in
      guard let other = state.inProgress[key] else {
        state.inProgress[key] = Progress(moment: moment)
        return true
      }
      return other.successor == moment ? nil : false
    }
  }

  /// Returns the time within which the frame of a moment must be captured: before the next moment, and not too late.
  private func window(of key: Key, _ moment: Int) -> CaptureWindow {
    let longest = Agenda<Key>.largestLateness
    return CaptureWindow(
      length: period(after: moment, of: key).map { min($0, longest) } ?? longest,
      end: { [state] in
        _ = try await state.first { state -> Bool? in
          guard let progress = state.inProgress[key] else { return true }
          return progress.successor == nil ? nil : true
        }
        try await pause(Self.grace)
      },
      admits: { [self] captured in
        guard isInTime(captured, for: moment, of: key) else { return false }
        _ = state.withLock { $0.inProgress[key]?.hasFrame = true }
        return true
      },
      reopens: { [self] in
        let isOpen = state.withLock { state -> Bool in
          state.inProgress[key]?.hasFrame = false
          return state.inProgress[key].map { $0.successor == nil } ?? false
        }
        return isOpen && isInTime(CaptureClock.now, for: moment, of: key)
      })
  }

  /// Whether a time of capture is before the next moment, and at most `Agenda.largestLateness` after this
  /// one.
  private func isInTime(_ captured: CaptureInstant, for moment: Int, of key: Key) -> Bool {
    let late = lateness(of: moment) - (CaptureClock.now - captured)
    return late <= Agenda<Key>.largestLateness && period(after: moment, of: key).map { late < $0 } ?? true
  }

  /// The time from a moment to the next one.
  private func period(after moment: Int, of key: Key) -> Duration? {
    let place = state.withLock { $0.place }
    let next = configuration(key)?.times.next(after: moment, at: place, by: clock)
    return next.map { .seconds($0 - moment) }
  }

  /// The time that has passed since a moment.
  private func lateness(of moment: Int) -> Duration { now().sinceEpoch - .seconds(moment) }

  private static let isBusy = "the picture before it is still being taken"
  private static let waitsForRestart = "its destinations wait for a restart"

  private var isOver: Bool { Task.isCancelled || Task.isShuttingDownGracefully }

  /// Returns the destinations of a schedule, without those that a reload names and that begin at the next start.
  private func known(_ schedule: ScheduleConfiguration, of key: Key) -> [String] {
    let isScene = core.registry.served[scene: key.camera] != nil
    let possible = isScene ? destinations.ofScenes : destinations
    let wanted = schedule.destinations.isEmpty ? possible : schedule.destinations
    return wanted.filter(possible.contains)
  }

  /// Returns the views that a schedule of a camera takes now.
  private static func views(of camera: ServedCamera, for key: Key) -> [ServedPreview] {
    guard let schedule = camera.configuration.schedules.first(where: { $0.name == key.schedule }) else {
      return []
    }
    return camera.views.filter { view in
      view.served.isEnabled && (schedule.views.isEmpty || schedule.views.contains(view.name))
    }
  }

  /// Queues the pictures of a snapshot for its destinations.
  ///
  /// - Throws: a `PictureEncoder.Failure` if a picture can't be encoded; no destination gets any of them then.
  func send(
    _ taken: TakenSnapshot, _ rights: [PictureRight], to wanted: [String],
    _ naming: ScheduleConfiguration.Naming, _ moment: Int
  ) async throws {
    let time = WallTime(sinceEpoch: .seconds(moment))
    var sending = ScheduledSending(moment: time)
    let (isInSequence, isLatest) = (naming != .latest, naming != .sequence)
    if wanted.contains("folder") { (sending.isInSequence, sending.isLatest) = (isInSequence, isLatest) }
    sending.toWebhook = wanted.contains("webhook")
    sending.toMQTT = wanted.contains("mqtt")
    let stores = stores.filter { wanted.contains($0.configuration.name) }
    var jpegs: [[UInt8]] = []
    for (view, picture) in zip(taken.views, taken.snapshot.pictures) where !stores.isEmpty {
      jpegs.append(try await picture.jpeg(quality: view.served.encodedQuality).bytes)
    }
    // Whole seconds: without the milliseconds of files in the folder.
    let stamp = StampedFileName.stamp(time).dropLast(5) + "Z.jpg"
    let names = (isInSequence ? [String(stamp)] : []) + (isLatest ? ["latest.jpg"] : [])
    for (right, jpeg) in zip(rights, jpegs) {
      let paths = names.map { [right.camera, right.view, $0] }
      for store in stores { store.put(jpeg, as: paths) { [events = core.events] in events.mayShow(right) } }
    }
    core.events.send(taken, rights, sending)
  }

  // MARK: Results

  /// Counts `count` moments up to `moment`, logs the first of several failures with equal reasons, and publishes an
  /// event if there is a change. Does nothing for a schedule that is gone.
  private func report(
    _ key: Key, _ moment: Int, _ result: ServiceMetrics.ScheduleResult, _ reason: String? = nil,
    count: Int = 1
  ) {
    guard configuration(key) != nil else { return }
    core.metrics.count(
      .scheduled(camera: key.camera, schedule: key.schedule, result), by: count)
    let isNew = state.withLock { state in
      var record = state.records[key] ?? Record()
      record.counts[result, default: 0] += count
      // A moment that took long may end after the next one.
      let isLast = record.last.map { $0.moment <= moment } ?? true
      if isLast { record.last = (moment, result, reason) }
      // Moments during a slow one have another reason, and the slow one ends after them: neither is reported.
      let isKnown = reason == Self.isBusy && record.reported != nil || reason == nil && !isLast
      defer { state.records[key] = record }
      guard !isKnown, record.reported != reason else { return false }
      record.reported = reason
      return true
    }
    guard isNew else { return }
    var metadata: Logger.Metadata = ["camera": "\(key.camera)", "schedule": "\(key.schedule)"]
    var event: [String: JSONValue?] = ["camera": .string(key.camera), "schedule": .string(key.schedule)]
    if let reason {
      metadata["moment"] = "\(Self.text(of: moment))"
      metadata["reason"] = "\(reason)"
      if count > 1 { metadata["count"] = "\(count)" }
      core.logger.warning("scheduled snapshot \(result.rawValue)", metadata: metadata)
      event["reason"] = .string(reason)
    } else {
      core.logger.notice("scheduled snapshots resumed", metadata: metadata)
    }
    event["what"] = .string(reason == nil ? "resumed" : result.rawValue)
    core.events.publish("schedule", event)
  }
}
