// Views through a lens, of corners and of free rotations over HTTP: parameters, changes, and what is refused.
import FoundationEssentials
import GLPreview
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Lens views over HTTP", .timeLimit(.minutes(15)))
struct LensViewTests {
  /// A still: its frame is the same for all requests.
  private static let pattern = "pattern:smpte,size=160x160,fps=0.001"
  private static let still = "max_age=86400000"

  private static func configuration() throws -> ServerConfiguration {
    var left = ServedView(ViewConfiguration(name: "left", width: 64, height: 36))
    try left.view.set("yaw", to: "-20")
    try left.view.set("hfov", to: "60")
    var locked = left
    locked.view.name = "locked"
    locked.isLocked = true
    var camera = CameraConfiguration(source: pattern, views: [ServedView(), left, locked])
    camera.options.lens = Lens(.fisheye(), fov: 180)
    let plain = CameraConfiguration(name: "plain", source: pattern, views: [ServedView()])
    var live = CameraConfiguration(name: "live", source: StreamTests.pattern, views: [ServedView()])
    live.options.lens = camera.options.lens
    return ServerConfiguration(cameras: [camera, plain, live])
  }

  /// What the API says about a view.
  private struct ViewAnswer: Decodable {
    let rotate: Double
    let lens: String?
    let projection: String?
    let yaw: Double?
    let pitch: Double?
    let roll: Double?
    let hfov: Double?
    let corners: String?
  }

  @Test("a snapshot by URL looks through the camera's lens: two directions differ, equal ones are the same")
  func snapshots() async throws {
    try await withService(Self.configuration()) { service in
      let path = "/cameras/camera/main.png?\(Self.still)&hfov=60&width=64&height=36&yaw="
      let left = try await service.get(path + "-20")
      let right = try await service.get(path + "20")

      #expect(left.status == 200 && left.headers["X-View-Size"] == ["64x36"], "\(left.text)")
      // It shows no rectangle of the camera's picture.
      #expect(left.headers["X-View-Crop"] == [] && left.headers["X-View-Rotate"] == ["0"])
      #expect(right.status == 200 && right.bytes != left.bytes)
      let configured = try await service.get("/cameras/camera/left.png?\(Self.still)")
      #expect(configured.bytes == left.bytes)
      let given = try await service.get(
        "/cameras/plain/main.png?\(Self.still)&lens=fisheye%20fov%20180&yaw=-20&hfov=60&size=64x36")
      #expect(given.bytes == left.bytes)

      let stream = try await service.parts("/cameras/live/main.mjpeg?yaw=20&hfov=60&size=64x36", 1)
      #expect(stream.parts.first?.size == "64x36")
    }
  }

  @Test("corners and free rotations need no lens, and X-View-Rotate has the degrees")
  func withoutLens() async throws {
    try await withService(Self.configuration()) { service in
      let plate = try await service.get(
        "/cameras/plain/main.jpg?corners=10,10%20110,20%20100,90%205,70&size=80x60")
      #expect(plate.status == 200 && plate.headers["X-View-Size"] == ["80x60"], "\(plate.text)")

      for (degrees, answered) in [("1.5", "1.5"), ("-1.5", "358.5"), ("91.5", "91.5"), ("-90", "270")] {
        let level = try await service.get("/cameras/plain/main.jpg?rotate=\(degrees)&size=80x60")
        #expect(level.status == 200 && level.headers["X-View-Rotate"] == [answered], "\(degrees)")
      }
    }
  }

  @Test("/api/cameras has the lens, and the projection of the views that have one")
  func listing() async throws {
    try await withService(Self.configuration()) { service in
      struct Camera: Decodable {
        let lens: String?
        let views: [ViewAnswer]
      }
      let camera = try await service.get("/api/cameras/camera").json(Camera.self)

      #expect(camera.lens == "fisheye fov 180")
      let (main, left) = (try #require(camera.views.first), camera.views[1])
      #expect(main.projection == nil && main.yaw == nil && main.lens == nil && main.rotate == 0)
      #expect(left.projection == "flat" && left.yaw == -20 && left.pitch == 0 && left.roll == 0)
      #expect(left.hfov == 60 && left.lens == nil && left.corners == nil)
      let plain = try await service.get("/api/cameras/plain").json(Camera.self)
      #expect(plain.lens == nil)
    }
  }

  @Test("a PATCH moves a view, changes its shape, and removes what is null")
  func changes() async throws {
    try await withService(Self.configuration()) { service in
      func patch(_ body: String) async throws -> ViewAnswer {
        let answer = try await service.send("PATCH", "/api/cameras/camera/views/left", body: body)
        #expect(answer.status == 200, "\(body): \(answer.text)")
        return try answer.json(ViewAnswer.self)
      }
      let picture = "/cameras/camera/left.png?\(Self.still)"
      let before = try await service.get(picture)

      let moved = try await patch(#"{"yaw": 20.5, "pitch": -3}"#)
      #expect(moved.yaw == 20.5 && moved.pitch == -3 && moved.hfov == 60 && moved.projection == "flat")
      let after = try await service.get(picture)
      #expect(after.bytes != before.bytes && after.headers["ETag"] != before.headers["ETag"])

      let wide = try await patch(#"{"projection": "cylinder", "hfov": 200}"#)
      #expect(wide.projection == "cylinder" && wide.hfov == 200 && wide.yaw == 20.5)
      #expect(try await patch(#"{"hfov": null}"#).hfov == nil)
      let own = try await patch(#"{"lens": "fisheye curve equisolid"}"#)
      #expect(own.lens == "fisheye curve equisolid")
      #expect(try await patch(#"{"lens": null}"#).lens == nil)

      let plain = try await patch(#"{"projection": null, "rotate": -1.5}"#)
      #expect(plain.projection == nil && plain.yaw == nil && plain.rotate == 358.5)
      let plate = try await patch(#"{"rotate": 90, "corners": "10,10 110,20 100,90 5,70"}"#)
      #expect(plate.rotate == 90 && plate.corners == "10,10 110,20 100,90 5,70")
      #expect(try await patch(#"{"corners": null}"#).corners == nil)
    }
  }

  @Test(
    "an invalid warp returns 400 with its key, in URLs and in PATCHes",
    arguments: [
      ("yaw=x", "yaw"), ("yaw=nan", "yaw"), ("yaw=1e9", "yaw"), ("pitch=361", "pitch"), ("roll=", "roll"),
      ("hfov=0", "hfov"), ("hfov=180", "hfov"), ("projection=round", "projection"),
      ("lens=fish&yaw=0", "lens"), ("lens=pinhole%20size%20100x50&yaw=0", "lens"),
      ("lens=pinhole%20distortion%20-9&yaw=0", "lens"), ("corners=1,2", "corners"),
      ("corners=0,0%2050,0%2050,50%200,50&crop=9x9%2B0%2B0", "corners"),
      ("corners=0,0%20999,0%20999,50%200,50", "corners"), ("rotate=1e3", "rotate"),
      ("yaw=0&filter=lanczos", "filter"), ("rotate=1&linear=true", "linear"),
      ("yaw=0&rotate=1", "projection"),
    ])
  func invalid(query: String, key: String) async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.get("/cameras/camera/main.jpg?\(query)")
      #expect(answer.status == 400 && answer.text.contains("\"\(key)\""), "\(answer.text)")
      guard !query.contains("&"), !query.contains("%") else { return }
      let sides = query.split(separator: "=", omittingEmptySubsequences: false)
      let change = try await service.send(
        "PATCH", "/api/cameras/camera/views/left", body: "{\"\(sides[0])\": \"\(sides[1])\"}")
      #expect(change.status == 400 && change.text.contains("\"\(key)\""), "\(change.text)")
    }
  }

  @Test("a projection of a camera without a lens returns 400, which names the key `lens`")
  func noLens() async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.get("/cameras/plain/main.jpg?yaw=20")
      #expect(answer.status == 400 && answer.text.contains("lens="), "\(answer.text)")
      let change = try await service.send(
        "PATCH", "/api/cameras/plain/views/main", body: #"{"projection": "flat"}"#)
      #expect(change.status == 400 && change.text.contains("lens="), "\(change.text)")
    }
  }

  @Test("a locked view refuses the keys of warps with 403")
  func locked() async throws {
    try await withService(Self.configuration()) { service in
      #expect(try await service.get("/cameras/camera/locked.jpg").status == 200)
      for query in ["yaw=0", "lens=fisheye", "hfov=90", "projection=flat", "corners=1,2", "rotate=1"] {
        #expect(try await service.get("/cameras/camera/locked.jpg?\(query)").status == 403, "\(query)")
      }
      let change = try await service.send(
        "PATCH", "/api/cameras/camera/views/locked", body: #"{"yaw": 0}"#)
      #expect(change.status == 403)
    }
  }
}
