// Limits of moves: the largest picture, for views and for streams that follow them, and the moves of a second.
import FoundationEssentials
import GLPreview
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Limits of moves", .timeLimit(.minutes(15)))
struct ViewMoveLimitTests {
  private static let views = "/api/cameras/camera/views"
  private static let still = "max_age=86400000"

  /// A still of 160x160 pixels by a fisheye. The pictures of `narrow` have 59x33 pixels, those of `wide` 121x68, and
  /// those of `line` 64x36 in each field of view.
  private static func configuration() throws -> ServerConfiguration {
    let words: [(String, Double, Int?)] = [("narrow", 60, nil), ("wide", 100, nil), ("line", 60, 64)]
    let views = try words.map { name, field, width in
      var view = ServedView(ViewConfiguration(name: name, width: width))
      view.view.projection = Projection(hfov: field)
      var far = PoseChange()
      try far.set("hfov", to: 100)
      view.positions["far"] = far
      return view
    }
    var camera = CameraConfiguration(source: "pattern:smpte,size=160x160,fps=0.001", views: views)
    camera.options.lens = Lens(.fisheye(), fov: 180)
    camera.keepsWarm = true
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.limits.pixels = 2500
    configuration.limits.gpu = 0
    return configuration
  }

  private struct Refusal: Decodable, Equatable {
    let status: Int
    let detail: String
    let parameter: String?
  }

  private static func move(
    _ view: String, _ body: String, by service: RunningService
  ) async throws -> RunningService.Answer {
    try await service.send("POST", "\(views)/\(view)/move", body: body)
  }

  // MARK: The largest picture

  @Test(
    "a move to a field of view whose picture is over limits.pixels is refused as by PATCH",
    arguments: [
      #"{"to": {"hfov": 100}}"#, #"{"to": {"hfov": 100}, "over": "1h"}"#, #"{"by": {"hfov": 40}}"#,
      #"{"by": {"hfov": 40, "yaw": 5}, "over": "2s"}"#, #"{"to": "far"}"#, #"{"to": "far", "over": 1}"#,
    ])
  func tooLarge(body: String) async throws {
    try await withService(Self.configuration()) { service in
      let change = try await service.send("PATCH", "\(Self.views)/narrow", body: #"{"hfov": 100}"#)
      let refused = try await Self.move("narrow", body, by: service)
      #expect(change.status == 400 && refused.status == 400, "\(refused.text)")
      let refusal = try refused.json(Refusal.self)
      #expect(try refusal == change.json(Refusal.self))
      #expect(refusal.parameter == "size" && refusal.detail.hasPrefix("121x68 "), "\(refusal)")
      let view = try service.inside.registry.view("narrow", of: "camera")
      #expect(view.served.view.projection?.hfov == 60 && view.moves == 0)
      // 66x37 pixels.
      #expect(
        try await Self.move("narrow", #"{"to": {"hfov": 66}, "over": "1h"}"#, by: service).status == 200)
    }
  }

  @Test("frames larger than the reference size count with their own pixels")
  func largerThanReference() async throws {
    var configuration = try Self.configuration()
    configuration.cameras[0].options.referenceSize = Size(width: 32, height: 32)
    try await withService(configuration) { service in
      let picture = try await service.get("/cameras/camera/narrow.png?\(Self.still)&hfov=100")
      #expect(picture.status == 400, "\(picture.headers["X-View-Size"])")
      let moved = try await Self.move("narrow", #"{"to": {"hfov": 100}}"#, by: service)
      #expect(moved.status == 400 && moved.text.contains("121x68"), "\(moved.text)")
    }
  }

  @Test("a view without a size does not zoom before its camera has sent a frame")
  func noFrame() async throws {
    var configuration = try Self.configuration()
    configuration.cameras[0].source = "/nonexistent/camera.jpg"
    configuration.cameras[0].isRequired = false
    try await withService(configuration) { service in
      let moved = try await Self.move("narrow", #"{"to": {"hfov": 100}}"#, by: service)
      #expect(moved.status == 409 || moved.status == 503, "\(moved.text)")
      #expect(try await Self.move("narrow", #"{"to": {"yaw": 5}}"#, by: service).status == 200)
    }
  }

  @Test("a zoom over time needs a picture within limits.pixels at its start, a jump and a turn do not")
  func onTheWay() async throws {
    try await withService(Self.configuration()) { service in
      let zoom = try await Self.move("wide", #"{"to": {"hfov": 40}, "over": "1h"}"#, by: service)
      #expect(zoom.status == 400 && zoom.text.contains("121x68"), "\(zoom.text)")
      for body in [
        #"{"to": {"yaw": 10}, "over": "1h"}"#, #"{"stop": true}"#, #"{"to": {"hfov": 40}}"#,
        #"{"to": {"hfov": 50}, "over": "1h"}"#,
      ] {
        let answer = try await Self.move("wide", body, by: service)
        #expect(answer.status == 200, "\(body): \(answer.text)")
      }
    }
  }

  @Test("a view with one side has the same size in each field of view")
  func oneSide() async throws {
    try await withService(Self.configuration()) { service in
      for field in [1, 60, 170] {
        let answer = try await Self.move("line", #"{"to": {"hfov": \#(field)}}"#, by: service)
        #expect(answer.status == 200, "\(answer.text)")
        let picture = try await service.get("/cameras/camera/line.png?\(Self.still)")
        #expect(picture.headers["X-View-Size"] == ["64x36"], "\(field)")
      }
    }
  }

  /// The sizes of pictures up to one of `size`.
  private static func sizes(
    of pictures: inout PreviewPictures.Iterator, until size: Size
  ) async throws -> [Size] {
    var sizes: [Size] = []
    while sizes.last != size {
      guard let picture = try await pictures.next() else { throw StreamEnded() }
      sizes.append(picture.picture.size)
    }
    return sizes
  }

  @Test("a stream by URL grows up to limits.pixels where its view may have a wider field, and shrinks again")
  func followers() async throws {
    try await withService(Self.configuration()) { service in
      // The camera has given its frame.
      let picture = try await service.get("/cameras/camera/narrow.png?\(Self.still)")
      #expect(picture.headers["X-View-Size"] == ["59x33"])
      let target = try service.inside.registry.view("narrow", of: "camera")
      var wanted = target.served
      wanted.view.background = RGBColor(red: 1, green: 2, blue: 3)
      let stream = try service.inside.streams.join(target, as: wanted, every: .zero)
      var pictures = stream.hub.preview.pictures.makeAsyncIterator()
      _ = try await Self.sizes(of: &pictures, until: Size(width: 59, height: 33))

      let sized = try await service.send("PATCH", "\(Self.views)/narrow", body: #"{"size": "64x36"}"#)
      #expect(sized.status == 200, "\(sized.text)")
      let wide = try await Self.move("narrow", #"{"to": {"hfov": 150}}"#, by: service)
      #expect(wide.status == 200, "\(wide.text)")
      // Not 160x90.
      let grown = try await Self.sizes(of: &pictures, until: Size(width: 66, height: 37))
      #expect(grown.allSatisfy { $0.pixelCount <= 2500 })

      let narrow = try await Self.move("narrow", #"{"to": {"hfov": 40}, "over": "1ms"}"#, by: service)
      #expect(narrow.status == 200, "\(narrow.text)")
      let shrunk = try await Self.sizes(of: &pictures, until: Size(width: 37, height: 21))
      #expect(shrunk.allSatisfy { $0.pixelCount <= 2500 })
      withExtendedLifetime(stream) {}
    }
  }

  @Test(
    "a stream by URL stays within limits.pixels where its frames become larger than the one it was checked with"
  )
  func largerFrames() async throws {
    var configuration = try Self.configuration()
    configuration.cameras[0].options.referenceSize = Size(width: 32, height: 32)
    try await withService(configuration) { service in
      let target = try service.inside.registry.view("line", of: "camera")
      var wanted = target.served
      wanted.view = ViewConfiguration(name: "line", crop: Rectangle(x: 0, y: 0, width: 31, height: 32))
      // As for a view that was checked before.
      let stream = try service.inside.streams.join(target, as: wanted, every: .zero)
      var pictures = stream.hub.preview.pictures.makeAsyncIterator()
      let picture = try #require(try await pictures.next())
      // Not 155x160.
      #expect(picture.picture.size == Size(width: 49, height: 50), "\(picture.picture.size)")
      withExtendedLifetime(stream) {}
    }
  }

  @Test("a snapshot of a view that has moved since it was looked up is checked in its new pose")
  func movedSince() async throws {
    try await withService(Self.configuration()) { service in
      let target = try service.inside.registry.view("narrow", of: "camera")
      let request = Request(
        head: HTTPRequest(
          method: .get, scheme: nil, authority: nil, path: "/cameras/camera/narrow.png?\(Self.still)"),
        body: RequestBody(buffer: ByteBuffer()))
      let query = try SnapshotQuery(
        QueryParameters(request), of: target.served, as: .png, offline: target.offline,
        timeout: allTheTimeThereIs)
      let (_, before) = try await service.inside.snapshots.picture(of: target, query) { _ in false }
      #expect(before != nil)
      let sized = try await service.send("PATCH", "\(Self.views)/narrow", body: #"{"size": "64x36"}"#)
      let wide = try await Self.move("narrow", #"{"to": {"hfov": 150}}"#, by: service)
      #expect(sized.status == 200 && wide.status == 200)
      let error = await #expect(throws: ParameterError.self) {
        _ = try await service.inside.snapshots.picture(of: target, query) { _ in false }
      }
      #expect(error?.reason.hasPrefix("160x90 ") == true, "\(String(describing: error))")
    }
  }

  // MARK: Changes that wait for a frame

  /// A camera of 64x48 pixels that a test opens.
  private static func gated(_ view: ServedView) -> ServerConfiguration {
    var camera = CameraConfiguration(source: "script", views: [view])
    camera.options.lens = Lens(.fisheye(), fov: 180)
    camera.isRequired = false
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.limits.pixels = 1000
    return configuration
  }

  @Test("a PATCH that waits for a frame is refused if the view has moved meanwhile, and would be too large")
  func movedMeanwhile() async throws {
    let camera = GatedCamera()
    var view = ServedView(ViewConfiguration(name: "left", width: 32, height: 18))
    view.view.projection = Projection(hfov: 60)
    let configuration = Self.gated(view)
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) { service in
      async let change = service.send("PATCH", "\(Self.views)/left", body: #"{"size": null}"#)
      await camera.isAsked()
      let move = try await Self.move("left", #"{"to": {"hfov": 150}}"#, by: service)
      #expect(move.status == 200, "\(move.text)")
      camera.open()

      let answer = try await change
      #expect(answer.status == 400 && answer.text.contains("64x36"), "\(answer.text)")
      #expect(try service.inside.registry.view("left", of: "camera").served.view.width == 32)
    }
  }

  @Test("of two differences that wait for the same frame, the second is added to the first")
  func addedMeanwhile() async throws {
    let camera = GatedCamera()
    var view = ServedView(ViewConfiguration(name: "left"))
    view.view.projection = Projection(hfov: 60)
    let configuration = Self.gated(view)
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) { service in
      // 100 degrees are 36x20 pixels, and 140 are 64x36.
      async let one = Self.move("left", #"{"by": {"hfov": 40}}"#, by: service)
      async let other = Self.move("left", #"{"by": {"hfov": 40}}"#, by: service)
      await camera.isAsked()
      camera.open()

      let statuses = try await [one.status, other.status]
      #expect(statuses.sorted() == [200, 400])
      #expect(try service.inside.registry.view("left", of: "camera").served.view.projection?.hfov == 100)
    }
  }

  // MARK: The moves of a second

  @Test("a PATCH of the pose counts as a move, another PATCH does not")
  func patched() async throws {
    try await withService(Self.configuration()) { service in
      let target = try service.inside.registry.view("line", of: "camera")
      // Late ones, which last however slow the test is.
      let late = CaptureClock.now + .seconds(3600)
      while service.inside.core.moves.allows(target.preview.name, at: late) {}
      let turn = try await service.send("PATCH", "\(Self.views)/line", body: #"{"yaw": 5}"#)
      #expect(turn.status == 429 && turn.headers["Retry-After"] == ["1"], "\(turn.text)")
      #expect(try await Self.move("line", #"{"to": {"yaw": 5}}"#, by: service).status == 429)
      #expect(try await service.send("PATCH", "\(Self.views)/line", body: #"{"fps": 5}"#).status == 200)
    }
  }

  @Test("over HTTP, a view's 51st move within a second is refused with 429, and one after the second is not")
  func counted() async throws {
    try await withService(Self.configuration()) { service in
      let time = Watched(CaptureInstant(sinceStart: .seconds(1000)))
      let router = Router(context: ServiceContext.self)
      MoveRoutes(core: service.inside.core) { time.value }.add(to: ServiceRoutes(router))
      try await withServer(of: router) { server in
        @Sendable func move(_ view: String) async throws -> LiveServer.Answer {
          try await server.execute(
            uri: "\(Self.views)/\(view)/move", method: .post,
            body: ByteBuffer(string: #"{"to": {"yaw": 1}}"#))
        }
        for _ in 0..<50 {
          let moved = try await move("narrow")
          #expect(moved.status == .ok)
        }
        time.update { $0 = $0 + .milliseconds(999) }
        let refused = try await move("narrow")
        #expect(refused.status == .tooManyRequests)
        #expect(refused.headers[named: "Retry-After"] == "1")
        #expect(refused.headers[.contentType] == "application/problem+json")
        let problem = try JSONDecoder().decode(Refusal.self, from: Data(refused.body.readableBytesView))
        #expect(problem.status == 429 && problem.detail.contains("more than 50 times a second"))
        let other = try await move("wide")
        #expect(other.status == .ok)

        time.update { $0 = $0 + .milliseconds(1) }
        let late = try await move("narrow")
        #expect(late.status == .ok)
      }
    }
  }
}
