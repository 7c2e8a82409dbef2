// Schedules of scenes: their configuration, pictures, results, and the right to pictures that wait.
import Foundation
import GLPreview
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

extension ScheduleServiceTests {
  private static func scene(
    _ tiles: [Tile] = [Tile("door"), Tile("yard")], _ schedules: [ScheduleConfiguration] = [schedule()]
  ) -> SceneConfiguration {
    var scene = SceneConfiguration(
      name: "wall", scene: Scene(size: Size(width: 64, height: 48), tiles: tiles))
    scene.schedules = schedules
    return scene
  }

  private static func parts(_ configuration: ServiceFoundation.ServerConfiguration) async throws
    -> ServiceParts
  {
    let validated = try ValidatedConfiguration(configuration.patient())
    return try await ServiceParts(validated, logger: LogRecords().logger)
  }

  @Test("the schedules of a scene are read, without views, and their mistakes have the scene's path")
  func sceneKeys() throws {
    let folder = try ConfigurationFolder()
    let text = """
      snapshots: {folder: {path: /tmp/pictures}}
      cameras: {door: {source: "pattern:"}}
      scenes:
        wall:
          tiles: [door]
          schedules:
            minute: {every: 60s, name: both, to: [folder], offline: placeholder}
      """
    let schedules = try #require(try folder.load(text).scenes.first).schedules
    var minute = ScheduleConfiguration(name: "minute")
    minute.times.every = 60
    (minute.naming, minute.destinations, minute.offline) = (.both, ["folder"], .placeholder)
    #expect(schedules == [minute])

    let views = try folder.problems(text.replacing("every: 60s", with: "every: 60s, views: [main]"))
    #expect(views.count == 1 && views.first?.contains("views") == true, "\(views)")
    let destination = try folder.problems(text.replacing("to: [folder]", with: "to: [cloud]"))
    #expect(
      destination.count == 1 && destination.first?.contains("scenes.wall.schedules.minute.to") == true,
      "\(destination)")
  }

  @Test("a schedule of a scene has no destination MQTT")
  func sceneMQTT() throws {
    let folder = try ConfigurationFolder()
    func problems(_ snapshots: String, _ keys: String) throws -> [String] {
      try folder.problems(
        """
        mqtt: {server: "mqtt://127.0.0.1"}
        \(snapshots)
        cameras: {door: {source: "pattern:"}}
        scenes: {wall: {tiles: [door], schedules: {minute: {\(keys)}}}}
        """)
    }
    let pictures = "snapshots: {folder: {path: /tmp/pictures}}"
    #expect(try problems(pictures, "every: 60s") == [])
    let named = try problems(pictures, "every: 60s, to: [mqtt]")
    #expect(
      named.count == 1
        && named.first?.contains(
          "scenes.wall.schedules.minute.to: 'mqtt' gets no pictures of scenes (there are: folder)") == true,
      "\(named)")
    let none = try problems("", "every: 60s")
    #expect(
      none.count == 1
        && none.first?.contains(
          "has no destination: set snapshots.folder, snapshots.webhook or snapshots.stores") == true,
      "\(none)")
  }

  @Test(
    "pictures of a scene have the names of their moments, and /api/cameras has its schedules",
    .timeLimit(.minutes(15)))
  func scenePictures() async throws {
    try await withTemporaryFolder { folder in
      let cameras = [Self.camera("door", []), Self.camera("yard", [])]
      let configuration = Self.configuration(cameras, in: folder) {
        $0.scenes = [Self.scene([Tile("door"), Tile("yard")], [Self.schedule { $0.naming = .both }])]
      }
      try await withService(configuration) { service in
        await until { Self.sequence(folder, "main", "wall").count >= 2 }
        let schedule = try await Self.schedule(service, of: "wall")
        #expect(schedule.views == ["main"] && schedule.taken >= 1)
        let metrics = try await service.get("/metrics").text
        #expect(
          metrics.contains(
            #"glpreview_scheduled_snapshots_total{camera="wall",schedule="second",result="taken"}"#))
      }
      let moments = try Self.moments(Self.sequence(folder, "main", "wall"))
      #expect(moments == Array(Set(moments)).sorted())
      #expect(Self.files(folder, "wall").contains("latest-main.jpg"))
      #expect(Self.files(folder) == [])
      for file in Self.files(folder, "wall") {
        #expect(try JPEGProbe(Self.bytes(folder, file, "wall")).width == 64)
      }
    }
  }

  @Test(
    "a scene is taken while one of its cameras delivers frames; without any, `offline` decides",
    .timeLimit(.minutes(15)))
  func sceneOffline() async throws {
    try await withTemporaryFolder { folder in
      let cameras = [
        Self.camera("door", []), Self.camera("yard", source: "exec:exit 3", []),
      ]
      let rare: (inout ScheduleConfiguration) -> Void = { $0.times.every = 5 }
      let shown = Self.schedule("shown") {
        rare(&$0)
        $0.offline = .placeholder
      }
      var (wall, dead) = (Self.scene(), Self.scene([Tile("yard")], [Self.schedule("second", rare), shown]))
      wall.schedules = [Self.schedule("second", rare)]
      dead.name = "dead"
      try await withService(Self.configuration(cameras, in: folder) { $0.scenes = [wall, dead] }) {
        service in
        try await until { try await Self.schedule(service, of: "wall").taken >= 1 }
        try await until { try await Self.schedule(service, of: "dead").failed >= 1 }
        try await until { try await Self.schedule(service, "shown", of: "dead").taken >= 1 }
        #expect(try await Self.schedule(service, of: "dead").taken == 0)
      }
    }
  }

  @Test(
    "a scene is taken although one of its cameras is open and delivers nothing",
    .timeLimit(.minutes(15)))
  func sceneWithSilentCamera() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      let cameras = [Self.camera("door", []), Self.camera("yard", source: "script", [])]
      let wall = Self.scene([Tile("door"), Tile("yard")], [Self.schedule { $0.times.every = 2 }])
      let make: CameraRegistry.SourceMaker = { text, name, options in
        text == "script"
          ? source.source(named: name, options) : SessionSource(text, name: name, options: options)
      }
      try await withService(Self.configuration(cameras, in: folder) { $0.scenes = [wall] }, makeSource: make)
      {
        service in
        try await until { try await Self.schedule(service, of: "wall").taken >= 1 }
        await until { !Self.sequence(folder, "main", "wall").isEmpty }
      }
    }
  }

  @Test(
    "time-lapses of a scene are counted under its name",
    .timeLimit(.minutes(15)))
  func sceneTimeLapse() async throws {
    try await withTemporaryFolder { folder in
      let configuration = Self.configuration([Self.camera("door", []), Self.camera("yard", [])], in: folder) {
        $0.scenes = [Self.scene([Tile("door"), Tile("yard")], [])]
      }
      try await withService(configuration) { service in
        for name in ["wall", "none"] {
          #expect(try await service.get("/cameras/\(name)/main/timelapse.mp4").status == 404)
        }
        let metrics = try await service.get("/metrics").text
        for name in ["wall", ""] {
          let line = #"glpreview_time_lapse_requests_total{camera="\#(name)",result="missing"} 1"#
          #expect(metrics.contains(line), "\(line)")
        }
      }
    }
  }

  @Test(
    "a reload of a scene's schedules keeps its preview and the right to its pictures",
    .timeLimit(.minutes(15)))
  func sceneReload() async throws {
    let configuration = Self.configuration([Self.camera("door", []), Self.camera("yard", [])]) {
      $0.snapshots.stores = [Self.store(1)]
      $0.scenes = [Self.scene()]
    }
    let parts = try await Self.parts(configuration)
    let before = try #require(parts.registry.served[scene: "wall"])
    let right = PictureRight(before.view, in: parts.registry.served)
    var other = parts.configuration.configuration
    other.scenes[0].schedules = [Self.schedule("other")]
    try await parts.apply(other)
    let after = try #require(parts.registry.served[scene: "wall"])
    #expect(after.view.preview === before.view.preview)
    #expect(after.configuration.schedules.map(\.name) == ["other"])
    #expect(parts.events.mayShow(right))
    await parts.registry.session.close()
  }

  @Test(
    "while no node serves a scene, its configuration and the masks of all its cameras decide",
    .timeLimit(.minutes(15)))
  func rightToUnservedScene() async throws {
    let mask = PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 8, height: 8)))
    let changes: [(isShown: Bool, (inout ServiceFoundation.ServerConfiguration) -> Void)] = [
      (true, { _ in }), (false, { $0.cameras[1].options.masks = [mask] }), (false, { $0.scenes = [] }),
      (false, { $0.scenes[0].scene.tiles.removeLast() }),
    ]
    for (isShown, change) in changes {
      let configuration = Self.configuration([Self.camera("door", []), Self.camera("yard", [])]) {
        $0.snapshots.stores = [Self.store(1)]
        $0.scenes = [Self.scene()]
      }
      let parts = try await Self.parts(configuration)
      let served = parts.registry.served
      let right = PictureRight(try served.view("main", of: "wall"), in: served)
      var other = parts.configuration.configuration
      change(&other)
      for index in other.cameras.indices { other.cameras[index].home = .node("elsewhere") }
      try await parts.apply(other)
      #expect(!parts.registry.served.names.contains("wall"))
      #expect(parts.events.mayShow(right) == isShown)
      await parts.registry.session.close()
    }
  }

  @Test(
    "a picture of another node's scene may be shown only while the configuration here has the scene",
    .timeLimit(.minutes(15)))
  func rightToSceneAtAnotherNode() async throws {
    let cameras = [Self.camera("door", []), Self.camera("yard", [])]
    let wall = Self.scene([Tile("door"), Tile("yard")], [])
    try await withOwnerAndEdge(Self.configuration(cameras) { $0.scenes = [wall] }) { _, edge in
      await until { edge.inside.peers.cluster[camera: "wall"] != nil }
      var configuration = edge.inside.configuration.configuration
      (configuration.cameras, configuration.scenes) = (cameras, [wall])
      try await edge.inside.apply(configuration)
      let served = edge.inside.registry.served
      let right = PictureRight(try served.view("main", of: "wall"), in: served)
      #expect(edge.inside.events.mayShow(right))
      for index in configuration.cameras.indices { configuration.cameras[index].home = .node("owner") }
      try await edge.inside.apply(configuration)
      #expect(!edge.inside.registry.served.names.contains("wall"))
      await until { edge.inside.peers.cluster[camera: "wall"] != nil }
      #expect(edge.inside.events.mayShow(right))
      configuration.scenes = []
      try await edge.inside.apply(configuration)
      #expect(!edge.inside.events.mayShow(right))
    }
  }
}
