// Takes the snapshots of schedules at their moments, and sends them to their destinations.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Runs the schedules of the cameras that this node serves. In a cluster, each moment is taken by the node that
/// owns the camera then.
final class Scheduler: Service, CustomStringConvertible {
  /// A schedule of a camera, also of one that replaces another one of the same name.
  struct Key: Hashable, Sendable {
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

  private struct State {
    var place: Place?
    /// The moments that come next, as `run` found them last.
    var next: [Key: Int] = [:]
    var records: [Key: Record] = [:]
    var inProgress: Set<Key> = []
  }

  /// The moments of the served cameras. Only `run` has them: when the clock is set ahead, passing over thousands of
  /// moments takes time, which no request may wait for.
  private struct Timetable {
    var agenda: Agenda<Key>
    /// The changes of the served cameras that the agenda follows, and their schedules.
    var changes: Int?
    var schedules: [Key: Schedule] = [:]
  }

  let stores: [PictureStore]
  private let core: ServiceCore
  private let destinations: [String]
  private let clock: LocalClock
  private let now: @Sendable () -> WallTime
  private let state: Mutex<State>
  /// Limits the snapshots that are taken at a time; others wait. Most of them wait for the camera's next frame.
  private let gate = AdmissionLimit(capacity: 64, subject: "scheduled snapshots being taken")

  /// How often the clock and the cameras are looked at.
  private static let longestWait = Duration.seconds(1)

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
    state = Mutex(State(place: configuration.place))
  }

  /// Continues with the place of a new configuration.
  func apply(_ new: ValidatedConfiguration) { state.withLock { $0.place = new.configuration.place } }

  // MARK: State

  /// Returns the moment that comes next, in seconds since 1970, and what has happened so far.
  func status(of schedule: String, of camera: ServedCamera) -> (next: Int?, record: Record) {
    let key = Key(camera: camera.configuration.name, schedule: schedule)
    return state.withLock { ($0.next[key], $0.records[key] ?? Record()) }
  }

  /// The number of moments that are being taken.
  var inProgressCount: Int { state.withLock { $0.inProgress.count } }

  /// Returns a schedule as it is configured now; nil if this node does not serve its camera.
  private func configuration(_ key: Key) -> ScheduleConfiguration? {
    core.registry.served[camera: key.camera]?.configuration.schedules.first { $0.name == key.schedule }
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

  /// Reads the schedules of the cameras that are served now.
  private func follow(_ timetable: inout Timetable) {
    let served = core.registry.served
    guard timetable.changes != served.changes else { return }
    timetable.changes = served.changes
    var schedules: [Key: Schedule] = [:]
    for camera in served.cameras {
      for schedule in camera.configuration.schedules {
        schedules[Key(camera: camera.configuration.name, schedule: schedule.name)] = schedule.times
      }
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
    guard state.withLock({ $0.inProgress.insert(key).inserted }) else {
      return report(key, moment, .missed, Self.isBusy)
    }
    defer { state.withLock { _ = $0.inProgress.remove(key) } }
    guard let permit = try? await gate.enter(within: Agenda<Key>.patience) else {
      if !isOver { report(key, moment, .missed, "too many others are being taken") }
      return
    }
    defer { withExtendedLifetime(permit) {} }
    guard let schedule = configuration(key) else { return }
    guard !known(schedule).isEmpty else { return report(key, moment, .missed, Self.waitsForRestart) }
    var request = SnapshotRequest(
      fallback: schedule.offline == .skip ? .error : .placeholder, timeout: core.registry.timeouts.snapshot)
    // A picture from before the moment would be one of another moment.
    request.mode = .next
    do {
      let result = try await core.snapshots.takeScheduled(of: key.camera, request) { camera in
        Self.views(of: camera, for: key)
      }
      guard let (taken, rights) = result else {
        return report(key, moment, .missed, "its views are switched off")
      }
      // A reload meanwhile may have changed the destinations and the names.
      guard let schedule = configuration(key) else { return }
      let destinations = known(schedule)
      guard !destinations.isEmpty else { return report(key, moment, .missed, Self.waitsForRestart) }
      try await send(taken, rights, to: destinations, schedule.naming, moment)
      report(key, moment, .taken)
    } catch {
      // Otherwise the service ends.
      guard !isOver else { return }
      report(key, moment, .failed, (error as? Problem)?.detail ?? Redaction.message("\(error)"))
    }
  }

  private static let isBusy = "the picture before it is still being taken"
  private static let waitsForRestart = "its destinations wait for a restart"

  private var isOver: Bool { Task.isCancelled || Task.isShuttingDownGracefully }

  /// Returns the destinations of a schedule, without those that a reload names and that begin at the next start.
  private func known(_ schedule: ScheduleConfiguration) -> [String] {
    let wanted = schedule.destinations.isEmpty ? destinations : schedule.destinations
    return wanted.filter(destinations.contains)
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
    let isNews = state.withLock { state in
      var record = state.records[key] ?? Record()
      record.counts[result, default: 0] += count
      // A moment that took long may end after the next one.
      let isLast = record.last.map { $0.moment <= moment } ?? true
      if isLast { record.last = (moment, result, reason) }
      // Moments during a slow one have another reason, and the slow one ends after them: neither is news.
      let isKnown = reason == Self.isBusy && record.reported != nil || reason == nil && !isLast
      defer { state.records[key] = record }
      guard !isKnown, record.reported != reason else { return false }
      record.reported = reason
      return true
    }
    guard isNews else { return }
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

  /// ISO 8601 with whole seconds.
  static func text(of moment: Int) -> String {
    WallTime(sinceEpoch: .seconds(moment)).description.dropLast(5) + "Z"
  }
}
