// Tells an MQTT server of this node's cameras: their states, pictures, events and Home Assistant's discovery; and takes
// snapshots when it is asked to.
internal import FoundationEssentials
internal import Logging
internal import ServiceLifecycle

/// Each node tells of the cameras that it serves. Nothing here delays the service, or ends it.
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
    /// The cameras that the server was told of.
    var cameras: Set<String> = []
    /// Those that are watched for motion, or have told of some.
    var moving: Set<String> = []
    /// Each camera's last picture, by the name of its source.
    var pictures: [String: Picture] = [:]
    /// What each camera's published picture shows, and when it was captured, by the name of its source.
    var published: [String: (shown: Shown, captured: CaptureInstant)] = [:]
  }

  /// A view as it was served.
  private struct Shown: Equatable {
    let view: ObjectIdentifier
    let served: ServedView

    init(_ view: ServedPreview) { (self.view, served) = (ObjectIdentifier(view.preview), view.served) }
  }

  private struct Picture {
    let time: CaptureInstant
    let isLive: Bool
    /// What it shows; nil if the camera had no view that is switched on.
    let shown: Shown?
  }

  private static let closesWithin = Duration.seconds(1)
  /// When a camera that gave no picture is asked again, though nothing tells that it works.
  private static let asksLostEvery = Duration.seconds(10)
  private static let lookInterval = Duration.seconds(1)
  /// How often frame rates are told, in looks.
  private static let looksPerState = 10
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
    // The same id at each connection has the server end an old one, with its will, before it lets the new one in.
    let id = "glpreview-\(configuration.prefix.replacing("/", with: "-"))-\(node)"
    client = try MQTTClient(
      configuration, id: id,
      will: MQTTMessage(topic: topics.status, payload: Array("offline".utf8), isRetained: true),
      subscribingTo: [topics.commands], times: core.registry.patience.mqtt, counting: core.metrics,
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
        group.addTask { await self.tellEvents() }
        group.addTask { await self.look() }
        group.addTask { for await snapshot in self.taken { await self.publish(snapshot) } }
        group.addTask { for await message in self.client.messages { await self.obey(message) } }
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

  /// Has the server know what is served here, and how it is.
  private func tellStates() {
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
      // Nothing moves before a camera that has told of nothing, whatever the server still has.
      let still = Set(watched).subtracting(state.moving)
      state.moving.formUnion(still)
      return (gone, new, state.moving, still)
    }
    client.update { outbox in
      for camera in gone {
        // What another node tells of it stays.
        let released = peers.moves(camera) || peers.cluster[camera: camera] != nil
        let others = [topics.state(camera), topics.picture(camera), topics.motion(camera)]
        for topic in topics.discovery(of: camera, hasMotion: true).map(\.topic) + others {
          if released { outbox.release(topic) } else { outbox.clear(topic) }
        }
      }
      // The server keeps what an earlier run has told, of views and of motion that may have been switched off since.
      for camera in new {
        if registry.served[camera: camera].flatMap(shownView(of:)) == nil {
          outbox.forget(topics.picture(camera))
        }
        if !moving.contains(camera) { outbox.forget(topics.motion(camera)) }
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

  /// Looks once a second for pictures that are due, and less often for frame rates. A change of a view
  /// that hides something clears its picture at once.
  private func look() async {
    var number = 0
    while !Task.isCancelled {
      if number % Self.looksPerState == 0 { tellStates() }
      number += 1
      if client.isConnected { await takePictures() }
      let next = CaptureClock.now + Self.lookInterval
      while !Task.isCancelled, CaptureClock.now < next {
        let served = registry.served
        for camera in served.cameras { clearHidden(camera) }
        _ = try? await registry.served(after: served.changes, until: next)
      }
    }
  }

  /// Has the server forget the picture of a camera if that shows something else than the camera's first view does now.
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

  private func tellEvents() async {
    for await event in log.own() {
      if event.type == "motion" { tellMotion(event) }
      if event.type != "snapshot" { tellStates() }
      let message = MQTTMessage(topic: topics.event(event.type), payload: event.data)
      let dropped = client.update { $0.add(message) }
      if dropped > 0 { metrics.count(.mqtt(.dropped), by: dropped) }
    }
  }

  /// A camera has a motion sensor as soon as it tells of motion.
  private func tellMotion(_ event: OwnEvent) {
    guard let event = try? JSONDecoder().decode(Event.self, from: Data(event.data)),
      let camera = event.camera, registry.served[camera: camera] != nil, let what = event.what
    else { return }
    let isOn = what.hasSuffix("started")
    guard isOn || what.hasSuffix("ended") else { return }
    state.update { _ = $0.moving.insert(camera) }
    client.update { $0.put(topics.motion(camera), Array((isOn ? "ON" : "OFF").utf8)) }
  }

  // MARK: Snapshots

  /// Takes a snapshot as POST does, one after another.
  private func obey(_ message: MQTTMessage) async {
    // What was kept is no command: it would be obeyed at every connection.
    guard !message.isRetained, let camera = topics.camera(ofCommand: message.topic),
      registry.served[camera: camera] != nil
    else { return }
    do {
      try await snapshots.counting {
        let options = try SnapshotOptions(json: [], timeout: registry.patience.snapshot)
        _ = try await snapshots.take(options, of: camera) { _ in }
      }
      metrics.count(.mqttCommand(.done))
    } catch {
      metrics.count(.mqttCommand(.failed))
      logger.warning(
        "snapshot not taken that was asked for by MQTT",
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
      let last = state.withLock { $0.pictures[camera.source] }
      // The server keeps no picture of what nobody may see any more.
      if last?.shown != view.map(Shown.init) {
        client.update { $0.clear(topics.picture(camera.configuration.name)) }
      }
      do { isLive = try await takePicture(view, of: camera) } catch {
        logger.debug(
          "no picture for MQTT",
          metadata: ["camera": "\(camera.configuration.name)", "reason": "\(Redaction.message("\(error)"))"])
      }
      // Nor one of an earlier run, which may show what is masked now, in place of one that the camera does not give.
      if last == nil {
        client.update { outbox in
          guard state.withLock({ $0.published[camera.source] }) == nil else { return }
          outbox.forget(topics.picture(camera.configuration.name))
        }
      }
      state.update {
        $0.pictures[camera.source] = Picture(
          time: CaptureClock.now, isLive: isLive, shown: view.map(Shown.init))
      }
    }
  }

  /// A camera that gave none is asked again when it works, and one that shows something else now.
  private func isDue(_ camera: ServedCamera) -> Bool {
    guard let last = state.withLock({ $0.pictures[camera.source] }) else { return true }
    if last.shown != shownView(of: camera).map(Shown.init) { return true }
    // One that nobody watches is not seen to work until it is asked.
    let isRested = CaptureClock.now - last.time >= Self.asksLostEvery
    if !last.isLive, isRested || watch.report(of: camera).state == .live { return true }
    return configuration.pictures.map { CaptureClock.now - last.time >= $0 } ?? false
  }

  /// The first view that is switched on, as everybody may see it who may look at all.
  private func shownView(of camera: ServedCamera) -> ServedPreview? {
    camera.views.first(where: \.served.isEnabled)
  }

  private func takePicture(_ view: ServedPreview?, of camera: ServedCamera) async throws -> Bool {
    guard let view else { return true }
    let request = SnapshotRequest(fallback: view.offline, timeout: registry.patience.snapshot)
    let snapshot = try await snapshots.take([view], request)
    guard let picture = snapshot.pictures.first else { return false }
    try await publish(picture, of: view, camera)
    return snapshot.sourceState == .live
  }

  /// A snapshot that somebody has taken.
  private func publish(_ taken: TakenSnapshot) async {
    let snapshot = taken.snapshot
    // As it was when it was drawn.
    guard let camera = registry.served[camera: snapshot.camera], let shown = shownView(of: camera),
      let view = taken.views.first(where: { $0.name == shown.name }), let picture = snapshot[view.name]
    else { return }
    do { try await publish(picture, of: view, camera) } catch {
      logger.warning(
        "snapshot not sent by MQTT",
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
      // It may have been removed meanwhile; what is cleared is cleared after this, or the camera is not there any more.
      let shown = Shown(view)
      guard let now = registry.served[camera: name], now.source == camera.source,
        shownView(of: now).map(Shown.init) == shown
      else { return }
      // A snapshot of an earlier moment does not replace a later one.
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
