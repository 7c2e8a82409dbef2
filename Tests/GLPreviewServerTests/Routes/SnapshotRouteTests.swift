import AsyncHTTPClient
// Snapshots over HTTP: the contract of freshness, what was applied, budgets, conditions, all views of one frame.
import FoundationEssentials
import GLPreview
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Snapshots over HTTP", .timeLimit(.minutes(15)))
struct SnapshotRouteTests {
  static let gone = {
    var camera = CameraConfiguration(name: "gone", source: "exec:exit 3")
    camera.options.live.stallsAfter = allTheTimeThereIs
    return camera
  }()

  static func configuration() throws -> ServerConfiguration {
    var face = ServedView(ViewConfiguration(name: "face"))
    try face.view.set("crop", to: "90x90+10+20")
    var locked = ServedView(ViewConfiguration(name: "door", width: 160))
    locked.isLocked = true
    var camera = CameraConfiguration(source: StreamTests.pattern, views: [ServedView(), face, locked])
    camera.keepsWarm = true
    var lost = gone
    lost.isRequired = false
    return ServerConfiguration(cameras: [camera, lost])
  }

  @Test("snapshot headers give time, size, crop, rotation and camera state, and EXIF gives the time")
  func headers() async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.get("/cameras/camera/face.jpg?width=45&rotate=-90&q=70")

      #expect(answer.status == 200)
      #expect(answer.headers["Content-Type"] == ["image/jpeg"])
      #expect(answer.headers["X-View-Size"] == ["45x45"])
      #expect(answer.headers["X-View-Crop"] == ["90x90+10+20"])
      #expect(answer.headers["X-View-Rotate"] == ["270"])
      #expect(answer.headers["X-Source-State"] == ["live"])
      #expect(answer.headers["Cache-Control"] == ["private, no-cache"])
      #expect(try JPEGProbe(answer.bytes).width == 45)

      let stamp = try #require(answer.headers["X-Timestamp"].first)
      // EXIF says the same time, with its fraction.
      let fraction = try #require(stamp.split(separator: ".").last)
      #expect(answer.bytes.firstRange(of: Array("\(fraction)\0".utf8)) != nil)

      let plain = try await service.get("/cameras/camera/face.jpg?exif=0")
      #expect(plain.bytes.firstRange(of: Array("Exif".utf8)) == nil)

      let png = try await service.get("/cameras/camera/main.png?size=32x")
      #expect(png.headers["Content-Type"] == ["image/png"])
      #expect(png.bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]))
    }
  }

  @Test("label, time and warmup parameters are accepted; invalid ones return 400, locked views 403")
  func labels() async throws {
    try await withService(Self.configuration()) { service in
      for words in ["label=Front%20door", "time=utc", "label=a&time=%25H:%25M", "warmup=2", "warmup=0.1s"] {
        let answer = try await service.get("/cameras/camera/face.jpg?\(words)")
        #expect(answer.status == 200, "\(words)")
      }
      for words in ["time=now", "time=%25Q", "warmup=x", "label=\(String(repeating: "a", count: 201))"] {
        let answer = try await service.get("/cameras/camera/face.jpg?\(words)")
        #expect(answer.status == 400, "\(words)")
      }
      for path in ["door.jpg?label=x", "door.mjpeg?time=utc"] {
        let answer = try await service.get("/cameras/camera/\(path)")
        #expect(answer.status == 403, "\(path)")
      }
    }
  }

  @Test("max_age=0 returns a frame captured after the request, and a larger max_age returns 200")
  func freshness() async throws {
    try await withService(Self.configuration()) { service in
      _ = try await service.get("/cameras/camera/main.jpg")
      let asked = CaptureClock.now

      let fresh = try await service.get("/cameras/camera/main.jpg?max_age=0")
      let stamp = try #require(fresh.headers["X-Timestamp"].first.flatMap(Double.init))
      #expect(stamp >= WallTime(capturedAt: asked).secondsSinceEpoch - 0.001)

      let first = try await service.get("/cameras/camera/main.jpg?max_age=60000")
      let second = try await service.get("/cameras/camera/main.jpg?max_age=60000")
      #expect(first.status == 200 && second.status == 200)
    }
  }

  @Test("a snapshot returns 304 for its ETag, and 200 when another size is requested")
  func conditions() async throws {
    var configuration = try Self.configuration()
    // A still is the same frame for ever.
    configuration.cameras[0].source = "pattern:smpte,size=64x36,fps=0.001"

    try await withService(configuration) { service in
      let first = try await service.get("/cameras/camera/main.jpg?max_age=86400000")
      let tag = try #require(first.headers["ETag"].first)
      let path = "/cameras/camera/main.jpg?max_age=86400000"

      let second = try await service.get(path, [("If-None-Match", tag)])
      #expect(second.status == 304 && second.bytes.isEmpty && second.headers["ETag"] == [tag])

      let other = try await service.get(path + "&width=32", [("If-None-Match", tag)])
      #expect(other.status == 200 && other.headers["ETag"] != [tag])
    }
  }

  @Test("max_bytes limits a JPEG, also as base64 or data URL; 100 bytes or a PNG return 400")
  func budgets() async throws {
    try await withService(Self.configuration()) { service in
      for (path, prefix) in [
        ("", ""), ("&encoding=base64", ""), ("&encoding=dataurl", "data:image/jpeg;base64,"),
      ] {
        let answer = try await service.get("/cameras/camera/main.jpg?max_bytes=3000" + path)
        #expect(answer.status == 200)
        #expect(answer.bytes.count <= 3000)
        if !path.isEmpty { #expect(answer.text.hasPrefix(prefix)) }
      }

      #expect(try await service.get("/cameras/camera/main.jpg?max_bytes=100").status == 400)
      #expect(try await service.get("/cameras/camera/main.png?max_bytes=3000").status == 400)
    }
  }

  @Test("concurrent equal snapshot requests are rendered once")
  func sharing() async throws {
    var configuration = try Self.configuration()
    configuration.cameras[0].source = "pattern:smpte,size=64x36,fps=0.001"

    try await withService(configuration) { service in
      let path = "/cameras/camera/main.jpg?max_age=86400000&width=48"
      _ = try await service.get("/cameras/camera/main.jpg?max_age=86400000")
      let before = service.inside.registry.session.statistics.pictures

      let tags = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<10 { group.addTask { try await service.get(path).headers["ETag"] } }
        return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
      }

      #expect(tags.count == 1)
      #expect(service.inside.registry.session.statistics.pictures == before + 1)
    }
  }

  @Test("a failing camera returns 200 with a placeholder or offline=last, 503 with offline=error")
  func offline() async throws {
    try await withService(Self.configuration()) { service in
      let placeholder = try await service.get("/cameras/gone/main.jpg")
      #expect(placeholder.status == 200)
      #expect(["lost", "opening"].contains(placeholder.headers["X-Source-State"].first ?? ""))

      let last = try await service.get("/cameras/gone/main.jpg?offline=last")
      #expect(last.status == 200)

      let error = try await service.get("/cameras/gone/main.jpg?offline=error")
      #expect(error.status == 503)
      #expect(error.headers["Retry-After"] == ["1"])

      let stream = try await service.parts("/cameras/gone/main.mjpeg", 2).parts
      #expect(stream.allSatisfy { $0.headers["x-source-state"] != "live" })
    }
  }

  @Test("metrics count snapshots by result, and encoded JPEGs")
  func counts() async throws {
    try await withService(Self.configuration()) { service in
      _ = try await service.get("/cameras/camera/main.jpg")
      _ = try await service.get("/cameras/camera/main.jpg", [("If-None-Match", "*")])
      _ = try await service.get("/cameras/camera/main.jpg?width=wide")
      _ = try await service.get("/cameras/gone/main.jpg")
      _ = try await service.send("POST", "/api/cameras/camera/snapshots")

      let lines = Set(try await service.get("/metrics").text.split(separator: "\n"))

      for (result, count) in [("taken", 2), ("cached", 1), ("failed", 1), ("placeholder", 1)] {
        #expect(lines.contains("glpreview_snapshots_total{result=\"\(result)\"} \(count)"))
      }
      // Two by GET, and three views by POST, of which one may be the picture that was made before; then those of the event.
      let encoded = try #require(lines.first { $0.hasPrefix("glpreview_jpegs_encoded_total ") })
      #expect(try #require(Int(encoded.split(separator: " ")[1])) >= 4)
      #expect(lines.contains("glpreview_stage_seconds_count{stage=\"snapshot\"} 2"))
    }
  }

  @Test("a locked view returns 403 for crop, width, rotate and mode, and accepts quality")
  func locked() async throws {
    try await withService(Self.configuration()) { service async throws in
      #expect(try await service.get("/cameras/camera/door.jpg").status == 200)
      #expect(try await service.get("/cameras/camera/door.jpg?quality=50").status == 200)
      for word in ["crop=10x10%2B0%2B0", "width=320", "rotate=90", "mode=fit"] {
        #expect(try await service.get("/cameras/camera/door.jpg?\(word)").status == 403)
        #expect(try await service.get("/cameras/camera/door.mjpeg?\(word)").status == 403)
      }
    }
  }

  @Test("a POST returns all views of one frame and publishes an event; an invalid body returns 4xx")
  func capture() async throws {
    struct Answer: Decodable {
      struct Picture: Decodable {
        let view: String
        let width: Int
        let height: Int
        let snapshot: String
      }
      let camera: String
      let sequence: Int
      let pictures: [Picture]
    }

    try await withService(Self.configuration()) { service in
      let answer = try await service.send("POST", "/api/cameras/camera/snapshots")
      #expect(answer.status == 200)
      let decoded = try answer.json(Answer.self)
      #expect(decoded.pictures.map(\.view) == ["main", "face", "door"])
      #expect(decoded.pictures.map(\.width) == [320, 90, 160])
      for picture in decoded.pictures {
        let jpeg = try #require(Data(base64Encoded: picture.snapshot))
        #expect(try JPEGProbe(Array(jpeg)).height == picture.height)
      }

      let events = service.inside.events.log
      let follower = try events.subscribe(after: "0-0", .init(types: ["snapshot"]))
      guard case .event(let event) = await follower.next(within: allTheTimeThereIs) else {
        Issue.record("nobody was told")
        return
      }
      #expect(String(buffer: event.text).contains("\"sequence\":\(decoded.sequence)"))

      let parts = try await service.send(
        "POST", "/api/cameras/camera/snapshots", [("Accept", "multipart/mixed")],
        body: #"{"views": ["face"], "max_bytes": 2500}"#)
      #expect(parts.headers["Content-Type"].first?.hasPrefix("multipart/mixed") == true)
      #expect(parts.text.contains("X-View: face"))

      for body in [#"{"views": ["none"]}"#, #"{"quality": 0}"#, #"{"zoom": 1}"#, "[]", "{", #"{"views": 3}"#]
      {
        let answer = try await service.send("POST", "/api/cameras/camera/snapshots", body: body)
        #expect((400..<500).contains(answer.status), "\(body) \(answer.status)")
      }
    }
  }
}
