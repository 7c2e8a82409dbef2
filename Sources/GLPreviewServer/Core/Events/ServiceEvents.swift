// Publishes the events of a service: to the event log, and snapshots also to the configured folder, webhook
// and MQTT server.
internal import Logging
internal import ServiceLifecycle

/// A snapshot, and the views that it shows, as they were served.
package struct TakenSnapshot: Sendable {
  package let snapshot: Snapshot
  package let views: [ServedPreview]
}

/// Where a snapshot of a schedule is sent, and under which names it is stored.
package struct ScheduledSending: Sendable {
  /// The moment of the schedule, by which the files are named.
  package let moment: WallTime
  /// Whether the folder gets a file named by the moment, and the file that is overwritten each time.
  package var isInSequence = false
  package var isLatest = false
  package var toWebhook = false
  package var toMQTT = false

  package init(moment: WallTime) { self.moment = moment }
}

/// The events of a service, and their destinations. None of these delays the client that takes a snapshot.
package struct ServiceEvents: Sendable {
  package let log = EventLog()
  let folder: SnapshotFolder?
  let webhook: WebhookSender?
  private let links: EventLinks
  /// Returns whether a picture may be sent or stored now.
  package let mayShow: @Sendable (PictureRight) -> Bool
  private let followers = Watched<[AsyncStream<TakenSnapshot>.Continuation]>([])
  private let logger: Logger

  /// The largest snapshot event, in bytes; it contains a thumbnail.
  private static let snapshotBytes = 24_000
  private static let thumbnail = Size(width: 160, height: 160)

  /// `folderBytes` is the most memory of scheduled snapshots that wait for the folder's queue, in bytes.
  init(
    _ destinations: SnapshotDestinations, _ links: EventLinks, metrics: ServiceMetrics, logger: Logger,
    folderBytes: Int = .max, times: DeliveryQueue.Times = DeliveryQueue.Times(),
    mayShow: @escaping @Sendable (PictureRight) -> Bool
  ) {
    folder = destinations.folder.map {
      SnapshotFolder($0, metrics: metrics, logger: logger, mostBytes: folderBytes)
    }
    webhook = destinations.webhook.map { WebhookSender($0, metrics: metrics, logger: logger, times: times) }
    (self.links, self.logger, self.mayShow) = (links, logger, mayShow)
  }

  /// Whether snapshots go to a folder, a webhook or an MQTT server.
  var sendsSnapshots: Bool { folder != nil || webhook != nil || !followers.value.isEmpty }

  /// Returns the snapshots taken from now on. Only the newest `count` of them wait to be read.
  package func takenSnapshots(waiting count: Int) -> AsyncStream<TakenSnapshot> {
    let (stream, follower) = AsyncStream.makeStream(
      of: TakenSnapshot.self, bufferingPolicy: .bufferingNewest(count))
    followers.update { $0.append(follower) }
    return stream
  }

  var services: [any Service] { [folder as (any Service)?, webhook].compactMap(\.self) }

  func rendererChanged(_ state: RendererWatch.State) {
    publish(
      "service",
      [
        "what": .string(state.event),
        "reason": (state.failure ?? state.problem).map(JSONValue.string),
      ])
  }

  package func configurationChanged() { publish("service", ["what": "configuration"]) }

  func cameraChanged(_ camera: String, _ report: CameraReport) {
    publish(
      "camera",
      [
        "camera": .string(camera), "state": .string(report.state.rawValue),
        "reason": report.reason.map(JSONValue.string), "since": .string(report.since.description),
        "replay": report.replay.map { JSONValue($0) },
      ])
  }

  func viewChanged(_ camera: String, _ view: String) {
    publish("view", ["camera": .string(camera), "view": .string(view)])
  }

  /// Publishes that a move of a view has started, or how it has ended. `field` is the field of view of poses that have
  /// none.
  func viewMoved(_ entry: ServedPreview, _ state: String, _ move: ViewMove, _ field: Double?) {
    var event: [String: JSONValue?] = [
      "camera": .string(entry.camera), "view": .string(entry.name), "state": .string(state),
    ]
    for (name, value) in move.members(filling: field) { event[name] = value }
    publish("move", event)
  }

  /// Publishes a motion event, also to the webhook. Only with `showsAll` does it contain where something
  /// moved.
  package func motionChanged(_ camera: String, _ change: MotionEpisodes.Change, showsAll: Bool) {
    guard let (what, members) = change.report(of: camera, showsAll: showsAll) else { return }
    var event = members
    event["camera"] = .string(camera)
    event["what"] = .string(what)
    event["type"] = "motion"
    // Readers of `/api/events` have a right of their own, which a link would outlive.
    let link = change.event.flatMap { links.link(to: $0, of: camera) }
    log.publish(type: "motion", data: event.json, link: link)
    event[EventLinks.member] = link.map(JSONValue.string)
    webhook?.send(type: "motion", body: event.json)
    logger.debug("\(what)", metadata: ["camera": "\(camera)"])
  }

  package func publish(_ type: String, _ members: [String: JSONValue?]) {
    var event = members.compactMapValues { $0 }
    event["type"] = .string(type)
    log.publish(type: type, data: event.json)
  }

  /// Publishes a snapshot; the event contains a thumbnail of its first picture. Returns before the snapshot is stored
  /// and sent, which happens only while there is a right to its pictures.
  func took(_ taken: TakenSnapshot, _ rights: [PictureRight]) {
    let snapshot = taken.snapshot
    do throws(PictureEncoder.Failure) {
      let event = try snapshot.event(
        maxEventBytes: Self.snapshotBytes, quality: 70, fitting: Self.thumbnail)
      log.publish(type: "snapshot", data: event.json, link: links.link(to: snapshot, view: event.view))
    } catch {
      logger.error(
        "snapshot event not sent", metadata: ["camera": "\(snapshot.camera)", "reason": "\(error)"])
    }
    let mayShow = isAllowed(by: rights)
    folder?.add(snapshot, while: mayShow)
    follow(taken)
    sendToWebhook(snapshot, while: mayShow)
  }

  /// Sends a snapshot of a schedule to its destinations, without an event in the log. Returns before it is stored and
  /// sent, which happens only while there is a right to its pictures.
  package func send(_ taken: TakenSnapshot, _ rights: [PictureRight], _ sending: ScheduledSending) {
    let mayShow = isAllowed(by: rights)
    if sending.toMQTT { follow(taken) }
    if sending.toWebhook { sendToWebhook(taken.snapshot, while: mayShow) }
    if sending.isInSequence || sending.isLatest { folder?.add(taken.snapshot, sending, while: mayShow) }
  }

  /// Returns whether the picture of a view may be sent or stored, whenever it is asked.
  private func isAllowed(by rights: [PictureRight]) -> @Sendable (_ view: String) -> Bool {
    { [mayShow] view in rights.first { $0.view == view }.map(mayShow) ?? false }
  }

  /// A follower looks itself whether the views are still shown.
  private func follow(_ taken: TakenSnapshot) { for follower in followers.value { follower.yield(taken) } }

  private func sendToWebhook(_ snapshot: Snapshot, while mayShow: @escaping @Sendable (String) -> Bool) {
    guard let webhook else { return }
    Task {
      for picture in snapshot.pictures {
        let view = picture.name
        let link = links.link(to: snapshot, view: view).map(JSONValue.string)
        do throws(PictureEncoder.Failure) {
          let event = try snapshot.event(
            view: view, maxEventBytes: webhook.maximumEventBytes,
            metadata: link.map { [EventLinks.member: $0] } ?? [:])
          webhook.send(event) { mayShow(view) }
        } catch {
          logger.error(
            "snapshot too large for the webhook",
            metadata: ["camera": "\(snapshot.camera)", "view": "\(view)", "reason": "\(error)"])
        }
      }
    }
  }
}
