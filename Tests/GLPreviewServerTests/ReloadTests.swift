// Reloads beside clients: each answer is that of one configuration that held while the client waited, and every client has one.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import Logging
import NIOHTTP1
import Synchronization
import TestSupport
import Testing
import WebRTC

@testable import GLPreviewServer
@testable import MQTT
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Configuration reloads", .serialized)
struct ReloadTests {
  /// One way to configure the service, and what clients see of it.
  private struct Variant: Sendable {
    var configuration: ServerConfiguration
    /// The size of the camera `gone`; nil where there is no such camera.
    var gone: String?
    /// The size of the scene; nil where there is none.
    var scene: String?

    var names: Set<String> {
      Set(configuration.cameras.map(\.name) + configuration.scenes.map(\.name))
    }
  }

  private static func camera(_ name: String, _ source: String) -> CameraConfiguration {
    var camera = CameraConfiguration(name: name, source: source)
    camera.isRequired = false
    return camera
  }

  /// The same in all of them.
  private static let same = camera("same", "pattern:counter,size=64x36,fps=100")

  /// Drawn by chance: the camera `gone` is not there, there, another one, masked, away or hanging; the scene shows it or not.
  private static func variant(_ random: inout SeededGenerator) throws -> Variant {
    var cameras = [same]
    var tiles = [Tile("same")]
    var gone: String?
    if random.happens(0.7) {
      let (source, size) = random.oneOf([
        ("pattern:smpte,size=64x36", "64x36"), ("pattern:counter,size=48x32,fps=100", "48x32"),
        ("/nonexistent/camera.jpg", "640x360"), ("exec:exit 3", "640x360"), ("exec:sleep 5", "640x360"),
      ])
      var camera = camera("gone", source)
      camera.keepsWarm = random.happens(0.3)
      if random.happens(0.3) { camera.options.masks = [try PrivacyMask(parsing: "8x8+4+4")] }
      if random.happens(0.3) { camera.views.append(ServedView(ViewConfiguration(name: "other", width: 32))) }
      cameras.append(camera)
      tiles.append(Tile("gone"))
      gone = size
    }
    var configuration = ServerConfiguration(cameras: random.happens(0.5) ? cameras : cameras.reversed())
    configuration.limits.requestsPerSecond = 1_000_000
    var scene: String?
    if random.happens(0.7) {
      let width = random.oneOf([128, 96])
      configuration.scenes = [
        SceneConfiguration(name: "scene", scene: Scene(size: Size(width: width, height: 36), tiles: tiles))
      ]
      scene = "\(width)x36"
    }
    return Variant(configuration: configuration, gone: gone, scene: scene)
  }

  /// Which configurations may hold, and what was seen of them.
  private final class History: Sendable {
    private let state: Mutex<State>

    private struct State {
      var variants: [Variant]
      var first = 0
      var answers = 0
      var wrong: [String] = []
      var isOver = false
    }

    init(_ first: Variant) { state = Mutex(State(variants: [first])) }

    /// From now on it may hold.
    func begins(_ variant: Variant) { state.withLock { $0.variants.append(variant) } }
    /// No earlier one holds any more.
    func holds() { state.withLock { $0.first = $0.variants.count - 1 } }
    func end() { state.withLock { $0.isOver = true } }

    var isOver: Bool { state.withLock { $0.isOver } }
    var answers: Int { state.withLock { $0.answers } }
    var wrong: [String] { state.withLock { $0.wrong } }
    var mark: Int { state.withLock { $0.first } }

    /// Takes what a client saw since `mark`; `isRight` says whether a configuration explains it.
    func saw(_ text: String, since mark: Int, _ isRight: (Variant) throws -> Bool) {
      state.withLock { state in
        state.answers += 1
        let isExplained = state.variants[mark...].contains { (try? isRight($0)) == true }
        if !isExplained { state.wrong.append("\(text), by none of \(mark)...\(state.variants.count - 1)") }
      }
    }
  }

  private static let pathsOfGone = [
    "/cameras/gone/main.jpg?timeout=60000", "/cameras/gone/main.jpg?timeout=60000&max_age=0",
    "/cameras/gone/main.png?timeout=60000", "/cameras/gone/other.jpg?timeout=60000",
  ]
  private static let otherPaths = [
    "/cameras/scene/main.jpg?timeout=60000", "/cameras/scene/main.png?timeout=60000",
    "/cameras/same/main.jpg?timeout=60000&max_age=0",
    "/api/cameras", "/api/cameras/gone", "/metrics",
  ]

  private static func ask(
    _ path: String, of service: RunningService, _ history: History
  ) async throws {
    let mark = history.mark
    let answer = try await service.get(path)
    let size = answer.headers["X-View-Size"].first
    let text = "\(path): \(answer.status) \(size ?? "") \(answer.status >= 400 ? answer.text : "")"
    history.saw(text, since: mark) { variant in
      let gone = variant.configuration.cameras.first { $0.name == "gone" }
      switch path.prefix(while: { $0 != "?" }) {
      case "/cameras/gone/other.jpg": return answer.status == (gone?.views.count == 2 ? 200 : 404)
      case let path where path.hasPrefix("/cameras/gone/"):
        // Who waits for a camera that hangs is freed by the reload that replaces it.
        return variant.gone.map { answer.status == 200 && size == $0 } ?? (answer.status == 404)
      case let path where path.hasPrefix("/cameras/scene/"):
        return variant.scene.map { answer.status == 200 && size == $0 } ?? (answer.status == 404)
      case "/api/cameras/gone": return answer.status == (gone == nil ? 404 : 200)
      case "/api/cameras":
        return try answer.status == 200 && variant.names == Set(answer.json(Cameras.self).cameras.map(\.name))
      case "/cameras/same/main.jpg": return answer.status == 200 && size == "64x36"
      default: return answer.status == 200
      }
    }
  }

  private struct Cameras: Decodable {
    let cameras: [Camera]

    struct Camera: Decodable {
      let name: String
    }
  }

  /// Streams of a camera or a scene, which end cleanly where that is replaced.
  private static func stream(_ service: RunningService, _ history: History, _ random: inout SeededGenerator)
    async throws
  {
    let mark = history.mark
    let name = random.oneOf(["gone", "scene"])
    do {
      let parts = try await service.parts("/cameras/\(name)/main.mjpeg", 2).parts
      let sizes = Set(parts.map(\.size))
      history.saw("stream of \(name): \(sizes)", since: mark) { variant in
        sizes.isEmpty || sizes == [(name == "gone" ? variant.gone : variant.scene) ?? ""]
      }
    } catch let error as RunningService.UnexpectedStatus {
      // One whose camera is replaced again and again before it has shown anything has ten seconds all the same.
      if error.code == 504, history.mark > mark + 1 { return }
      history.saw("stream of \(name): \(error.code) \(error.body)", since: mark) { variant in
        error.code == 404 && (name == "gone" ? variant.gone : variant.scene) == nil
      }
    }
  }

  @Test(
    "during reloads each response matches an active configuration; unchanged streams continue",
    .timeLimit(.minutes(15)), arguments: [1, 2, 3] as [UInt64])
  func reloads(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let first = try Self.variant(&random)
    // The last one hangs for nobody.
    let last = Variant(configuration: ServerConfiguration(cameras: [Self.same]), gone: nil, scene: nil)
    let variants = try (0..<30).map { _ in try Self.variant(&random) } + [last]
    let history = History(first)

    // One that is asked for again is not opened again, however late.
    try await withService(first.configuration, options: .init(linger: allTheTimeThereIs)) { service in
      let same = try service.inside.registry.view(nil, of: "same")
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        for client in 0..<5 {
          // Two never wait for a camera that hangs, so that there are always answers.
          let paths = client < 2 ? Self.otherPaths : Self.otherPaths + Self.pathsOfGone
          group.addTask {
            var random = SeededGenerator(seed: seed &* 100 &+ UInt64(client))
            while !history.isOver { try await Self.ask(random.oneOf(paths), of: service, history) }
          }
        }
        group.addTask {
          var random = SeededGenerator(seed: seed &* 100 &+ 99)
          while !history.isOver { try await Self.stream(service, history, &random) }
        }
        group.addTask {
          // What is the same in all configurations runs on.
          for try await _ in try await service.openStream("/cameras/same/main.mjpeg") where history.isOver {
            return
          }
          Issue.record("the stream of the camera that stayed came to an end")
        }

        for variant in variants {
          let answers = history.answers
          await until { history.answers >= answers + 5 }
          history.begins(variant)
          try await service.inside.apply(variant.configuration)
          history.holds()
        }
        history.end()
        try await group.waitForAll()
      }

      let session = service.inside.registry.session
      #expect(try service.inside.registry.view(nil, of: "same").preview === same.preview)
      #expect(session[same.source ?? ""]?.statistics.opens == 1)
      // All that went is closed behind the reload.
      let served = service.inside.registry.served
      await until { Set(session.sources.map(\.name)) == Set(served.cameras.map(\.source)) }
      await until { session.allPreviews.count <= served.previews.count }
    }

    #expect(history.wrong == [])
    #expect(history.answers > 150)
  }

  @Test("a reload that fails to prepare throws an error and changes nothing")
  func failure() async throws {
    var random = SeededGenerator(seed: 4)
    let configuration = try Self.variant(&random).configuration

    try await withService(configuration) { service async throws in
      let registry = service.inside.registry
      let sources = registry.session.sources.map(\.name)
      let previews = registry.session.allPreviews.map(\.name)
      var other = ServerConfiguration(cameras: [Self.camera("new", "pattern:smpte,size=64x36")])
      other.cameras.append(Self.camera("broken", "pattern:counter"))
      other.cameras[1].avatar = "/nonexistent/avatar.png"

      await #expect(throws: SourceError.self) { try await service.inside.apply(other) }

      #expect(registry.session.sources.map(\.name) == sources)
      #expect(registry.session.allPreviews.map(\.name) == previews)
      #expect(registry.served.generation == 1)
      #expect(try await service.get("/cameras/new/main.jpg").status == 404)
      #expect(try await service.get("/cameras/same/main.jpg").status == 200)
    }
  }

  @Test("concurrent reloads are applied one by one, and one of their configurations remains")
  func together() async throws {
    var random = SeededGenerator(seed: 5)
    let variants = try (0..<12).map { _ in try Self.variant(&random) }

    try await withService(variants[0].configuration) { service in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for variant in variants { group.addTask { try await service.inside.apply(variant.configuration) } }
        try await group.waitForAll()
      }

      let (registry, session) = (service.inside.registry, service.inside.registry.session)
      let served = registry.served
      #expect(served.generation == 1 + variants.count)
      #expect(
        variants.contains {
          $0.configuration.cameras == served.cameras.map(\.configuration)
            && $0.configuration.scenes == served.scenes.map(\.configuration)
        })
      await until { Set(session.sources.map(\.name)) == Set(served.cameras.map(\.source)) }
      #expect(Set(session.allPreviews.map(\.name)) == Set(served.previews.map(\.name)))
    }
  }

  @Test("a reload logs the changed keys that need a restart, and no others")
  func restart() async throws {
    let log = LogRecords()
    @Sendable func warnings() -> [String] { log.lines.filter { $0.hasPrefix("restart needed") } }
    try await withService(ServerConfiguration(cameras: [Self.same]), logger: log.logger) { service in
      var configuration = service.inside.configuration.configuration
      configuration.webRTC.listen = .off
      configuration.access.allowedHosts = ["*"]
      configuration.cameras[0].views[0].quality = 50
      try await service.inside.apply(configuration)
      #expect(warnings() == [])

      configuration.mqtt = MQTTConfiguration()
      configuration.mqtt?.server.host = "broker.example"
      configuration.limits.pixels = 1
      configuration.snapshots.webhook = WebhookConfiguration(url: "https://a.example/")
      try await service.inside.apply(configuration)
      #expect(warnings().count == 1)
      #expect(warnings().first?.hasSuffix("keys=limits.pixels, mqtt.server, snapshots.webhook.url") == true)

      try await service.inside.apply(service.inside.configuration.configuration)
      #expect(warnings().count == 1)
    }
  }

  @Test("a view change made while a reload is being prepared is kept")
  func changed() async throws {
    let configuration = ServerConfiguration(cameras: [Self.camera("same", "pattern:smpte,size=64x36")])
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let registry = try await CameraRegistry(configuration, logger: logger)
    let prepared = PreparedState(configuration, from: registry.served)
    _ = try registry.update("main", of: "same") { $0.view.width = 32 }
    #expect(prepared.swapped(registry.served).state.cameras[0].views[0].served.view.width == 32)
    await registry.session.close()
  }

  @Test("a reload that removes all credentials is rejected if other machines reach the service")
  func door() async throws {
    var configuration = ServerConfiguration()
    configuration.bind = .host("0.0.0.0", port: 0)
    configuration.access.tokens = [.init(secret: "secret", role: .read)]
    let parts = try await ServiceParts(
      ValidatedConfiguration(configuration), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    // By itself it makes sense: on loopback nobody needs credentials.
    let loopback = try ValidatedConfiguration(ServerConfiguration())

    let error = await #expect(throws: ConfigurationError.self) { try await parts.apply(loopback) }

    #expect(error?.problems.map(\.key) == ["bind"])
    #expect(parts.access.asksForCredentials)
    await parts.registry.session.close()
  }
}
