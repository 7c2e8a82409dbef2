// Takes the snapshots of schedules at their moments, and sends them to their destinations.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Runs the schedules of the cameras that this node serves. In a cluster, each moment is taken by the node that
/// owns the camera then.
final class Scheduler: Service, CustomStringConvertible {
  /// A schedule of a camera. A camera that replaces another one of the same name has its own source.
  struct Key: Hashable, Sendable {
    let camera, source, schedule: String
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
    var agenda: Agenda<Key>
    /// The changes of the served cameras that the agenda follows.
    var changes: Int?
    var records: [Key: Record] = [:]
    var inProgress: Set<Key> = []
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

  /// `now` is the wall clock.
  init(
    _ core: ServiceCore, clock: LocalClock = .system, now: @escaping @Sendable () -> WallTime = { .now }
  ) {
    let configuration = core.configuration.configuration
    (self.core, self.clock, self.now) = (core, clock, now)
    destinations = configuration.scheduleDestinations
    stores = configuration.snapshots.stores.map {
      PictureStore($0, within: core.registry.budget, metrics: core.metrics, logger: core.logger)
    }
    state = Mutex(State(agenda: Agenda(at: configuration.place, by: clock)))
  }

  /// Continues with the place of a new configuration.
  func apply(_ new: ValidatedConfiguration) {
    state.withLock { state in
      guard new.configuration.place != state.agenda.place else { return }
      state.agenda = Agenda(at: new.configuration.place, by: clock)
      state.changes = nil
    }
  }

  // MARK: State

  /// Returns the moment that comes next, in seconds since 1970, and what has happened so far.
  func status(of schedule: String, of camera: ServedCamera) -> (next: Int?, record: Record) {
    let key = Key(camera: camera.configuration.name, source: camera.source, schedule: schedule)
    return state.withLock { ($0.agenda.next(key), $0.records[key] ?? Record()) }
  }

  // MARK: Moments

  /// Takes what is due until the service ends.
  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withDiscardingTaskGroup { group in
        while !Task.isCancelled {
          let (due, wait) = self.due()
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
  private func due() -> ([Agenda<Key>.Due], wait: Duration) {
    let now = now().sinceEpoch
    return state.withLock { state in
      follow(&state, now)
      let due = state.agenda.due(now: now)
      let wait = state.agenda.next.map { .seconds($0) - now } ?? Self.longestWait
      return (due, min(max(wait, .milliseconds(1)), Self.longestWait))
    }
  }

  /// Follows the cameras that are served now.
  private func follow(_ state: inout State, _ now: Duration) {
    let served = core.registry.served
    guard state.changes != served.changes else { return }
    state.changes = served.changes
    var schedules: [Key: Schedule] = [:]
    for camera in served.cameras {
      for schedule in camera.configuration.schedules {
        let key = Key(camera: camera.configuration.name, source: camera.source, schedule: schedule.name)
        schedules[key] = schedule.times
      }
    }
    state.agenda.follow(schedules, now: now)
    state.records = state.records.filter { schedules[$0.key] != nil }
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
    do {
      // The camera may be gone, or have other views.
      guard let camera = core.registry.served[camera: key.camera], camera.source == key.source,
        let schedule = camera.configuration.schedules.first(where: { $0.name == key.schedule })
      else { return }
      let views = camera.views.filter { view in
        view.served.isEnabled && (schedule.views.isEmpty || schedule.views.contains(view.name))
      }
      guard !views.isEmpty else { return report(key, moment, .missed, "its views are switched off") }
      // A reload may name destinations that begin at the next start.
      let wanted = schedule.destinations.isEmpty ? destinations : schedule.destinations
      let known = wanted.filter(destinations.contains)
      guard !known.isEmpty else { return report(key, moment, .missed, "its destinations wait for a restart") }
      var request = SnapshotRequest(
        fallback: schedule.offline == .skip ? .error : .placeholder,
        timeout: core.registry.timeouts.snapshot)
      // A picture from before the moment would be one of another moment.
      request.mode = .next
      let snapshot = try await core.snapshots.takeScheduled(views, request)
      try await send(snapshot, of: views, to: known, schedule.naming, moment)
      report(key, moment, .taken)
    } catch {
      // Otherwise the service ends, or the camera is gone.
      guard !isOver, core.registry.served[camera: key.camera]?.source == key.source else { return }
      report(key, moment, .failed, (error as? Problem)?.detail ?? Redaction.message("\(error)"))
    }
  }

  private static let isBusy = "the picture before it is still being taken"

  private var isOver: Bool { Task.isCancelled || Task.isShuttingDownGracefully }

  private func send(
    _ snapshot: Snapshot, of views: [ServedPreview], to wanted: [String],
    _ naming: ScheduleConfiguration.Naming, _ moment: Int
  ) async throws {
    let time = WallTime(sinceEpoch: .seconds(moment))
    var sending = ScheduledSending(moment: time)
    let (isInSequence, isLatest) = (naming != .latest, naming != .sequence)
    if wanted.contains("folder") { (sending.isInSequence, sending.isLatest) = (isInSequence, isLatest) }
    sending.toWebhook = wanted.contains("webhook")
    sending.toMQTT = wanted.contains("mqtt")
    let stores = stores.filter { wanted.contains($0.configuration.name) }
    // Whole seconds: without the milliseconds of files in the folder.
    let stamp = StampedFileName.stamp(time).dropLast(5) + "Z.jpg"
    for (view, picture) in zip(views, snapshot.pictures) where !stores.isEmpty {
      let jpeg = try await picture.jpeg(quality: view.served.encodedQuality).bytes
      for store in stores {
        let folder = [snapshot.camera, view.name]
        if isInSequence { store.put(jpeg, as: folder + [String(stamp)]) }
        if isLatest { store.put(jpeg, as: folder + ["latest.jpg"]) }
      }
    }
    // Comes last, because a disk may be slow.
    await core.events.send(snapshot, of: views, sending)
  }

  // MARK: Results

  /// Counts `count` moments up to `moment`, logs the first of several failures with equal reasons, and publishes an
  /// event if there is a change.
  private func report(
    _ key: Key, _ moment: Int, _ result: ServiceMetrics.ScheduleResult, _ reason: String? = nil,
    count: Int = 1
  ) {
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
