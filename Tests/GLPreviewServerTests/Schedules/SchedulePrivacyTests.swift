// Pictures that wait for a destination while their view is hidden: which may still be shown, and that no other is sent.
import Foundation
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import PreviewCore
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

extension ScheduleServiceTests {
  /// A reload, and whether a picture of the view `main` of the first camera may be shown after it.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isShown: Bool
    let change: @Sendable (inout ServiceFoundation.ServerConfiguration) -> Void

    init(
      _ text: String, isShown: Bool,
      _ change: @escaping @Sendable (inout ServiceFoundation.ServerConfiguration) -> Void
    ) { (testDescription, self.isShown, self.change) = (text, isShown, change) }
  }

  static let changes: [Change] = [
    Change("another camera", isShown: true) { $0.cameras.append(Self.camera("third", [])) },
    Change("another source", isShown: true) { $0.cameras[0].source = "pattern:smpte,size=64x48,fps=20" },
    Change("another schedule", isShown: true) { $0.cameras[0].schedules = [Self.schedule("other")] },
    Change("another width", isShown: true) { $0.cameras[0].views[0].view.width = 16 },
    Change("locked as it is", isShown: true) { $0.cameras[0].views[0].isLocked = true },
    Change("locked with another width", isShown: false) {
      $0.cameras[0].views[0].view.width = 16
      $0.cameras[0].views[0].isLocked = true
    },
    Change("switched off", isShown: false) { $0.cameras[0].views[0].isEnabled = false },
    Change("masked", isShown: false) { $0.cameras[0].options.masks = Self.masks },
    Change("view removed", isShown: false) { $0.cameras[0].views = [Self.view("face")] },
    Change("camera removed", isShown: false) { $0.cameras.remove(at: 0) },
  ]

  private static let masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 8, height: 8)))]

  private static func right(to view: String, of camera: String, _ parts: ServiceParts) throws -> PictureRight
  {
    let served = parts.registry.served
    return PictureRight(try served.view(view, of: camera), in: served)
  }

  private static func parts(_ configuration: ServiceFoundation.ServerConfiguration) async throws
    -> ServiceParts
  {
    let validated = try ValidatedConfiguration(configuration.patient())
    return try await ServiceParts(validated, logger: LogRecords().logger)
  }

  private static func apply(_ change: Change, to parts: ServiceParts) async throws {
    var configuration = parts.configuration.configuration
    change.change(&configuration)
    try await parts.apply(configuration)
  }

  // MARK: - The right to a picture

  @Test(
    "a picture may be shown while its view is on, not locked in another form, and its camera has the same masks",
    .timeLimit(.minutes(15)), arguments: changes)
  func right(change: Change) async throws {
    let configuration = Self.configuration([Self.camera("door", []), Self.camera("yard", [])]) {
      $0.snapshots.stores = [Self.store(1)]
    }
    let parts = try await Self.parts(configuration)
    let (door, yard) = (
      try Self.right(to: "main", of: "door", parts), try Self.right(to: "main", of: "yard", parts)
    )
    #expect(parts.events.mayShow(door) && parts.events.mayShow(yard))
    try await Self.apply(change, to: parts)
    #expect(parts.events.mayShow(door) == change.isShown)
    #expect(parts.events.mayShow(yard))
    try await parts.apply(parts.configuration.configuration)
    #expect(parts.events.mayShow(door))
    await parts.registry.session.close()
  }

  @Test(
    "while no node has the camera, the configuration of this node decides whether a picture may be shown",
    arguments: changes)
  func rightBetweenNodes(change: Change) async throws {
    let configuration = Self.configuration([Self.camera("door", []), Self.camera("yard", [])]) {
      $0.snapshots.stores = [Self.store(1)]
    }
    let parts = try await Self.parts(configuration)
    let right = try Self.right(to: "main", of: "door", parts)
    var other = parts.configuration.configuration
    change.change(&other)
    for index in other.cameras.indices where other.cameras[index].name == "door" {
      other.cameras[index].home = .node("elsewhere")
    }
    try await parts.apply(other)
    #expect(!parts.registry.served.names.contains("door"))
    #expect(parts.events.mayShow(right) == change.isShown)
    await parts.registry.session.close()
  }

  @Test(
    "a change of the reference size hides pictures of a camera with masks, and of a locked view with a crop")
  func rightAtAnotherSize() async throws {
    let cases: [(masks: [PrivacyMask], isLocked: Bool, isShown: Bool)] = [
      ([], false, true), (Self.masks, false, false), ([], true, false),
    ]
    for (masks, isLocked, isShown) in cases {
      var view = ServedView(ViewConfiguration(crop: Rectangle(x: 0, y: 0, width: 16, height: 16)))
      view.isLocked = isLocked
      var door = Self.camera("door", views: [view], [])
      (door.options.masks, door.options.referenceSize) = (masks, Size(width: 64, height: 48))
      let parts = try await Self.parts(Self.configuration([door]))
      let right = try Self.right(to: "main", of: "door", parts)
      #expect(parts.events.mayShow(right))
      door.options.referenceSize = Size(width: 128, height: 96)
      for home in [nil, CameraNode.node("elsewhere")] {
        door.home = home
        var other = parts.configuration.configuration
        other.cameras = [door]
        try await parts.apply(other)
        #expect(parts.events.mayShow(right) == isShown, "\(masks.count) masks, locked: \(isLocked)")
      }
      await parts.registry.session.close()
    }
  }

  @Test("a change of a view at run time ends the right, and its end brings it back")
  func rightAtRunTime() async throws {
    let parts = try await Self.parts(Self.configuration([Self.camera("door", [])]))
    let right = try Self.right(to: "main", of: "door", parts)
    _ = try parts.registry.update("main", of: "door") { $0.isEnabled = false }
    #expect(!parts.events.mayShow(right))
    _ = try parts.registry.update("main", of: "door") { $0.isEnabled = true }
    #expect(parts.events.mayShow(right))

    // Drawn while the view was changed: its form is not known.
    let target = try parts.registry.view("main", of: "door")
    _ = try parts.registry.update("main", of: "door") { $0.view.width = 16 }
    let changed = PictureRight(target, in: parts.registry.served)
    #expect(parts.events.mayShow(changed))
    _ = try parts.registry.update("main", of: "door") {
      $0.view.width = nil
      $0.isLocked = true
    }
    #expect(!parts.events.mayShow(changed) && parts.events.mayShow(right))
    await parts.registry.session.close()
  }

  @Test("a picture of a scene may be shown while the scene and the masks of its cameras are the same")
  func rightToScene() async throws {
    var configuration = Self.configuration([Self.camera("door", []), Self.camera("yard", [])])
    configuration.scenes = [
      SceneConfiguration(name: "wall", scene: Scene(size: Size(width: 64, height: 48), tiles: [Tile("door")]))
    ]
    let parts = try await Self.parts(configuration)
    let right = try Self.right(to: "main", of: "wall", parts)
    let changes: [Change] = [
      Change("nothing", isShown: true) { _ in },
      Change("masks of another camera", isShown: true) { $0.cameras[1].options.masks = Self.masks },
      Change("masks", isShown: false) { $0.cameras[0].options.masks = Self.masks },
      Change("another tile", isShown: false) { $0.scenes[0].scene.tiles.append(Tile("yard")) },
      Change("no scene", isShown: false) { $0.scenes = [] },
    ]
    for change in changes {
      try await Self.apply(change, to: parts)
      #expect(parts.events.mayShow(right) == change.isShown, "\(change.testDescription)")
    }
    await parts.registry.session.close()
  }

  @Test(
    "a picture of another node's camera may be shown if its view is on and not locked there, with the same masks here"
  )
  func rightAtAnotherNode() async throws {
    let door = Self.camera("door", [])
    try await withOwnerAndEdge(ServiceFoundation.ServerConfiguration(cameras: [door])) { owner, edge in
      var configuration = edge.inside.configuration.configuration
      configuration.cameras = [door]
      try await edge.inside.apply(configuration)
      let right = try Self.right(to: "main", of: "door", edge.inside)
      #expect(edge.inside.events.mayShow(right))
      configuration.cameras = []
      try await edge.inside.apply(configuration)
      #expect(edge.inside.events.mayShow(right))

      // The configuration of this node still has the camera, and its masks.
      configuration.cameras = [door]
      configuration.cameras[0].home = .node("owner")
      try await edge.inside.apply(configuration)
      #expect(!edge.inside.registry.served.names.contains("door"))
      #expect(edge.inside.events.mayShow(right))
      configuration.cameras[0].options.masks = Self.masks
      try await edge.inside.apply(configuration)
      #expect(!edge.inside.events.mayShow(right))
      configuration.cameras = []
      try await edge.inside.apply(configuration)

      let hides: [(inout ServedView) -> Void] = [{ $0.isLocked = true }, { $0.isEnabled = false }]
      for hide in hides {
        var other = owner.inside.configuration.configuration
        hide(&other.cameras[0].views[0])
        try await owner.inside.apply(other)
        await until { !edge.inside.events.mayShow(right) }
        try await owner.inside.apply(owner.inside.configuration.configuration)
        await until { edge.inside.events.mayShow(right) }
      }
    }
  }

  // MARK: - Pictures that wait

  @Test(
    "a picture that waits for a store is not sent once its view is hidden, and pictures of other views are",
    arguments: changes.filter { !$0.isShown })
  func waitingForStore(change: Change) async throws {
    let receiver = HeldReceiver()
    let router = Router(context: ServiceContext.self)
    router.put("/cams/**") { request, _ in try await receiver.answer(to: request) }
    try await withServer(of: router) { server in
      let yard = Self.camera("yard", [Self.schedule { $0.times.every = 5 }])
      let configuration = Self.configuration([Self.camera(), yard]) {
        $0.snapshots.stores = [Self.store(server.port)]
      }
      let stage = try await Self.withStage(configuration) { stage in
        defer { receiver.release() }
        let store = try #require(stage.scheduler.stores.first)
        stage.set(2)
        await until { receiver.all.count == 1 }
        try await Self.apply(change, to: stage.parts)
        receiver.release()
        await until { store.status.dropped == 1 }
        stage.set(5)
        await until { receiver.all.contains { $0.path.hasPrefix("/cams/yard/main/") } }
      }
      #expect(receiver.all.count { $0.path == "/cams/door/main/2026-11-30T12-00-02Z.jpg" } == 1)
      let lines = stage.records.lines.filter { $0.contains("dropped") }
      #expect(lines == ["pictures for store web dropped: reason=may no longer be shown"])
    }
  }

  /// Takes a snapshot of a camera, and sends it to the webhook.
  private static func send(_ camera: String, of parts: ServiceParts, by events: ServiceEvents) async throws {
    let request = SnapshotRequest(.next, timeout: allTheTimeThereIs)
    let result = try await parts.snapshots.takeScheduled(of: camera, request) { $0.views }
    let (taken, rights) = try #require(result)
    var sending = ScheduledSending(moment: .now)
    sending.toWebhook = true
    events.send(taken, rights, sending)
  }

  @Test(
    "a snapshot that waits for the webhook is not sent once its view is hidden, and snapshots of other views are",
    arguments: changes.filter { !$0.isShown })
  func waitingForWebhook(change: Change) async throws {
    let receiver = HeldReceiver()
    let router = Router(context: ServiceContext.self)
    router.post("/hook") { request, _ in try await receiver.answer(to: request) }
    try await withServer(of: router) { server in
      defer { receiver.release() }
      let parts = try await Self.parts(
        Self.configuration([Self.camera("door", []), Self.camera("yard", [])]))
      var destinations = parts.configuration.configuration.snapshots
      destinations.webhook = WebhookConfiguration(url: "http://localhost:\(server.port)/hook")
      let records = LogRecords()
      let events = ServiceEvents(
        destinations, EventLinks(access: parts.access, hasReplay: { _ in false }), metrics: parts.metrics,
        logger: records.logger,
        times: .init(connects: allTheTimeThereIs, answers: allTheTimeThereIs, ends: allTheTimeThereIs),
        mayShow: parts.events.mayShow)
      let webhook = try #require(events.webhook)
      let group = ServiceGroup(services: events.services, logger: records.logger)
      async let running: Void = group.run()

      // The second one waits behind the first.
      for _ in 0..<2 { try await Self.send("door", of: parts, by: events) }
      await until { receiver.all.count == 1 && webhook.status.waiting == 1 }
      try await Self.apply(change, to: parts)
      receiver.release()
      await until { webhook.status.dropped == 2 }
      try await Self.send("yard", of: parts, by: events)
      await until { receiver.all.count == 2 }

      await group.triggerGracefulShutdown()
      try await running
      await parts.registry.session.close()
      #expect(receiver.all.map { $0.body.contains(#""camera":"door""#) } == [true, false])
      let lines = records.lines.filter { $0.contains("dropped") }
      #expect(lines == ["webhook events dropped: reason=may no longer be shown"])
    }
  }
}

/// A server that answers its first request with 503, once a test says so, and all others with 201.
private final class HeldReceiver: Sendable {
  private let received = Mutex<[(path: String, body: String)]>([])
  private let isReleased = Watched(false)

  var all: [(path: String, body: String)] { received.withLock { $0 } }

  func release() { isReleased.update { $0 = true } }

  func answer(to request: Request) async throws -> Response {
    let body = try await request.body.collect(upTo: 1 << 20)
    // A picture is not text, but an event is.
    let text = String(decoding: body.readableBytesView, as: UTF8.self)
    let isFirst = received.withLock { received in
      received.append((request.uri.path, text))
      return received.count == 1
    }
    guard isFirst else { return Response(status: .created) }
    _ = try await isReleased.first { $0 ? true : nil }
    return Response(status: .serviceUnavailable)
  }
}
