// Moves of views over HTTP: poses, positions, differences, stops, and what is refused.
import FoundationEssentials
import GLPreview
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Moves of views over HTTP", .timeLimit(.minutes(15)))
struct ViewMoveTests {
  /// A source that gives one frame during a test.
  private static let pattern = "pattern:smpte,size=160x160,fps=0.001"
  private static let still = "max_age=86400000"
  private static let path = "/api/cameras/camera/views/left"
  private static let picture = "/cameras/camera/left.png?\(still)"

  private static func configuration() throws -> ServerConfiguration {
    var left = ServedView(ViewConfiguration(name: "left", width: 64, height: 36))
    try left.view.set("yaw", to: "-20")
    try left.view.set("hfov", to: "60")
    var door = PoseChange()
    try door.set("yaw", to: 40)
    left.positions["door"] = door
    var locked = left
    locked.view.name = "locked"
    locked.isLocked = true
    var camera = CameraConfiguration(source: pattern, views: [ServedView(), left, locked])
    camera.options.lens = Lens(.fisheye(), fov: 180)
    camera.keepsWarm = true
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.limits.requestsPerSecond = 1_000_000
    let scene = Scene(size: Size(width: 64, height: 36), tiles: [Tile("camera")])
    configuration.scenes = [SceneConfiguration(name: "both", scene: scene)]
    return configuration
  }

  private struct Pose: Decodable, Equatable {
    var yaw: Double
    var pitch = 0.0
    var roll = 0.0
    var hfov: Double?
  }

  private struct Answer: Decodable {
    let view: String
    let from: Pose
    let to: Pose
    let start: String
    let end: String
    let superseded: Bool
  }

  private struct Listed: Decodable {
    struct Move: Decodable {
      let to: Pose
    }

    let name: String
    let yaw: Double?
    let hfov: Double?
    let move: Move?
    let positions: [String: [String: Double]]?
  }

  private struct Camera: Decodable {
    let views: [Listed]
  }

  private static func move(_ body: String, by service: RunningService) async throws -> Answer {
    let answer = try await service.send("POST", path + "/move", body: body)
    #expect(answer.status == 200, "\(body): \(answer.text)")
    return try answer.json(Answer.self)
  }

  private static func left(of service: RunningService) async throws -> Listed? {
    try await service.get("/api/cameras/camera").json(Camera.self).views.first { $0.name == "left" }
  }

  @Test("a jump, a position and a difference show what a view that stands there shows")
  func poses() async throws {
    try await withService(Self.configuration()) { service in
      func shown(_ yaw: String, _ hfov: String) async throws {
        let moved = try await service.get(Self.picture)
        let other = "/cameras/camera/main.png?\(Self.still)&width=64&height=36&yaw=\(yaw)&hfov=\(hfov)"
        let standing = try await service.get(other)
        #expect(moved.status == 200 && moved.bytes == standing.bytes, "\(yaw)")
      }
      try await shown("-20", "60")
      let first = try await Self.move(#"{"to": {"yaw": 20.5, "hfov": 50}}"#, by: service)
      #expect(first.view == "left" && first.from == Pose(yaw: -20, hfov: 60) && !first.superseded)
      #expect(first.to == Pose(yaw: 20.5, hfov: 50) && first.start == first.end)
      try await shown("20.5", "50")
      let door = try await Self.move(#"{"to": "door", "over": 0}"#, by: service)
      #expect(door.from == first.to && door.to == Pose(yaw: 40, hfov: 50))
      try await shown("40", "50")
      let other = try await Self.move(#"{"by": {"yaw": -50, "hfov": -10}, "over": "0s"}"#, by: service)
      #expect(other.to == Pose(yaw: -10, hfov: 40))
      try await shown("-10", "40")
      let listed = try await Self.left(of: service)
      #expect(listed?.yaw == -10 && listed?.hfov == 40 && listed?.move == nil)
      #expect(listed?.positions == ["door": ["yaw": 40]])
    }
  }

  @Test(
    "while a view moves, its target is configured, its pictures differ, and another move or a stop ends it")
  func overTime() async throws {
    try await withService(Self.configuration()) { service in
      try await withEvents(of: [service]) { ears in
        let before = try await service.get(Self.picture)
        let first = try await Self.move(#"{"to": {"yaw": 60}, "over": "1h"}"#, by: service)
        #expect(first.start < first.end && first.to.hfov == 60)
        let listed = try await Self.left(of: service)
        #expect(listed?.yaw == 60 && listed?.move?.to == first.to)
        // The frame is the same, and none newer comes: the present decides.
        let tag = try #require(before.headers.first(name: "ETag"))
        await until { (try? await service.get(Self.picture, [("If-None-Match", tag)]).status) == 200 }

        let second = try await Self.move(#"{"by": {"yaw": 10}, "over": 3600}"#, by: service)
        #expect(second.superseded && second.to.yaw == 70 && second.from.yaw > -20 && second.from.yaw < 60)
        let stop = try await Self.move(#"{"stop": true}"#, by: service)
        #expect(stop.superseded && stop.from == stop.to && stop.from.yaw < 60)
        let stopped = try await Self.left(of: service)
        #expect(stopped?.move == nil && stopped?.yaw == stop.to.yaw)

        _ = try await Self.move(#"{"to": {"yaw": 0}, "over": "1ms"}"#, by: service)
        func tells(_ state: String) -> Bool {
          ears[0].all.contains { $0.contains("\"type\":\"move\"") && $0.contains("\"state\":\"\(state)\"") }
        }
        for state in ["started", "superseded", "stopped", "arrived"] { await until { tells(state) } }
        // A view at rest has one picture of a frame.
        let rest = try await service.get(Self.picture)
        let known = try #require(rest.headers.first(name: "ETag"))
        #expect(try await service.get(Self.picture, [("If-None-Match", known)]).status == 304)
      }
    }
  }

  @Test("a PATCH of the part that is shown ends a move at its target; one of other keys does not")
  func patches() async throws {
    try await withService(Self.configuration()) { service in
      _ = try await Self.move(#"{"to": {"yaw": 60}, "over": "1h"}"#, by: service)
      #expect(try await service.send("PATCH", Self.path, body: ##"{"background": "#102030"}"##).status == 200)
      #expect(try await Self.left(of: service)?.move != nil)
      #expect(try await service.send("PATCH", Self.path, body: #"{"yaw": 60}"#).status == 200)
      let left = try await Self.left(of: service)
      #expect(left?.move == nil && left?.yaw == 60)
    }
  }

  @Test(
    "a body that is not a move is refused with 400",
    arguments: [
      "[]", "{}", "{", #"{"over": "2s"}"#, #"{"to": {"yaw": 1}, "stop": true}"#, #"{"to": {}}"#,
      #"{"to": {"yaw": NaN}}"#, #"{"to": {"yaw": 1e9}}"#, #"{"to": {"yaw": "1"}}"#, #"{"to": {"fov": 1}}"#,
      #"{"to": {"hfov": 180}}"#, #"{"to": {"hfov": 0}}"#, #"{"to": 5}"#, #"{"to": "nowhere"}"#,
      #"{"to": null}"#, #"{"by": "door"}"#, #"{"by": {"yaw": 1e9}}"#, #"{"stop": false}"#,
      #"{"stop": true, "over": "1s"}"#, #"{"to": {"yaw": 1}, "over": "2h"}"#,
      #"{"to": {"yaw": 1}, "over": -1}"#, #"{"to": {"yaw": 1}, "over": "soon"}"#,
      #"{"to": {"yaw": 1}, "over": 1e400}"#, #"{"to": {"yaw": 1}, "speed": 1}"#,
    ])
  func invalid(body: String) async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.send("POST", Self.path + "/move", body: body)
      #expect(answer.status == 400, "\(body): \(answer.text)")
      #expect(try await Self.left(of: service)?.yaw == -20)
    }
  }

  @Test("an unknown position is refused with the known ones; other views are refused by what they are")
  func refused() async throws {
    try await withService(Self.configuration()) { service in
      let body = #"{"to": {"yaw": 1}}"#
      let unknown = try await service.send("POST", Self.path + "/move", body: #"{"to": "gate"}"#)
      #expect(unknown.status == 400 && unknown.text.contains("known: door"), "\(unknown.text)")
      for (view, status) in [
        ("camera/views/locked", 403), ("camera/views/main", 409), ("camera/views/none", 404),
        ("none/views/main", 404), ("both/views/main", 409),
      ] {
        let answer = try await service.send("POST", "/api/cameras/\(view)/move", body: body)
        #expect(answer.status == status, "\(view): \(answer.text)")
      }
      #expect(try await service.send("PATCH", Self.path, body: #"{"enabled": false}"#).status == 200)
      #expect(try await service.send("POST", Self.path + "/move", body: body).status == 409)
    }
  }

  @Test("a move needs the role `control`")
  func roles() async throws {
    var configuration = try Self.configuration()
    configuration.access.tokens = [
      .init(secret: "look", role: .read), .init(secret: "change", role: .control),
    ]
    try await withService(configuration) { service in
      func send(_ token: String) async throws -> Int {
        try await service.send(
          "POST", Self.path + "/move", [("Authorization", "Bearer \(token)")], body: #"{"to": {"yaw": 1}}"#
        ).status
      }
      let (look, change) = (try await send("look"), try await send("change"))
      #expect(look == 403 && change == 200)
    }
  }

  @Test("a moved pose survives a reload, and a changed view in the file resets it")
  func reload() async throws {
    try await withService(Self.configuration()) { service in
      _ = try await Self.move(#"{"to": {"yaw": 33}, "over": "1h"}"#, by: service)
      var configuration = try Self.configuration()
      try await service.inside.apply(configuration)
      let kept = try await Self.left(of: service)
      #expect(kept?.yaw == 33 && kept?.move != nil)

      // A changed camera begins where the move would have ended.
      configuration.cameras[0].options.lens = Lens(.fisheye(), fov: 190)
      try await service.inside.apply(configuration)
      let placed = try await Self.left(of: service)
      #expect(placed?.yaw == 33 && placed?.move == nil)

      configuration.cameras[0].views[1].view.projection?.yaw = 5
      try await service.inside.apply(configuration)
      let reset = try await Self.left(of: service)
      #expect(reset?.yaw == 5 && reset?.move == nil)
    }
  }

  @Test("a move of another node's camera is made there, and its event reaches this node")
  func forwarded() async throws {
    try await withOwnerAndEdge(Self.configuration()) { owner, edge in
      await until { owner.inside.events.log.subscriberCount == 1 }
      try await withEvents(of: [edge]) { ears in
        let answer = try await edge.send(
          "POST", Self.path + "/move", body: #"{"to": "door", "over": "1h"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try await Self.left(of: owner)?.yaw == 40)
        await until { ears[0].told("move").contains("camera@owner") }
      }
    }
  }

  @Test("a view may be moved 50 times within a second")
  func limit() {
    let limiter = MoveLimiter()
    let start = CaptureInstant(sinceStart: .seconds(1000))
    for number in 0..<50 {
      #expect(limiter.allows("one", at: start + .milliseconds(number)))
    }
    #expect(!limiter.allows("one", at: start + .milliseconds(999)))
    #expect(limiter.allows("other", at: start + .milliseconds(999)))
    #expect(limiter.allows("one", at: start + .milliseconds(1000)))
    #expect(!limiter.allows("one", at: start + .milliseconds(1000)))
    #expect(limiter.allows("one", at: start + .milliseconds(1001)))
  }
}

@Suite("Positions in configurations")
struct PositionConfigurationTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private static func file(_ positions: String, view: String = "yaw: 0") -> String {
    """
    cameras:
      door:
        source: pattern:smpte
        lens: fisheye
        views:
          main: {\(view), positions: \(positions)}
    """
  }

  @Test("positions have names and some keys of a pose")
  func read() throws {
    let camera = try folder.load(Self.file("{door: {yaw: 60, hfov: 40}, desk: {roll: -1.5}}")).cameras.first
    let positions = try #require(camera?.views.first?.positions)
    #expect(positions.keys.sorted() == ["desk", "door"])
    #expect(positions["door"]?["yaw"] == 60 && positions["door"]?["hfov"] == 40)
    #expect(positions["door"]?["pitch"] == nil && positions["desk"]?["roll"] == -1.5)
  }

  @Test(
    "invalid positions are reported with their names and keys",
    arguments: [
      ("{door: {yaw: 361}}", "yaw: 0", "positions.door.yaw"), ("{door: {yaw: far}}", "yaw: 0", "'far'"),
      ("{door: {}}", "yaw: 0", "set one of yaw"), ("{door: {zoom: 1}}", "yaw: 0", "unknown key"),
      ("{-door: {yaw: 1}}", "yaw: 0", "a name has"), ("[door]", "yaw: 0", "must be a mapping"),
      ("{door: {hfov: 190}}", "yaw: 0", "positions.door.hfov"),
      ("{door: {yaw: 1}}", "rotate: 0", "needs a projection"),
    ])
  func mistakes(positions: String, view: String, reason: String) throws {
    let problems = try folder.problems(Self.file(positions, view: view))
    #expect(problems.contains { $0.contains("door.views.main") && $0.contains(reason) }, "\(problems)")
  }
}
