// A service and the real mosquitto: what others see of it there.
import FoundationEssentials
import GLPreview
import Logging
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import MQTT
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "The service with an MQTT broker", .enabled(if: Mosquitto.isInstalled, Mosquitto.isMissing),
  .timeLimit(.minutes(15)))
struct MQTTServiceTests {
  private static func camera(_ name: String, _ pattern: String = "pattern:smpte,size=64x36,fps=20")
    -> CameraConfiguration
  { CameraConfiguration(name: name, source: pattern) }

  private static func configuration(
    _ server: Mosquitto, _ cameras: [CameraConfiguration] = [camera("door")],
    _ change: (inout MQTTConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var configuration = ServerConfiguration(cameras: cameras)
    configuration.cluster.name = "shed"
    var mqtt = MQTTConfiguration()
    mqtt.server = .init(host: "127.0.0.1", port: server.port)
    change(&mqtt)
    configuration.mqtt = mqtt
    return configuration
  }

  private static func state(_ message: Mosquitto.Subscriber.Message) -> String? {
    struct State: Decodable { let state: String }
    return try? JSONDecoder().decode(State.self, from: Data(message.payload)).state
  }

  private static func isJPEG(_ message: Mosquitto.Subscriber.Message, width: Int) -> Bool {
    (try? JPEGProbe(message.payload))?.width == width
  }

  // MARK: What is told

  @Test("a late subscriber gets node status, camera states, pictures and Home Assistant entities")
  func retained() async throws {
    let server = try await Mosquitto()
    let wide = Self.camera("wide", "pattern:smpte,size=1280x720,fps=20")
    try await withService(Self.configuration(server, [Self.camera("door"), wide])) { service in
      let early = try server.subscribe()
      for camera in ["door", "wide"] { await early.hears("glpreview/\(camera)/picture") }

      let late = try server.subscribe()
      await late.hears("glpreview/shed/status") { $0.isRetained && $0.text == "online" }
      await late.hears("glpreview/door/state") { $0.isRetained && Self.state($0) != nil }
      await late.hears("glpreview/door/picture") { $0.isRetained && Self.isJPEG($0, width: 64) }
      await late.hears("glpreview/wide/picture") { $0.isRetained && Self.isJPEG($0, width: 640) }
      for kind in ["camera", "sensor", "button"] {
        let entity = ["camera": "picture", "sensor": "state", "button": "snapshot"][kind] ?? ""
        await late.hears("homeassistant/\(kind)/glpreview_door/\(entity)/config") { $0.isRetained }
      }
      let metrics = try await service.get("/metrics").text
      #expect(metrics.contains("glpreview_mqtt_connected 1"))
      #expect(metrics.contains("glpreview_mqtt_messages_total{result=\"done\"}"))
    }
    let after = try server.subscribe()
    await after.hears("glpreview/shed/status", saying: "offline")
  }

  @Test("camera state changes are published, and service events as messages that are not retained")
  func events() async throws {
    let server = try await Mosquitto()
    try await withService(Self.configuration(server)) { service in
      let heard = try server.subscribe()
      let stream = try await service.openStream("/cameras/door/main.mjpeg")
      await heard.hears("glpreview/door/state") { Self.state($0) == "live" }
      // Only clients that are subscribed already get events.
      service.inside.events.log.publish(
        type: "camera", data: Array(#"{"type":"camera","camera":"door","state":"lost"}"#.utf8))
      await heard.hears("glpreview/events/camera") { $0.text.contains("\"door\"") && !$0.isRetained }
      withExtendedLifetime(stream) {}
    }
  }

  @Test("motion events publish ON and OFF, and the first one adds a Home Assistant sensor")
  func motion() async throws {
    let server = try await Mosquitto()
    try await withService(Self.configuration(server)) { service in
      let heard = try server.subscribe()
      await heard.hears("glpreview/door/state")
      let sensor = "homeassistant/binary_sensor/glpreview_door/motion/config"
      #expect(heard.newest[sensor] == nil)

      for (what, state) in [("motion-started", "ON"), ("motion-ended", "OFF")] {
        service.inside.events.log.publish(
          type: "motion", data: Array(#"{"type":"motion","camera":"door","what":"\#(what)"}"#.utf8))
        await heard.hears("glpreview/door/motion", saying: state)
      }
      await heard.hears(sensor)
      await heard.hears("glpreview/events/motion")
    }
  }

  @Test("a new picture is published again and again with `pictures: 1s`")
  func pictures() async throws {
    let server = try await Mosquitto()
    let camera = Self.camera("door", "pattern:counter,size=64x36,fps=20")
    let configuration = Self.configuration(server, [camera]) { $0.pictures = .seconds(1) }
    try await withService(configuration) { _ in
      let heard = try server.subscribe(to: "glpreview/door/picture")
      await until { Set(heard.messages.map(\.payload)).count >= 3 }
    }
  }

  @Test("the picture after a move shows where the view has arrived")
  func arrived() async throws {
    let server = try await Mosquitto()
    var camera = Self.camera("door", "pattern:smpte,size=64x64,fps=20")
    camera.options.lens = Lens(.fisheye(), fov: 180)
    camera.views[0].view = ViewConfiguration(name: "main", width: 64, height: 36)
    camera.views[0].view.projection = Projection(yaw: 60, hfov: 60)
    try await withService(Self.configuration(server, [camera])) { service in
      let topic = "glpreview/door/picture"
      let heard = try server.subscribe(to: topic)
      func move(_ body: String) async throws {
        let answer = try await service.send("POST", "/api/cameras/door/views/main/move", body: body)
        #expect(answer.status == 200, "\(answer.text)")
      }
      func last() throws -> [UInt8]? {
        guard let picture = heard.messages.last?.payload, !picture.isEmpty else { return nil }
        return try JPEGDecoder.decode(picture, maximumPixels: 1 << 20).bytes
      }
      try await until { try last() != nil }
      let there = try last()
      try await move(#"{"to": {"yaw": -60}}"#)
      try await until { try last().map { $0 != there } == true }

      let count = heard.messages.count
      try await move(#"{"to": {"yaw": 60}, "over": "3s"}"#)
      try await until { try heard.messages.count > count && last() == there }
    }
  }

  @Test("a masked, locked view is published as a black picture of full size, as over HTTP")
  func privacy() async throws {
    let server = try await Mosquitto()
    var camera = Self.camera("door", "pattern:smpte,size=640x360,fps=20")
    camera.options.masks = [try PrivacyMask(parsing: "640x360+0+0")]
    camera.options.referenceSize = Size(width: 640, height: 360)
    camera.views[0].isLocked = true
    try await withService(Self.configuration(server, [camera])) { service in
      let heard = try server.subscribe()
      await heard.hears("glpreview/door/picture") { Self.isJPEG($0, width: 640) }
      let published = try #require(heard.newest["glpreview/door/picture"]).payload
      let over = try await service.get("/cameras/door/main.jpg?exif=1").bytes
      // All black: nothing of the bars is left, and both say so alike.
      #expect(over.count < 6000 && published.count < 6000)
    }
  }

  @Test("a snapshot taken before a view was locked is not published afterwards")
  func lockedMeanwhile() async throws {
    let server = try await Mosquitto()
    let topic = "glpreview/door/picture"
    let configuration: @Sendable (Bool) -> ServerConfiguration = { isLocked in
      var camera = Self.camera("door", "pattern:counter,size=64x36,fps=20")
      // The source is the same: another view of it has a crop before and after.
      camera.views.append(
        ServedView(ViewConfiguration(name: "other", crop: Rectangle(x: 0, y: 0, width: 8, height: 8))))
      if isLocked { camera.views[0].view.crop = Rectangle(x: 0, y: 0, width: 60, height: 36) }
      camera.views[0].isLocked = isLocked
      return Self.configuration(server, [camera])
    }
    try await withService(configuration(false)) { service in
      let heard = try server.subscribe(to: topic)
      await heard.hears(topic) { Self.isJPEG($0, width: 64) }
      let served = service.inside.registry.served
      let views = try served.views(of: "door")
      let request = SnapshotRequest(.newest(maxAge: .zero), timeout: allTheTimeThereIs)
      let moment = try await views[0].preview.moment(request)
      let picture = try #require(try await moment.draw([views[0].preview]).first)
      let old = Snapshot(
        camera: "door", sequence: picture.sequence, timestamp: picture.timestamp,
        pictures: [picture.named("main")])

      try await service.inside.apply(configuration(true))
      await heard.hears(topic) { Self.isJPEG($0, width: 60) }
      let count = heard.messages.count
      // As when it was taken before, and encoded for long.
      service.inside.events.took(
        TakenSnapshot(snapshot: old, views: views), views.map { PictureRight($0, in: served) })
      let answer = try await service.send("POST", "/api/cameras/door/snapshots", body: #"{"max_age": 0}"#)
      #expect(answer.status == 200)

      await until { heard.messages.count > count }
      #expect(heard.messages.dropFirst(count).allSatisfy { Self.isJPEG($0, width: 60) })
    }
  }

  @Test("a snapshot of an older frame does not replace a newer published picture")
  func earlier() async throws {
    let server = try await Mosquitto()
    let source = CountingCamera()
    var camera = Self.camera("door", "script")
    camera.replayDuration = .seconds(7200)
    let configuration = Self.configuration(server, [camera])
    try await withService(configuration, makeSource: { source.source(named: $1, $2) }) { service in
      func take(_ body: String) async throws {
        #expect(
          try await service.send("POST", "/api/cameras/door/snapshots", body: body).status == 200)
      }
      let heard = try server.subscribe()
      func codes() throws -> [Int] {
        try heard.messages.filter { $0.topic == "glpreview/door/picture" && !$0.payload.isEmpty }.map {
          Int(try JPEGDecoder.decode($0.payload, maximumPixels: 1 << 20).bytes[0])
        }
      }
      for (number, code) in [50, 100].enumerated() {
        try source.give(UInt8(code), ago: .seconds(600 - 300 * number))
      }
      try await source.took(2)
      // It is taken from the camera before it is what a snapshot shows.
      try await until {
        let newest = try await service.get("/cameras/door/main.jpg?max_age=7200000")
        return abs(Int(try JPEGDecoder.decode(newest.bytes, maximumPixels: 1 << 20).bytes[0]) - 100) < 4
      }
      try await take(#"{"max_age": 7200000}"#)
      try await until { try codes().contains { abs($0 - 100) < 4 } }
      try await take(#"{"at": "-400s"}"#)
      try source.give(200, ago: .zero)
      try await source.took(3)
      try await take(#"{"max_age": 7200000}"#)
      try await until { try codes().contains { abs($0 - 200) < 4 } }
      #expect(try codes().allSatisfy { $0 > 90 })
    }
  }

  // MARK: Commands

  @Test("an MQTT command takes and publishes a snapshot; retained or too large commands are ignored")
  func snapshot() async throws {
    let server = try await Mosquitto()
    try await server.publish("glpreview/door/snapshot", "kept", "-r")
    try await withService(Self.configuration(server)) { service in
      let heard = try server.subscribe()
      await heard.hears("glpreview/door/picture")
      let pictures = heard.messages.count { $0.topic == "glpreview/door/picture" }
      #expect(!heard.messages.contains { $0.topic == "glpreview/events/snapshot" })

      // Nobody's camera, and messages that are too large, do no harm.
      try await server.publish("glpreview/other/snapshot", "x")
      try await server.publish("glpreview/door/snapshot", String(repeating: "x", count: 50_000))
      // Within a second of the last one, a snapshot may be the same picture, which is not sent again.
      try await until {
        try await server.publish("glpreview/door/snapshot", "anything")
        return heard.messages.count { $0.topic == "glpreview/door/picture" } > pictures
      }
      await heard.hears("glpreview/events/snapshot") { $0.text.contains("\"door\"") }
      try await until {
        let taken = heard.messages.count { $0.topic == "glpreview/events/snapshot" }
        return try await service.get("/metrics").text.contains(
          "glpreview_mqtt_commands_total{result=\"done\"} \(taken)\n")
      }
    }
  }

  // MARK: Changes

  @Test("a reload clears the topics of a removed camera and publishes those of an added one")
  func reload() async throws {
    let server = try await Mosquitto()
    let before = Self.configuration(server, [Self.camera("door"), Self.camera("yard")])
    try await withService(before) { service in
      let heard = try server.subscribe()
      for camera in ["door", "yard"] { await heard.hears("glpreview/\(camera)/picture") }

      try await service.inside.apply(Self.configuration(server, [Self.camera("door"), Self.camera("shed")]))
      await heard.hears("glpreview/shed/picture")
      for topic in [
        "glpreview/yard/state", "glpreview/yard/picture",
        "homeassistant/camera/glpreview_yard/picture/config",
      ] {
        await heard.hears(topic) { $0.payload.isEmpty }
      }
      let late = try server.subscribe()
      await late.hears("glpreview/shed/picture")
      #expect(!late.messages.contains { $0.topic.contains("yard") })
    }
  }

  @Test(
    "retained pictures and motion of earlier runs are cleared for disabled views and lost cameras")
  func earlierRun() async throws {
    let server = try await Mosquitto()
    let topic = "glpreview/door/picture"
    for (what, message) in [("motion", "ON"), ("picture", "an old picture")] {
      try await server.publish("glpreview/door/\(what)", message, "-r")
      try await server.publish("glpreview/lost/\(what)", message, "-r")
    }
    let heard = try server.subscribe()
    await heard.hears(topic, saying: "an old picture")
    var (off, lost) = (Self.camera("door"), Self.camera("lost", "/nowhere.jpg"))
    off.views[0].isEnabled = false
    lost.offline = .error
    lost.isRequired = false
    try await withService(Self.configuration(server, [off, lost])) { service in
      for what in ["picture", "motion"] {
        for camera in ["door", "lost"] {
          await heard.hears("glpreview/\(camera)/\(what)") { $0.payload.isEmpty }
        }
      }
      let answer = try await service.send(
        "PATCH", "/api/cameras/door/views/main", body: #"{"enabled": true}"#)
      #expect(answer.status == 200)
      await heard.hears(topic) { Self.isJPEG($0, width: 64) }
    }
  }

  @Test("all retained messages are published again to a broker that restarted without its state")
  func restart() async throws {
    let server = try await Mosquitto()
    let log = LogRecords()
    var configuration = Self.configuration(server)
    configuration.timeouts.mqtt.longestPause = .milliseconds(50)
    try await withService(configuration, logger: log.logger) { service in
      await until { service.inside.mqtt?.client.isConnected == true }
      let first = try server.subscribe()
      await first.hears("glpreview/door/picture")
      await server.kill9()
      await until { service.inside.mqtt?.client.isConnected == false }
      let answer = try await service.get("/cameras/door/main.jpg")
      #expect(answer.status == 200)

      let again = try await Mosquitto(port: server.reserved)
      let heard = try again.subscribe()
      await heard.hears("glpreview/shed/status", saying: "online")
      await heard.hears("glpreview/door/state")
      await heard.hears("glpreview/door/picture") { Self.isJPEG($0, width: 64) }
      await heard.hears("homeassistant/camera/glpreview_door/picture/config")
    }
    #expect(log.messages.filter { $0 == "MQTT server connected" }.count == 2)
  }

  @Test("a paused broker does not block snapshots, and receives their 50 events when it resumes")
  func stopped() async throws {
    let server = try await Mosquitto()
    try await withService(Self.configuration(server)) { service in
      let heard = try server.subscribe()
      await heard.hears("glpreview/door/picture")
      server.stop()
      for _ in 0..<50 {
        let answer = try await service.send("POST", "/api/cameras/door/snapshots")
        #expect(answer.status == 200)
      }
      #expect(service.inside.mqtt?.client.isConnected == true)

      server.goOn()
      await until { heard.messages.count { $0.topic == "glpreview/events/snapshot" } == 50 }
    }
  }

  // MARK: Getting in

  @Test("correct credentials connect; a wrong password is logged once and the service keeps working")
  func password() async throws {
    let log = LogRecords()
    let server = try await Mosquitto(
      "allow_anonymous false\npassword_file FOLDER/users", files: ["users": Self.users])
    var configuration = Self.configuration(server) { ($0.user, $0.password) = ("ann", "wrong") }
    configuration.timeouts.mqtt.longestPause = .milliseconds(20)
    try await withService(configuration, logger: log.logger) { service in
      await until { log.messages.contains("MQTT server lost") }
      let answer = try await service.get("/cameras/door/main.jpg")
      #expect(answer.status == 200)
      #expect(service.inside.mqtt?.client.isConnected == false)
    }
    #expect(log.messages.filter { $0 == "MQTT server lost" }.count == 1)

    configuration.mqtt?.password = "hush"
    try await withService(configuration) { service in
      await until { service.inside.mqtt?.client.isConnected == true }
    }
  }

  /// `mosquitto_passwd -b users ann hush`.
  private static let users = """
    ann:$7$101$AfGno3e0U8u9Arj+$t8WB7+w6eyc9BL4SxLuq8Lwv6IT6s5cs2+JUhHrsLOvhijo93Hp6YFMR6VWkJAtVFxEaxqUhiME+nfJvAycIew==
    """

  @Test("the client connects over TLS only to a broker whose certificate is trusted")
  func tls() async throws {
    let pair = Self.pair
    let server = try await Mosquitto("allow_anonymous true\ncertfile \(pair)\nkeyfile \(pair)")
    let trusting = Self.configuration(server) {
      $0.server = .init(host: "localhost", port: server.port, isSecure: true)
      $0.authorities = pair
    }
    try await withService(trusting) { service in
      await until { service.inside.mqtt?.client.isConnected == true }
      let heard = try server.subscribe(to: "#", "--cafile", pair, "-h", "localhost")
      await heard.hears("glpreview/door/picture")
    }

    let log = LogRecords()
    var doubting = trusting
    doubting.mqtt?.authorities = nil
    try await withService(doubting, logger: log.logger) { service in
      await until { log.messages.contains("MQTT server lost") }
      #expect(service.inside.mqtt?.client.isConnected == false)
    }
  }

  private static let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  /// A certificate for localhost that it has signed itself, and its key.
  private static let pair = root.appending(path: "Tests/GLPreviewTests/Fixtures/localhost.pem").path
}
