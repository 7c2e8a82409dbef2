// Publishes this node's cameras at an MQTT server: their states, pictures and events, and Home Assistant's
// discovery. Also takes snapshots on command.
internal import FoundationEssentials
internal import Logging
internal import ServiceLifecycle

/// Each node publishes the cameras that it serves. Nothing here delays the service, or ends it.
final class MQTTPublisher: Service, CustomStringConvertible {
  let client: MQTTClient
  let topics: MQTTTopics
  private let configuration: MQTTConfiguration
  private let registry: CameraRegistry
  private let watch: CameraWatch
  private let snapshots: Snapshots
  private let log: EventLog
  /// The snapshots that are published as events.
  private let taken: AsyncStream<TakenSnapshot>
  private let peers: PeerCatalogue
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let state = Watched(State())

  private struct State {
    /// The cameras that were published.
    var cameras: Set<String> = []
    /// The cameras that are watched for motion, or have reported some.
    var moving: Set<String> = []
    /// The last attempt to take each camera's picture, by the name of its source.
    var pictures: [String: Picture] = [:]
    /// The view that each camera's published picture shows, and its capture time, by the name of the source.
    var published: [String: (shown: Shown, captured: CaptureInstant)] = [:]
  }

  /// A view and its state as served.
  private struct Shown: Equatable {
    let view: ObjectIdentifier
    let served: ServedView

    init(_ view: ServedPreview) { (self.view, served) = (ObjectIdentifier(view.preview), view.served) }
  }

  private struct Picture {
    let isLive: Bool
    /// The view of the picture; nil if the camera had no view that is switched on.
    let shown: Shown?
    /// When it was requested, and when that ended.
    let start, end: CaptureInstant
  }

  private static let closesWithin = Duration.seconds(1)
  /// How often the picture of a camera that gave none is requested again, even if nothing reports that it
  /// works.
  private static let retryInterval = Duration.seconds(10)
  private static let checkInterval = Duration.seconds(1)
  /// How often states, with their frame rates, are published, in steps of `checkInterval`.
  private static let checksPerState = 10
  private static let quality = 80
  /// The most snapshots that wait to be published.
  private static let mostWaiting = 4
  /// The largest picture, in bytes.
  private static let mostPictureBytes = 1 << 20

  /// - Throws: `ConfigurationError` for certificates that can't be read.
  init(
    _ configuration: MQTTConfiguration, _ core: ServiceCore
  ) throws(ConfigurationError) {
    let node = core.configuration.nodeName
    topics = MQTTTopics(configuration, node: node, version: core.version)
    // A fixed client id makes the server end an old connection, and publish its will, before it accepts the
    // new one.
    let id = "glpreview-\(configuration.prefix.replacing("/", with: "-"))-\(node)"
    client = try MQTTClient(
      configuration, id: id,
      will: MQTTMessage(topic: topics.status, payload: Array("offline".utf8), isRetained: true),
      subscribingTo: [topics.commands], times: core.registry.timeouts.mqtt, counting: core.metrics,
      logger: core.logger)
    (self.configuration, registry, watch) = (configuration, core.registry, core.watch)
    (snapshots, log, peers) = (core.snapshots, core.events.log, core.peers)
    taken = core.events.takenSnapshots(waiting: Self.mostWaiting)
    (metrics, logger) = (core.metrics, core.logger)
    client.update { $0.put(topics.status, Array("online".utf8)) }
  }

  func run() async throws {
    let connecting = Task { await client.run() }
    await cancelWhenGracefulShutdown { [self] in
      await withDiscardingTaskGroup { group in
        group.addTask { await self.publishEvents() }
        group.addTask { await self.publishPeriodically() }
        group.addTask { for await snapshot in self.taken { await self.publish(snapshot) } }
        group.addTask { for await message in self.client.messages { await self.handleCommand(message) } }
      }
    }
    // A service that returns ends all others.
    try? await gracefulShutdown()
    client.update { $0.put(topics.status, Array("offline".utf8)) }
    client.end()
    await waitAtMost(Self.closesWithin) { await connecting.value }
    connecting.cancel()
  }

  // MARK: States

  /// Publishes which cameras are served here, and their states.
  private func publishStates() {
    let cameras = registry.cameras.map { ($0.configuration.name, topics.state(watch.report(of: $0))) }
    let names = Set(cameras.map(\.0))
    let watched = registry.cameras.map(\.configuration).filter { $0.motion != nil }.map(\.name)
    let (gone, new, moving, still) = state.update { state in
      defer { state.cameras = names }
      let (gone, new) = (state.cameras.subtracting(names), names.subtracting(state.cameras))
      state.moving.subtract(gone)
      let sources = Set(registry.cameras.map(\.source))
      state.pictures = state.pictures.filter { sources.contains($0.key) }
      state.published = state.published.filter { sources.contains($0.key) }
      // A watched camera that has reported nothing yet is set to no motion, whatever the server retains.
      let still = Set(watched).subtracting(state.moving)
      state.moving.formUnion(still)
      return (gone, new, state.moving, still)
    }
    client.update { outbox in
      for camera in gone {
        // If another node has the camera, its messages stay at the server.
        let released = peers.moves(camera) || peers.cluster[camera: camera] != nil
        let others = [topics.state(camera), topics.picture(camera), topics.motion(camera)]
        for topic in topics.discovery(of: camera, hasMotion: true).map(\.topic) + others {
          if released { outbox.release(topic) } else { outbox.clear(topic) }
        }
      }
      // The server retains messages of an earlier run. Their views or motion may have been switched off
      // since.
      for camera in new {
        if registry.served[camera: camera].flatMap(shownView(of:)) == nil {
          outbox.clearRetained(topics.picture(camera))
        }
        if !moving.contains(camera) { outbox.clearRetained(topics.motion(camera)) }
      }
      for (camera, report) in cameras {
        for message in topics.discovery(of: camera, hasMotion: moving.contains(camera)) {
          outbox.put(message.topic, message.payload)
        }
        outbox.put(topics.state(camera), report)
      }
      for camera in still { outbox.put(topics.motion(camera), Array("OFF".utf8)) }
    }
  }

  /// Takes due pictures once a second, and publishes states less often. A change of a view that hides
  /// something clears its picture at once.
  private func publishPeriodically() async {
    var number = 0
    while !Task.isCancelled {
      if number % Self.checksPerState == 0 { publishStates() }
      number += 1
      if client.isConnected { await takePictures() }
      let next = CaptureClock.now + Self.checkInterval
      while !Task.isCancelled, CaptureClock.now < next {
        let served = registry.served
        for camera in served.cameras { clearHidden(camera) }
        _ = try? await registry.served(after: served.changes, until: next)
      }
    }
  }

  /// Clears a camera's picture at the server if it does not show what the camera's first view shows now.
  private func clearHidden(_ camera: ServedCamera) {
    client.update { outbox in
      let shown = shownView(of: camera).map(Shown.init)
      let isHidden = state.update { state in
        guard let last = state.published[camera.source], last.shown != shown else { return false }
        state.published[camera.source] = nil
        return true
      }
      if isHidden { outbox.clear(topics.picture(camera.configuration.name)) }
    }
  }

  // MARK: Events

  private struct Event: Decodable {
    var camera: String?
    var what: String?
  }

  private func publishEvents() async {
    for await event in log.own() {
      if event.type == "motion" { publishMotion(event) }
      if event.type != "snapshot" { publishStates() }
      let message = MQTTMessage(topic: topics.event(event.type), payload: event.linkedData)
      let dropped = client.update { $0.add(message) }
      if dropped > 0 { metrics.count(.mqtt(.dropped), by: dropped) }
    }
  }

  /// Publishes motion. A camera gets a motion sensor when it first reports motion.
  private func publishMotion(_ event: OwnEvent) {
    guard let event = try? JSONDecoder().decode(Event.self, from: Data(event.data)),
      let camera = event.camera, registry.served[camera: camera] != nil, let what = event.what
    else { return }
    let isOn = what.hasSuffix("started")
    guard isOn || what.hasSuffix("ended") else { return }
    state.update { _ = $0.moving.insert(camera) }
    client.update { $0.put(topics.motion(camera), Array((isOn ? "ON" : "OFF").utf8)) }
  }

  // MARK: Snapshots

  /// Takes a snapshot as POST does. Commands are carried out one after another.
  private func handleCommand(_ message: MQTTMessage) async {
    // A retained message is not a command: it would be carried out at every connection.
    guard !message.isRetained, let camera = topics.camera(ofCommand: message.topic),
      registry.served[camera: camera] != nil
    else { return }
    do {
      try await snapshots.counting {
        let options = try SnapshotOptions(json: [], timeout: registry.timeouts.snapshot)
        _ = try await snapshots.take(options, of: camera) { _ in }
      }
      metrics.count(.mqttCommand(.done))
    } catch {
      metrics.count(.mqttCommand(.failed))
      logger.warning(
        "snapshot by MQTT failed",
        metadata: ["camera": "\(camera)", "reason": "\(Redaction.message("\(error)"))"])
    }
  }

  // MARK: Pictures

  /// Takes the pictures that are due, one after another.
  private func takePictures() async {
    for camera in registry.cameras where isDue(camera) {
      guard !Task.isCancelled else { return }
      var isLive = false
      let view = shownView(of: camera)
      let start = CaptureClock.now
      let last = state.withLock { $0.pictures[camera.source] }
      // The server must not retain a picture that clients may not see any more.
      if last?.shown != view.map(Shown.init) {
        client.update { $0.clear(topics.picture(camera.configuration.name)) }
      }
      do { isLive = try await takePicture(view, of: camera) } catch {
        logger.debug(
          "picture for MQTT not taken",
          metadata: ["camera": "\(camera.configuration.name)", "reason": "\(Redaction.message("\(error)"))"])
      }
      // Nor a picture of an earlier run if the camera gives none now: it may show what is masked today.
      if last == nil {
        client.update { outbox in
          guard state.withLock({ $0.published[camera.source] }) == nil else { return }
          outbox.clearRetained(topics.picture(camera.configuration.name))
        }
      }
      state.update {
        $0.pictures[camera.source] = Picture(
          isLive: isLive, shown: view.map(Shown.init), start: start, end: CaptureClock.now)
      }
    }
  }

  /// Whether a picture is due: the first one, after a change or a move of the view, when a camera that gave none
  /// works again, or after the configured interval.
  private func isDue(_ camera: ServedCamera) -> Bool {
    guard let last = state.withLock({ $0.pictures[camera.source] }) else { return true }
    let view = shownView(of: camera)
    if last.shown != view.map(Shown.init) || view?.preview.hasArrived(since: last.start) == true {
      return true
    }
    // A camera without viewers does not report that it works until a picture is requested.
    let isRetryDue = CaptureClock.now - last.end >= Self.retryInterval
    if !last.isLive, isRetryDue || watch.report(of: camera).state == .live { return true }
    return configuration.pictures.map { CaptureClock.now - last.end >= $0 } ?? false
  }

  /// The first view that is switched on, as every client with the role `read` may see it.
  private func shownView(of camera: ServedCamera) -> ServedPreview? {
    camera.views.first(where: \.served.isEnabled)
  }

  private func takePicture(_ view: ServedPreview?, of camera: ServedCamera) async throws -> Bool {
    guard let view else { return true }
    let request = SnapshotRequest(fallback: view.offline, timeout: registry.timeouts.snapshot)
    let snapshot = try await snapshots.take([view], request)
    guard let picture = snapshot.pictures.first else { return false }
    try await publish(picture, of: view, camera)
    return snapshot.sourceState == .live
  }

  /// Publishes a snapshot that was taken on request.
  private func publish(_ taken: TakenSnapshot) async {
    let snapshot = taken.snapshot
    // The view as it was when it was drawn.
    guard let camera = registry.served[camera: snapshot.camera], let shown = shownView(of: camera),
      let view = taken.views.first(where: { $0.name == shown.name }), let picture = snapshot[view.name]
    else { return }
    do { try await publish(picture, of: view, camera) } catch {
      logger.warning(
        "snapshot not published by MQTT",
        metadata: ["camera": "\(snapshot.camera)", "reason": "\(Redaction.message("\(error)"))"])
    }
  }

  private func publish(_ picture: RenderedPicture, of view: ServedPreview, _ camera: ServedCamera)
    async throws
  {
    let size = Size(width: configuration.pictureWidth, height: 1 << 16)
    let jpeg = try await picture.jpeg(
      quality: Self.quality, maxBytes: Self.mostPictureBytes, fitting: size)
    let lease = try registry.budget.reserve(jpeg.bytes.count)
    let name = camera.configuration.name
    client.update { outbox in
      // The view may have changed or been removed meanwhile. If it changes after this check, its picture is
      // cleared afterwards.
      let shown = Shown(view)
      guard let now = registry.served[camera: name], now.source == camera.source,
        shownView(of: now).map(Shown.init) == shown
      else { return }
      // A snapshot with an earlier capture time does not replace a later one.
      let isNewest = state.update { state in
        if let last = state.published[now.source], last.shown == shown, last.captured > picture.timestamp {
          return false
        }
        state.published[now.source] = (shown, picture.timestamp)
        return true
      }
      guard isNewest else { return }
      outbox.put(topics.picture(name), jpeg.bytes, holding: lease)
    }
  }
}
