// Streams and pictures of views that move and are locked: the poses that they show, their sharing, and their ends.
import GLPreview
import HTTPTypes
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import HLS
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Streams of views that move", .timeLimit(.minutes(15)))
struct ViewMoveStreamTests {
  private static let path = "/api/cameras/camera/views/left"
  private static let still = "max_age=86400000"

  /// A camera that gives one frame during a test, with views that look to the same side.
  private static func configuration(locked: Bool = false) throws -> ServerConfiguration {
    let views = try ["left", "still"].map { name in
      var view = ServedView(ViewConfiguration(name: name, width: 64, height: 36))
      try view.view.set("yaw", to: "-20")
      try view.view.set("hfov", to: "60")
      view.isLocked = locked
      return view
    }
    var camera = CameraConfiguration(
      source: "pattern:smpte,size=160x160,fps=0.001", views: [ServedView()] + views)
    camera.options.lens = Lens(.fisheye(), fov: 180)
    camera.keepsWarm = true
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.limits.requestsPerSecond = 1_000_000
    configuration.limits.gpu = 0
    return configuration
  }

  private static func move(_ body: String, by service: RunningService) async throws {
    let answer = try await service.send("POST", path + "/move", body: body)
    #expect(answer.status == 200, "\(body): \(answer.text)")
  }

  private static func left(of service: RunningService) throws -> ServedPreview {
    try service.inside.registry.view("left", of: "camera")
  }

  /// The same view in another size, as a URL requests it.
  private static func small(_ target: ServedPreview, setsPose: Bool = false) -> ServedView {
    var view = target.served
    (view.view.width, view.view.height, view.setsPose) = (32, 18, setsPose)
    return view
  }

  @Test("a stream by URL moves with its view, unless its URL has a pose")
  func follows() async throws {
    try await withService(Self.configuration()) { service in
      let streams = service.inside.streams
      let target = try Self.left(of: service)
      let one = try streams.join(target, as: Self.small(target), every: .zero)
      let alone = try streams.join(target, as: Self.small(target, setsPose: true), every: .zero)
      func pose(_ stream: StreamSubscription) -> LensPose? {
        stream.hub.preview.configuration.view?.projection?.pose
      }
      func moves(_ stream: StreamSubscription) -> Bool { stream.hub.preview.runningMove(at: .now) != nil }

      try await Self.move(#"{"to": {"yaw": 60}, "over": "1h"}"#, by: service)
      #expect(pose(one)?.yaw == 60 && moves(one))
      #expect(one.hub.preview.runningMove(at: .now) == target.preview.runningMove(at: .now))
      #expect(pose(alone)?.yaw == -20 && !moves(alone))
      let moved = try Self.left(of: service)
      let two = try streams.join(moved, as: Self.small(moved), every: .zero)
      #expect(two.hub === one.hub && alone.hub !== one.hub)

      try await Self.move(#"{"stop": true}"#, by: service)
      #expect(try pose(one) == Self.left(of: service).served.view.projection?.pose)
      #expect(!moves(one))
      try await Self.move(#"{"to": {"yaw": 5}}"#, by: service)
      #expect(pose(one)?.yaw == 5)
      try await Self.move(#"{"to": {"yaw": 50}, "over": "1h"}"#, by: service)
      #expect(try await service.send("PATCH", Self.path, body: #"{"yaw": 10}"#).status == 200)
      #expect(pose(one)?.yaw == 10 && !moves(one) && pose(alone)?.yaw == -20)
      withExtendedLifetime((one, two, alone)) {}
    }
  }

  @Test("a URL with the pose that a view moves to shows that pose during the move")
  func explicit() async throws {
    try await withService(Self.configuration()) { service in
      try await Self.move(#"{"to": {"yaw": 60}, "over": "1h"}"#, by: service)
      let asked = try await service.get("/cameras/camera/left.png?\(Self.still)&yaw=60")
      let size = "width=64&height=36"
      let other = try await service.get("/cameras/camera/main.png?\(Self.still)&\(size)&yaw=60&hfov=60")
      let moving = try await service.get("/cameras/camera/left.png?\(Self.still)")
      #expect(asked.status == 200 && asked.bytes == other.bytes)
      #expect(moving.status == 200 && moving.bytes != asked.bytes)
    }
  }

  @Test(
    "an HLS stream goes on while its view moves, and ends when that is locked",
    .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"))
  func playlists() async throws {
    try await withService(Self.configuration()) { service in
      let videos = service.inside.videos
      let target = try Self.left(of: service)
      let own = try HLSStream(target, target.served, target.served.video, videos)
      let small = try HLSStream(target, Self.small(target), target.served.video, videos)

      try await Self.move(#"{"to": {"yaw": 60}}"#, by: service)
      let moved = try Self.left(of: service)
      #expect(own.shows(moved.served, of: moved) && small.shows(Self.small(moved), of: moved))
      #expect(!own.shows(Self.small(moved), of: moved) && !small.shows(moved.served, of: moved))
      #expect(!small.shows(Self.small(moved, setsPose: true), of: moved))

      try await Self.move(#"{"to": {"yaw": -20}}"#, by: service)
      try await service.inside.apply(Self.configuration(locked: true))
      let locked = try Self.left(of: service)
      #expect(locked.preview === target.preview && locked.served.isLocked)
      #expect(locked.served.view == target.served.view && !own.shows(locked.served, of: locked))
      for stream in [own, small] { _ = stream.forgetViewers(at: CaptureClock.now) }
    }
  }

  @Test("pictures of a view from before it was moved and locked are not shown any more")
  func locked() async throws {
    try await withService(Self.configuration()) { service in
      let registry = service.inside.registry
      try await Self.move(#"{"to": {"yaw": 60}}"#, by: service)
      try await Self.move(#"{"to": {"yaw": -20}, "over": "1h"}"#, by: service)
      let (moved, still) = (try Self.left(of: service), try registry.view("still", of: "camera"))
      func rights(_ view: ServedPreview) -> [ViewRight] {
        [ViewRight(view, .drawn(view.served.view)), ViewRight(view, .buffered(view.served.view))]
      }
      let pictures = [moved, still].map { PictureRight($0, in: registry.served) }
      for right in rights(moved) + rights(still) {
        #expect(throws: Never.self) { try registry.check(right) }
      }
      #expect(pictures.allSatisfy { registry.served.allows($0) == true })

      try await service.inside.apply(Self.configuration(locked: true))
      let locked = try Self.left(of: service)
      #expect(locked.served.isLocked && locked.served.view == moved.served.view)
      for right in rights(moved) { #expect(throws: Problem.self) { try registry.check(right) } }
      for right in rights(still) { #expect(throws: Never.self) { try registry.check(right) } }
      #expect(pictures.map { registry.served.allows($0) } == [false, true])
      // Pictures that are drawn from now on show exactly what is locked.
      for right in rights(locked) { #expect(throws: Never.self) { try registry.check(right) } }
      #expect(registry.served.allows(PictureRight(locked, in: registry.served)) == true)
    }
  }

  @Test("a stop with nothing to stop changes nothing, and one move too many is refused with 429")
  func counted() async throws {
    try await withService(Self.configuration()) { service in
      try await Self.move(#"{"stop": true}"#, by: service)
      let target = try Self.left(of: service)
      #expect(target.moves == 0)
      try await Self.move(#"{"to": {"yaw": 1}}"#, by: service)
      #expect(try Self.left(of: service).moves == 1)

      let limiter = MoveLimiter()
      let now = CaptureInstant(sinceStart: .seconds(1000))
      for _ in 0..<MoveLimiter.most { try limiter.check(target, at: now) }
      let problem = #expect(throws: Problem.self) { try limiter.check(target, at: now) }
      #expect(problem?.status == .tooManyRequests && problem?.headers["Retry-After"] == "1")
    }
  }
}
