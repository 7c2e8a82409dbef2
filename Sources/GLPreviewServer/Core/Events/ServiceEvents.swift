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
  private let folder: SnapshotFolder?
  private let webhook: WebhookSender?
  private let links: EventLinks
  private let followers = Watched<[AsyncStream<TakenSnapshot>.Continuation]>([])
  private let logger: Logger

  /// The largest snapshot event, in bytes; it contains a thumbnail.
  private static let snapshotBytes = 24_000
  private static let thumbnail = Size(width: 160, height: 160)

  init(
    _ destinations: SnapshotDestinations, _ links: EventLinks, metrics: ServiceMetrics, logger: Logger
  ) {
    folder = destinations.folder.map { SnapshotFolder($0, metrics: metrics, logger: logger) }
    webhook = destinations.webhook.map { WebhookSender($0, metrics: metrics, logger: logger) }
    (self.links, self.logger) = (links, logger)
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

  /// Publishes a motion event, also to the webhook. Only with `showsAll` does it contain where something
  /// moved.
  package func motionChanged(_ camera: String, _ news: MotionEpisodes.News, showsAll: Bool) {
    guard let (what, members) = news.told(of: camera, showsAll: showsAll) else { return }
    var event = members
    event["camera"] = .string(camera)
    event["what"] = .string(what)
    event["type"] = "motion"
    // Readers of `/api/events` have a right of their own, which a link would outlive.
    let link = news.event.flatMap { links.link(to: $0, of: camera) }
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

  /// Publishes a snapshot of `views`; the event contains a thumbnail of its first picture. Returns before the
  /// snapshot is stored and sent.
  func took(_ snapshot: Snapshot, of views: [ServedPreview]) {
    do throws(PictureEncoder.Failure) {
      let event = try snapshot.event(
        maxEventBytes: Self.snapshotBytes, quality: 70, fitting: Self.thumbnail)
      log.publish(type: "snapshot", data: event.json, link: links.link(to: snapshot, view: event.view))
    } catch {
      logger.error(
        "snapshot event not sent", metadata: ["camera": "\(snapshot.camera)", "reason": "\(error)"])
    }
    folder?.add(snapshot)
    follow(snapshot, of: views)
    sendToWebhook(snapshot)
  }

  /// Sends a snapshot of a schedule to its destinations, without an event in the log. Waits for the folder, but not
  /// for the webhook.
  package func send(_ snapshot: Snapshot, of views: [ServedPreview], _ sending: ScheduledSending) async {
    if sending.toMQTT { follow(snapshot, of: views) }
    if sending.toWebhook { sendToWebhook(snapshot) }
    if sending.isInSequence || sending.isLatest { await folder?.add(snapshot, sending) }
  }

  private func follow(_ snapshot: Snapshot, of views: [ServedPreview]) {
    for follower in followers.value { follower.yield(TakenSnapshot(snapshot: snapshot, views: views)) }
  }

  private func sendToWebhook(_ snapshot: Snapshot) {
    guard let webhook else { return }
    Task {
      for picture in snapshot.pictures {
        let link = links.link(to: snapshot, view: picture.name).map(JSONValue.string)
        do throws(PictureEncoder.Failure) {
          webhook.send(
            try snapshot.event(
              view: picture.name, maxEventBytes: webhook.maximumEventBytes,
              metadata: link.map { [EventLinks.member: $0] } ?? [:]))
        } catch {
          logger.error(
            "snapshot too large for the webhook",
            metadata: ["camera": "\(snapshot.camera)", "view": "\(picture.name)", "reason": "\(error)"])
        }
      }
    }
  }
}
