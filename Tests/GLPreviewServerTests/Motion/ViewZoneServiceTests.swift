// Motion zones in the picture of a view, in configurations and in the service.
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Motion
@testable import PreviewCore
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Motion zones in views of the service", .timeLimit(.minutes(15)))
struct ViewZoneServiceTests {
  private static let path = "/api/cameras/yard/motion"

  /// A camera with the view `right`, which shows the right half, turned, and a zone in it.
  private static func configuration(
    _ zone: String = "gate=0,0,1,1:view=right", _ view: String = "right:crop=64x72+64+0,rotate=90"
  ) throws -> ServerConfiguration {
    var camera = CameraConfiguration(
      name: "yard", source: "script", views: [ServedView(), ServedView(try ViewConfiguration(parsing: view))])
    camera.options.referenceSize = MovingCamera.size
    var settings = MotionSettings()
    (settings.rate, settings.zones) = (30, [try MotionZone(parsing: zone)])
    camera.motion = settings
    return ServerConfiguration(cameras: [camera])
  }

  private static func motion(_ service: RunningService) -> WatchedMotion? {
    service.inside.registry.cameras.first.flatMap { service.inside.motion[$0] }
  }

  /// The columns in which motion counts, once the background is known.
  private static func columns(_ service: RunningService) async throws -> [Int] {
    await until { motion(service)?.detector.field != nil }
    let field = try #require(motion(service)?.detector.field)
    return (0..<MotionCells.columns).filter { field.least[$0] != nil }
  }

  @Test("a zone stays where its view is configured to look while the view is moved, and follows a reload")
  func follows() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      #expect(try await Self.columns(service) == Array(32..<64))

      let moved = try await service.send(
        "PATCH", "/api/cameras/yard/views/right", body: #"{"crop": "64x72+0+0"}"#)
      #expect(moved.status == 200)
      let changed = try await service.send("PATCH", Self.path, body: #"{"sensitivity": 60}"#)
      #expect(changed.status == 200 && changed.text.contains(":view=right"))
      #expect(try await Self.columns(service) == Array(32..<64))

      // The PATCH of the settings ends, too.
      try await service.inside.apply(Self.configuration("gate=0,0,1,1:view=right", "right:crop=32x72+96+0"))
      await until { Self.motion(service)?.settings?.sensitivity == 50 }
      #expect(try await Self.columns(service) == Array(48..<64))
    }
  }

  @Test("a PATCH takes zones in views that show something there, and names the zone that does not")
  func changes() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      _ = try await Self.columns(service)
      func patch(_ zone: String) async throws -> RunningService.Answer {
        try await service.send("PATCH", Self.path, body: #"{"zones": ["\#(zone)"]}"#)
      }
      let unknown = try await patch("door=0,0,1,1:view=left")
      #expect(unknown.status == 400 && unknown.text.contains("no view 'left' (known: main, right)"))
      let empty = try await patch("door=0.1,0.1 0.5,0.5 0.9,0.9:view=right")
      #expect(empty.status == 400 && empty.text.contains("zone 'door'"), "\(empty.text)")

      // Turned clockwise, the upper half of the view's picture is the left one of its crop.
      #expect(try await patch("door=0,0,1,0.5:view=right").status == 200)
      #expect(try await Self.columns(service) == Array(32..<48))
    }
  }

  @Test("other settings and null can be PATCHed beside a configured zone that shows nothing")
  func besideEmpty() async throws {
    let camera = MovingCamera()
    let zone = "door=0,0,1,0.1:view=right"
    var configuration = try Self.configuration(zone, "right:size=64x64,mode=fit")
    // Otherwise the configuration is refused.
    configuration.cameras[0].options.referenceSize = nil
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      await until { Self.motion(service)?.detector.field != nil }
      for body in [#"{"sensitivity": 60}"#, #"{"zones": null}"#, #"{"zones": ["\#(zone)", "a=0,0,1,1"]}"#] {
        let answer = try await service.send("PATCH", Self.path, body: body)
        #expect(answer.status == 200, "\(body): \(answer.text)")
      }
      let other = #"{"zones": ["door=0,0,1,0.05:view=right"]}"#
      #expect(try await service.send("PATCH", Self.path, body: other).status == 400)
      #expect(Self.motion(service)?.settings?.sensitivity == 60)
    }
  }

  @Test("the settings name the views that look as configured, until they are changed or moved")
  func asConfigured() async throws {
    let camera = MovingCamera()
    try await withService(
      Self.configuration("gate=0,0,1,1:view=right", "right:yaw=20,hfov=60,size=64x36,lens=fisheye fov 190"),
      makeSource: { camera.source(named: $1, $2) }
    ) { service async throws in
      func isNamed() async throws -> Bool {
        let text = try await service.get(Self.path).text
        #expect(text.contains(#""views_as_configured":["main""#), "\(text)")
        return text.contains(#""views_as_configured":["main","right"]"#)
      }
      _ = try await Self.columns(service)
      #expect(try await isNamed())
      let view = "/api/cameras/yard/views/right"
      for (yaw, isThere) in [(30, false), (20, true)] {
        let changed = try await service.send("PATCH", view, body: #"{"yaw": \#(yaw)}"#)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(try await isNamed() == isThere)
      }
      // It goes away and back, and is under way meanwhile.
      _ = try await service.send("POST", view + "/move", body: #"{"to": {"yaw": 60}}"#)
      let back = try await service.send(
        "POST", view + "/move", body: #"{"to": {"yaw": 20}, "over": "1h"}"#)
      #expect(back.status == 200, "\(back.text)")
      #expect(try await !isNamed())
      _ = try await service.send("POST", view + "/move", body: #"{"to": {"yaw": 20}}"#)
      #expect(try await isNamed())
    }
  }

  @Test("a configuration's zones need a view of the camera, which shows something there if the size is given")
  func configurations() throws {
    let folder = try ConfigurationFolder()
    func problems(_ keys: String, _ zone: String) throws -> [String] {
      try folder.problems(
        "cameras: {yard: {source: 'pattern:smpte', \(keys) motion: {zones: {gate: '\(zone)'}}}}")
    }
    let door = "views: {door: {size: 64x64, mode: fit}},"
    let unknown = try problems(door, "0,0,1,1:view=gate")
    #expect(unknown.count == 1 && unknown[0].contains("no view 'gate' (known: door)"), "\(unknown)")
    #expect(try problems(door, "0,0,1,0.1:view=door").isEmpty)
    #expect(try problems("reference: 640x360, " + door, "0,0.4,1,0.1:view=door").isEmpty)
    let bar = try problems("reference: 640x360, " + door, "0,0,1,0.1:view=door")
    #expect(bar.count == 1 && bar[0].contains("zone 'gate': view 'door' shows nothing"), "\(bar)")

    let lens = "reference: 640x360, lens: fisheye fov 90, views: {door: {yaw: 180, hfov: 40}},"
    #expect(try problems(lens, "0,0,1,1:view=door").count == 1)
    #expect(try problems(lens.replacing("180", with: "20"), "0,0,1,1:view=door").isEmpty)
  }
}
