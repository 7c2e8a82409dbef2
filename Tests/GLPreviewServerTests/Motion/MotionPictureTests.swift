// The pictures of motion events, what is kept of them, and what is changed while a camera is watched.
import NIOCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Motion
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Pictures of motion events", .timeLimit(.minutes(15)))
struct MotionPictureTests {
  private static var configuration: ServerConfiguration {
    var camera = CameraConfiguration(name: "yard", source: "script")
    var settings = MotionSettings()
    // Nothing ends by itself: a busy machine may leave out pictures for a while.
    (settings.rate, settings.coolDown) = (30, allTheTimeThereIs)
    camera.motion = settings
    camera.options.referenceSize = MovingCamera.size
    return ServerConfiguration(cameras: [camera])
  }

  private static let path = "/api/cameras/yard/motion"
  private static let json = [("Content-Type", "application/json")]

  /// The first event with a text; empty if the log ends before. A test that a busy machine delays misses older events.
  private static func event(_ what: String, of subscription: EventSubscription) async -> String {
    while !Task.isCancelled {
      switch await subscription.next(within: allTheTimeThereIs) {
      case .event(let event):
        let text = String(buffer: event.text)
        if text.contains(what) { return text }
      case .lost, .nothing: continue
      case .end: return ""
      }
    }
    return ""
  }

  private static func settled(_ service: RunningService) async {
    await until {
      service.inside.registry.cameras.first.flatMap { service.inside.motion[$0] }?.differences.isEmpty
        == false
    }
  }

  @Test("a motion event has a picture, with or without its box, until the view is switched off")
  func pictures() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration, makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["motion"]))
      await Self.settled(service)
      camera.move(true)
      let begun = await Self.event("motion-started", of: events)
      #expect(begun.contains(#""picture":"/api/cameras/yard/motion/1.jpg""#))

      let whole = try await service.get(Self.path + "/1.jpg")
      let framed = try await service.get(Self.path + "/1.jpg?box=1")
      #expect(whole.status == 200 && framed.status == 200)
      #expect(whole.bytes.starts(with: [0xFF, 0xD8]) && framed.bytes.starts(with: [0xFF, 0xD8]))
      #expect(whole.bytes != framed.bytes)
      try await until {
        let timeline = try await service.get("/api/cameras/yard/timeline").text
        return timeline.contains("motion/1.jpg") && timeline.contains(#""state":"live""#)
      }
      for path in ["/99.jpg", "/0.jpg", "/1.png", "/x.jpg"] {
        let answer = try await service.get(Self.path + path)
        #expect(answer.status == 404, "\(path): \(answer.text.prefix(300))")
      }
      #expect(try await service.get(Self.path + "/1.jpg?size=9").status == 400)

      let off = try await service.send(
        "PATCH", "/api/cameras/yard/views/main", Self.json, body: #"{"enabled": false}"#)
      #expect(off.status == 200, "\(off.text)")
      #expect(try await service.get(Self.path + "/1.jpg").status == 404)
      #expect(try await !service.get("/api/cameras/yard/timeline").text.contains("1.jpg"))
    }
  }

  @Test("a motion event that is active at shutdown is reported as ended")
  func shutdown() async throws {
    let camera = MovingCamera()
    // Without a limit: the log ends before the event is reported if the service is ended by force.
    let events = try await withService(
      Self.configuration, endsWithin: nil, makeSource: { camera.source(named: $1, $2) }
    ) { service async throws in
      let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["motion"]))
      await Self.settled(service)
      camera.move(true)
      #expect(await !Self.event("motion-started", of: events).isEmpty)
      return events
    }
    #expect(await Self.event("motion-ended", of: events).contains(#""event":1"#))
  }

  @Test("a PATCH changes motion settings live or returns 400; null restores configured settings")
  func change() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration, makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      await Self.settled(service)
      func change(_ body: String) async throws -> RunningService.Answer {
        try await service.send("PATCH", Self.path, Self.json, body: body)
      }
      let body = #"{"sensitivity": 70, "min-duration": "1s", "zones": ["gate=0,0,0.5,0.5:min-size=2"]}"#
      let changed = try await change(body)
      #expect(changed.status == 200 && changed.text.contains(#""sensitivity":70"#), "\(changed.text)")
      #expect(changed.text.contains(#""is_configured":false"#) && changed.text.contains("gate=0"))

      for refused in [
        "{}", "[]", #"{"sensitivity": 0}"#, #"{"rate": 3}"#, #"{"zones": "all"}"#, #"{"zones": ["a=1"]}"#,
        #"{"zones": ["a=0,0,1,1", "a=0,0,1,1"]}"#, #"{"min-size": [1]}"#,
      ] { #expect(try await change(refused).status == 400, "\(refused)") }
      let usual = try await change(#"{"sensitivity": null, "min-duration": null, "zones": null}"#)
      #expect(usual.text.contains(#""is_configured":true"#))
    }
  }
}
