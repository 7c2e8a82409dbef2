// Motion before a service's cameras: watched, told from outside, hidden by masks.
import NIOCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Motion
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Motion detection in the service", .timeLimit(.minutes(15)))
struct MotionTests {
  private static func configuration(
    _ motion: MotionSettings? = settings, masks: [PrivacyMask] = []
  ) -> ServerConfiguration {
    var camera = CameraConfiguration(name: "yard", source: "script")
    (camera.motion, camera.options.masks) = (motion, masks)
    camera.options.referenceSize = MovingCamera.size
    return ServerConfiguration(cameras: [camera])
  }

  private static var settings: MotionSettings {
    var settings = MotionSettings()
    (settings.rate, settings.coolDown) = (30, .milliseconds(300))
    return settings
  }

  private static func motion(_ service: RunningService) -> WatchedMotion? {
    service.inside.registry.cameras.first.flatMap { service.inside.motion[$0] }
  }

  /// What a log tells of motion, up to `what`.
  private static func told(_ subscription: EventSubscription, upTo what: String) async -> [String] {
    var texts: [String] = []
    while texts.last?.contains(what) != true {
      guard case .event(let event) = await subscription.next(within: allTheTimeThereIs) else { break }
      texts.append(String(buffer: event.text))
    }
    return texts
  }

  private static let path = "/api/cameras/yard/motion"
  private static let json = [("Content-Type", "application/json")]

  @Test("motion is reported by events, state, metrics and cells; cells need an enabled full view")
  func watched() async throws {
    let camera = MovingCamera()
    // Nothing ends until the test says so: a busy machine may leave out pictures for a while.
    var settings = Self.settings
    settings.coolDown = allTheTimeThereIs
    try await withService(Self.configuration(settings), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["motion"]))
      await until { Self.motion(service)?.differences.isEmpty == false }
      let quiet = try await service.get("/api/cameras/yard").text
      #expect(quiet.contains(#""motion":{"active":false,"watched":true}"#))
      camera.move(true)
      let begun = await Self.told(events, upTo: "motion-started")
      #expect(begun.count == 1 && begun[0].contains(#""box":["#) && begun[0].contains(#""camera":"yard""#))
      let active = try await service.get("/metrics").text
      #expect(active.contains(#"glpreview_motion_active{camera="yard"} 1"#))
      camera.move(false)
      // What was there for long is usual by now, and its absence is motion too, for a while.
      let left = try #require(Self.motion(service)?.pictures)
      await until {
        Self.motion(service).map { $0.pictures > left + 10 && $0.differences.allSatisfy { $0 < 0.5 } } == true
      }
      let change = try await service.send("PATCH", Self.path, Self.json, body: #"{"cool-down": "300ms"}"#)
      #expect(change.status == 200)
      let ended = await Self.told(events, upTo: "motion-ended")
      #expect(ended.last?.contains(#""event":1,"#) == true)

      let after = try await service.get(Self.path).text
      #expect(after.contains(#""active":false"#) && after.contains(#""columns":64"#))
      let cells = try await service.get(Self.path + "/cells").bytes
      #expect(try !MotionRecording(bytes: cells).pictures.isEmpty)

      // They show all of the camera, which who sees no whole view of it may not.
      #expect(
        try await service.send("PATCH", "/api/cameras/yard/views/main", body: #"{"enabled": false}"#).status
          == 200)
      #expect(try await service.get(Self.path + "/cells").status == 403)
      let told = try await service.get(Self.path).text
      #expect(!told.contains("columns"))
    }
  }

  @Test(
    "motion behind a privacy mask causes no event and no cell difference",
    arguments: [PrivacyMask.Effect.fill(.black), .pixelate(cell: 8), .blur(radius: 8)])
  func masked(effect: PrivacyMask.Effect) async throws {
    let camera = MovingCamera()
    let masks = [PrivacyMask(.rectangle(MovingCamera.path), effect: effect)]
    try await withService(Self.configuration(masks: masks), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      await until { Self.motion(service)?.differences.isEmpty == false }
      let before = try #require(Self.motion(service)?.pictures)
      camera.move(true)
      await until { Self.motion(service)?.pictures ?? 0 > before + 40 }

      let motion = try #require(Self.motion(service))
      #expect(motion.events == 0)
      let rows = MovingCamera.path.y / 2..<(MovingCamera.path.y + MovingCamera.path.height) / 2
      let behind = motion.differences[rows.lowerBound * 64..<rows.upperBound * 64]
      #expect(behind.allSatisfy { $0 == 0 })
    }
  }

  @Test("once no view shows the full frame, past and new motion events omit where motion occurred")
  func locked() async throws {
    let camera = MovingCamera()
    var settings = Self.settings
    settings.zones = [try MotionZone(parsing: "all=0,0,1,1")]
    let configuration = Self.configuration(settings)
    var locked = configuration
    locked.cameras[0].views[0].view.crop = Rectangle(x: 0, y: 0, width: 16, height: 16)
    locked.cameras[0].views[0].isLocked = true
    let places = [#""box""#, #""score""#, #""zones""#, #""best""#]
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) {
      [locked] service async throws in
      let log = service.inside.events.log
      let (all, motion) = (try log.subscribe(), EventLog.Filter(types: ["motion"]))
      await until { Self.motion(service)?.differences.isEmpty == false }
      camera.move(true)
      let told = await Self.told(try log.subscribe(after: all.lastID, motion), upTo: "motion-started")
      for place in places { #expect(told[0].contains(place), "\(place)") }
      #expect(try await service.get("/api/cameras/yard").text.contains(#""box":["#))

      try await service.inside.apply(locked)
      camera.move(false)
      let kept = await Self.told(try log.subscribe(after: all.lastID, motion), upTo: "motion-ended").joined()
      let answers = [
        kept, try await service.get("/api/cameras/yard").text, try await service.get(Self.path).text,
        try await service.get("/api/cameras/yard/timeline").text,
      ]
      for answer in answers {
        #expect(answer.contains(#""event":"#) && answer.contains(#""since":""#))
        for place in places { #expect(!answer.contains(place), "\(place) in \(answer)") }
      }
    }
  }

  @Test("a POST starts a labelled motion event without detection; DELETE or its duration ends it")
  func outside() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(nil), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["motion"]))
      #expect(try await service.get(Self.path).status == 409)
      let begun = try await service.send(
        "POST", Self.path, Self.json, body: #"{"duration":3600,"label":"person"}"#)
      #expect(begun.status == 200 && begun.text.contains(#""active":true"#), "\(begun.text)")
      #expect(try await service.get("/api/cameras/yard").text.contains(#""label":"person""#))
      #expect(try await service.send("DELETE", Self.path).text.contains(#""active":false"#))
      let told = await Self.told(events, upTo: "motion-ended")
      #expect(told.count == 2 && told.allSatisfy { $0.contains(#""label":"person""#) })

      // One that nobody takes back ends by itself.
      _ = try await service.send("POST", Self.path, Self.json, body: #"{"duration":0.1}"#)
      #expect(await Self.told(events, upTo: "motion-ended").count == 2)
    }
  }

  @Test(
    "an invalid motion trigger returns 400, and one for an unknown camera returns 404",
    arguments: [#"{"duration":0}"#, #"{"duration":3601}"#, #"{"label":""}"#, #"{"label":"a\nb"}"#, "[]", "{"])
  func refused(body: String) async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(nil), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      #expect(try await service.send("POST", Self.path, Self.json, body: body).status == 400)
      #expect(try await service.send("POST", "/api/cameras/shed/motion", Self.json, body: "{}").status == 404)
      #expect(Self.motion(service) == nil)
    }
  }

  @Test("a reload starts and stops motion detection")
  func reload() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(nil), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      try await service.inside.apply(Self.configuration())
      await until { Self.motion(service)?.pictures ?? 0 > 2 }
      try await service.inside.apply(Self.configuration(nil))
      await until { Self.motion(service) == nil }
      await until { await service.inside.registry.session["yard-0"]?.status == nil }
    }
  }

  @Test(
    "active motion is reported as ended when a reload stops detection or removes the camera",
    arguments: [true, false])
  func endsWithWatching(isRemoved: Bool) async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["motion"]))
      await until { Self.motion(service)?.differences.isEmpty == false }
      camera.move(true)
      #expect(await Self.told(events, upTo: "motion-started").count == 1)

      var other = Self.configuration(nil)
      if isRemoved { other.cameras = [CameraConfiguration(name: "shed", source: "script")] }
      try await service.inside.apply(other)

      let ended = await Self.told(events, upTo: "motion-ended")
      #expect(ended.last?.contains(#""camera":"yard""#) == true)
    }
  }

  @Test("concurrent PATCHes of different motion settings are both applied")
  func changedTogether() async throws {
    let camera = MovingCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      service async throws in
      await until { Self.motion(service) != nil }
      for value in 1...20 {
        async let one = service.send("PATCH", Self.path, Self.json, body: #"{"sensitivity": \#(value)}"#)
        async let other = service.send("PATCH", Self.path, Self.json, body: #"{"min-size": \#(value)}"#)
        #expect(try await (one.status, other.status) == (200, 200))
        let settings = Self.motion(service)?.settings
        #expect(settings?.sensitivity == value && settings?.minimumSize == Double(value))
      }
    }
  }

  @Test("`motion` accepts true, false, nothing or a map, and rejects duplicate zone names")
  func words() throws {
    let folder = try ConfigurationFolder()
    func motion(_ word: String) throws -> MotionSettings? {
      try folder.load("cameras: {yard: {source: 'pattern:smpte', motion: \(word)}}").configuration.cameras[0]
        .motion
    }
    #expect(try motion("true") == MotionSettings())
    #expect(try motion("false") == nil)
    #expect(try motion("") == MotionSettings())
    #expect(try motion("{rate: 2}")?.rate == 2)
    let zones = try motion(#"{zones: {gate: "0,0,0.5,1", road: "0,0 1,0 1,1:sensitivity=80"}}"#)?.zones
    #expect(zones?.map(\.name) == ["gate", "road"] && zones?.last?.sensitivity == 80)
    let twice = try folder.problems(
      "cameras: {yard: {source: 'pattern:smpte', motion: {zones: ['a=0,0,1,1', 'a=0,0,1,1']}}}")
    #expect(twice.contains { $0.contains("is the name of two zones") })
  }
}
