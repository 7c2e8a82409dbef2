// `/api/cameras`, changes while it runs, the URLs of others, health, and another configuration.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Cameras over HTTP", .timeLimit(.minutes(15)))
struct CameraRouteTests {
  @Test("/api/cameras lists cameras with views, stream URLs, the renderer and the client's role")
  func list() async throws {
    try await withService(SnapshotRouteTests.configuration()) { service in
      // The device is known once it is opened.
      await until { service.inside.renderer.state.failure == nil }

      let answer = try await service.get("/api/cameras")

      for part in [
        #""name":"camera""#, #""kind":"camera""#, #""crop":"90x90+10+20""#, #""locked":true"#,
        #""stream":"/cameras/camera/face.mjpeg""#, #""software":"#, #""role":"control""#,
      ] {
        #expect(answer.text.contains(part), "\(part)")
      }
      #expect(try await service.get("/api/cameras/camera").status == 200)
      #expect(try await service.get("/api/cameras/nobody").status == 404)
    }
  }

  @Test("a PATCH changes a view live; an invalid one returns 400 without effect, a locked view 403")
  func patch() async throws {
    try await withService(SnapshotRouteTests.configuration()) { service in
      let path = "/api/cameras/camera/views/main"
      let changed = try await service.send(
        "PATCH", path,
        body: #"{"rotate": 90, "width": 90, "fps": 5, "quality": 60, "decode": "fast", "crop": "160x90+0+0"}"#
      )

      #expect(changed.status == 200)
      #expect(changed.text.contains(#""fps_limit":5"#) && changed.text.contains(#""rotate":90"#))
      #expect(changed.text.contains(#""decode":"fast""#))
      let picture = try await service.get("/cameras/camera/main.jpg")
      #expect(picture.headers["X-View-Size"] == ["90x160"])

      for body in [
        #"{"rotate": 450}"#, #"{"fps": 0}"#, #"{"quality": 101}"#, #"{"name": "other"}"#, "{}", "", "[1]",
        "nonsense",
        #"{"rotate": null}"#, #"{"crop": "999x999+0+0"}"#, #"{"enabled": "maybe"}"#,
        #"{"decode": "slow"}"#, #"{"decode": null}"#,
        #"{"rotate": 0, "mirror": "sideways"}"#,
      ] {
        #expect(try await service.send("PATCH", path, body: body).status == 400, "\(body)")
      }
      #expect(try await service.get("/cameras/camera/main.jpg").headers["X-View-Size"] == ["90x160"])

      #expect(
        try await service.send("PATCH", "/api/cameras/camera/views/door", body: #"{"fps": 1}"#).status == 403)

      #expect(try await service.send("PATCH", path, body: #"{"enabled": false}"#).status == 200)
      #expect(try await service.get("/cameras/camera/main.jpg").status == 409)
    }
  }

  @Test("a PATCH of a scene returns 409 with a reason")
  func patchOfScene() async throws {
    var configuration = StreamTests.configuration()
    let scene = Scene(size: Size(width: 64, height: 36), tiles: [Tile("camera")])
    configuration.scenes = [SceneConfiguration(name: "wall", scene: scene)]

    try await withService(configuration) { service in
      let path = "/api/cameras/wall/views/main"
      let answer = try await service.send("PATCH", path, body: #"{"rotate": 90}"#)
      #expect(answer.status == 409 && answer.text.contains("a scene can be changed only"), "\(answer.text)")
    }
  }

  @Test("URLs of ustreamer, mjpg-streamer and go2rtc return the first view or the view they name")
  func borrowed() async throws {
    try await withService(SnapshotRouteTests.configuration()) { service in
      for (path, size) in [
        ("/snapshot", "320x180"), ("/?action=snapshot", "320x180"), ("/?action=snapshot&width=64", "64x36"),
        ("/?action=snapshot_0", "320x180"), ("/api/frame.jpeg?src=camera", "320x180"),
        ("/api/frame.jpeg?src=camera/face&w=45", "45x45"), ("/snapshot.jpg?_=123", "320x180"),
        ("/?action=snapshot&1595805826022", "320x180"), ("/?action=snapshot?1595805826022", "320x180"),
        ("/snapshot?resolution=640x480&width=64&width2=5", "64x36"),
        ("/api/frame.jpeg?src=camera/face&cache=5s&hw=cuda&w=45&fps=5", "45x45"),
        ("/cameras/camera/main.jpg?bypassCache=1595805826022&width=64", "64x36"),
        ("/cameras/camera/main.jpg?0.5234&&no-cache&TimeStamp=1&width=64?_=5", "64x36"),
      ] {
        let answer = try await service.get(path)
        #expect(answer.status == 200 && answer.headers["X-View-Size"] == [size], "\(path)")
      }

      for path in [
        "/stream", "/stream?key=me&extra_headers=1", "/?action=stream", "/api/stream.mjpeg?src=camera",
        "/?action=stream?1595805826022", "/?action=stream&max_age=5&1595805826022&user=a&user=b",
        "/api/stream.mjpeg?src=camera&video=h264&1595", "/cameras/camera/main.mjpeg?1595805826022",
        "/api/stream?view=camera/main&1595805826022",
      ] {
        #expect(try await service.parts(path, 1).parts.first?.size == "320x180", "\(path)")
      }

      #expect(try await service.get("/?action=snapshot_7").status == 400)
      #expect(try await service.get("/?action=reboot").status == 400)
      // What is known has to be right, and our own URLs refuse what is mistyped.
      for path in [
        "/snapshot?width=wide", "/stream?fps=-1", "/cameras/camera/main.jpg?widht=5",
        "/cameras/camera/main.mjpeg?timestamps=1", "/cameras/camera/main.jpg?5=6",
        "/api/stream?view=camera/main&bypass=1", "/cameras/camera/main.jpg?width=5?6",
      ] {
        let isSize = path.hasSuffix("width=5?6")
        #expect(try await service.get(path).status == (isSize ? 200 : 400), "\(path)")
      }
      #expect(try await service.get("/api/frame.jpeg?src=nobody").status == 404)
    }
  }

  /// How the state begins for a coder of JPEGs, by ustreamer's names.
  private static func start(ofState coder: String) -> String {
    #"{"ok":true,"result":{"encoder":{"quality":80,"type":"\#(coder)"}"#
  }

  @Test("/state names the processor that codes JPEGs with the device")
  func coder() async throws {
    try await withService(SnapshotRouteTests.configuration()) { service in
      // The device is known once it is opened.
      await until { service.inside.renderer.state.failure == nil }
      func coder() -> String {
        service.inside.renderer.state.device?.jpegProcessor == .gpu ? "M2M-IMAGE" : "CPU"
      }
      let before = coder()
      let state = try await service.get("/state").text
      // Another test's trial of the device may end meanwhile.
      #expect([before, coder()].contains { state.hasPrefix(Self.start(ofState: $0)) }, "\(state)")
    }
  }

  @Test("/state names the camera as the coder while its JPEGs are passed through")
  func passed() async throws {
    let camera = try JPEGCamera()
    let configuration = ServerConfiguration(cameras: [CameraConfiguration(source: "script")])
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) { service in
      var reader = PartReader()
      for try await chunk in try await service.openStream("/stream") {
        guard !reader.read(Array(chunk.readableBytesView)).isEmpty else { continue }
        let state = try await service.get("/state").text
        #expect(state.hasPrefix(Self.start(ofState: "HW")), "\(state)")
        return
      }
      Issue.record("the stream ended")
    }
  }

  @Test("/readyz returns 200 once all required cameras deliver, and 503 naming one that is lost")
  func readiness() async throws {
    var configuration = try SnapshotRouteTests.configuration()
    try await withService(configuration) { service in
      #expect(try await service.get("/healthz").status == 200)
      try await until { try await service.get("/readyz").status == 200 }
    }

    configuration.cameras[1].isRequired = true
    try await withService(configuration) { service in
      // It has been tried.
      await until { service.inside.watch.report(of: "gone").state == .lost }
      let answer = try await service.get("/readyz")
      #expect(answer.status == 503 && answer.text.contains(#""camera":"gone""#))
      #expect(try await service.get("/healthz").status == 200)
    }
  }

  @Test("a reload changes only what differs: an unchanged camera stays open and keeps its PATCHes")
  func reload() async throws {
    let configuration = try SnapshotRouteTests.configuration()
    try await withService(configuration) { service in
      let parts = service.inside
      _ = try await service.get("/cameras/camera/main.jpg")
      _ = try await service.send("PATCH", "/api/cameras/camera/views/main", body: #"{"rotate": 180}"#)
      let opens = parts.registry.session["camera"]?.statistics.opens

      var other = configuration
      other.cameras.removeLast()
      other.cameras[0].views[1].view.crop = nil
      other.cameras[0].views.removeLast()
      other.cameras.append(CameraConfiguration(name: "second", source: "pattern:smpte,size=64x36"))

      try await parts.apply(other)

      #expect(try await service.get("/cameras/gone/main.jpg").status == 404)
      #expect(try await service.get("/cameras/camera/door.jpg").status == 404)
      #expect(try await service.get("/cameras/second/main.jpg").headers["X-View-Size"] == ["64x36"])
      #expect(try await service.get("/cameras/camera/face.jpg").headers["X-View-Size"] == ["320x180"])
      // What was changed while it ran stays, since the file says nothing new of it.
      #expect(try await service.get("/cameras/camera/main.jpg").headers["X-View-Rotate"] == ["180"])
      #expect(parts.registry.session["camera"]?.statistics.opens == opens)

      // A camera that is another one under the same name.
      other.cameras[1].source = "pattern:smpte,size=32x18"
      try await parts.apply(other)
      #expect(try await service.get("/cameras/second/main.jpg").headers["X-View-Size"] == ["32x18"])
    }
  }

  @Test("controls return 409 for a pattern, 404 for an unknown camera and 503 for a missing device")
  func controls() async throws {
    var configuration = try SnapshotRouteTests.configuration()
    var device = CameraConfiguration(name: "device", source: "/dev/video77")
    device.isRequired = false
    configuration.cameras.append(device)

    try await withService(configuration) { service in
      for (camera, status) in [("camera", 409), ("nobody", 404), ("device", 503)] {
        let answer = try await service.get("/api/cameras/\(camera)/controls")
        #expect(answer.status == status)
      }

      let set = try await service.send("PATCH", "/api/cameras/camera/controls", body: #"{"gain": 1}"#)
      #expect(set.status == 409)
    }
  }
}
