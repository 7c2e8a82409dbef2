// Whatever a service is asked, in whatever order: what is hidden is in no byte that it sends, nor what a locked view leaves
// out in any of that view's.
import AsyncHTTPClient
import Foundation
import NIOCore
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Privacy of the service", .serialized, .timeLimit(.minutes(15)))
struct ServicePrivacyTests {
  @Test(
    "no response to random requests and reloads shows masked areas or the outside of a locked crop")
  func seeds() async throws {
    var (seen, failed) = (0, 0)

    for seed in privacySeeds(8) {
      let round = ServiceRound(seed: UInt64(seed))
      let result = try await round.run()
      seen += result.pictures
      failed += result.leaks.isEmpty ? 0 : 1
      #expect(result.leaks.isEmpty, "seed \(seed), after: \(result.steps.joined(separator: "; "))")
    }

    #expect(seen >= 5 * privacySeeds(8).count)
    print(
      "What a service hides: \(privacySeeds(8).count) seeds, \(seen) pictures, \(failed) seeds with a leak")
  }

  @Test("frames whose size does not fit the masks are rejected with a reason until they fit again")
  func otherShape() async throws {
    let sensor = PrivacySensor(hasSizes: false)
    var camera = CameraConfiguration(name: "cam", source: "script")
    camera.options.masks = PrivacyScene.masks
    camera.options.referenceSize = PrivacyScene.reference
    sensor.change(to: Size(width: 64, height: 64))

    try await withService(
      ServerConfiguration(cameras: [camera]), makeSource: { sensor.source(named: $1, $2) }
    ) { service in
      #expect(try await service.get("/cameras/cam/main.jpg?offline=error").status == 503)
      while !Task.isCancelled {
        let answer = try await service.get("/api/cameras/cam").text
        if answer.contains("its masks are for 96x64"), answer.contains(#""state":"lost""#) { break }
        _ = try await service.get("/cameras/cam/main.jpg?offline=error&max_age=0")
      }

      sensor.change(to: nil)
      let preview = try service.inside.registry.view("main", of: "cam").preview
      for try await frame in preview.pictures where frame.sourceState == .live { break }
      #expect(try await service.get("/cameras/cam/main.jpg?offline=error").status == 200)
    }
  }

  @Test("a PATCH that waits for a frame does not change a view that is locked meanwhile")
  func lockedMeanwhile() async throws {
    let camera = GatedCamera()
    let configuration: @Sendable (Bool) -> ServerConfiguration = { isLocked in
      var view = ServedView(ViewConfiguration(name: "main"))
      view.isLocked = isLocked
      // The source is the same: another view of it is locked before and after.
      var other = ServedView(ViewConfiguration(name: "other"))
      other.isLocked = true
      var served = CameraConfiguration(name: "cam", source: "script", views: [view, other])
      served.isRequired = false
      return ServerConfiguration(cameras: [served])
    }

    try await withService(configuration(false), makeSource: { camera.source(named: $1, $2) }) { service in
      async let answer = service.send(
        "PATCH", "/api/cameras/cam/views/main", body: #"{"crop": "20x20+0+0"}"#)
      await camera.isAsked()

      try await service.inside.apply(configuration(true))
      camera.open()

      #expect(try await answer.status != 200)
      #expect(try service.inside.registry.view("main", of: "cam").served.view.crop == nil)
    }
  }

  @Test(
    "a snapshot waiting for a frame gets the crop of a view that is locked meanwhile",
    arguments: ["GET", "POST"])
  func lockedBeforePicture(method: String) async throws {
    let camera = GatedCamera()
    let configuration: @Sendable (Bool) -> ServerConfiguration = { isLocked in
      // The source is the same: another view of it has a crop before and after.
      let other = ServedView(
        ViewConfiguration(name: "other", crop: Rectangle(x: 0, y: 0, width: 8, height: 8)))
      var view = ServedView(ViewConfiguration(name: "main"))
      if isLocked { view.view.crop = Rectangle(x: 4, y: 4, width: 20, height: 10) }
      view.isLocked = isLocked
      var served = CameraConfiguration(name: "cam", source: "script", views: [view, other])
      served.isRequired = false
      return ServerConfiguration(cameras: [served])
    }

    try await withService(configuration(false), makeSource: { camera.source(named: $1, $2) }) { service in
      async let answer =
        method == "GET"
        ? service.get("/cameras/cam/main.jpg")
        : service.send(
          "POST", "/api/cameras/cam/snapshots", [("Accept", "multipart/mixed")],
          body: #"{"views": ["main"]}"#)
      await camera.isAsked()

      try await service.inside.apply(configuration(true))
      camera.open()

      let sent = try await answer
      #expect(sent.status == 200)
      var reader = PartReader()
      let jpeg = try #require(method == "GET" ? sent.bytes : reader.read(sent.bytes).first?.jpeg)
      let size = try JPEGDecoder.decode(jpeg, maximumPixels: 1 << 20).format.size
      #expect(size == Size(width: 20, height: 10))
    }
  }

  @Test("replayed snapshot events omit thumbnails from before a view or configuration change")
  func oldThumbnails() async throws {
    let log = EventLog(epoch: "e")
    let event = #"{"bytes":3,"camera":"cam","snapshot":"AAAA","type":"snapshot","view":"main"}"#
    for isOwn in [true, false] {
      if isOwn {
        log.publish(type: "snapshot", data: Array(event.utf8))
      } else {
        let relayed = try #require(RelayedEvent(json: Array(event.utf8)))
        log.relay(relayed, nil, from: "other")
      }
    }
    func texts() async throws -> [String] {
      let late = try log.subscribe(after: "none-1", EventLog.Filter(types: ["snapshot"]))
      var texts: [String] = []
      while texts.count < 2, case .event(let event) = await late.next(within: allTheTimeThereIs) {
        texts.append(String(buffer: event.text))
      }
      return texts
    }
    #expect(try await texts().map { $0.contains("AAAA") } == [true, true])
    log.publish(type: "service", data: Array(#"{"type":"service","what":"configuration"}"#.utf8))
    #expect(try await texts().map { $0.contains("AAAA") } == [false, true])
    #expect(try await texts().allSatisfy { $0.contains(#""camera":"cam""#) })
    let relayed = try #require(
      RelayedEvent(json: Array(#"{"type":"view","camera":"cam","view":"main"}"#.utf8)))
    log.relay(relayed, nil, from: "other")
    #expect(try await texts().map { $0.contains("AAAA") } == [false, false])
  }
}

/// A camera that opens when a test says so.
private struct GatedCamera {
  private let gate = AsyncStream.makeStream(of: Void.self)
  private let asked = AsyncStream.makeStream(of: Void.self)

  func source(named name: String, _ options: SourceOptions) -> SessionSource {
    var source = SessionSource(
      name: name, options: options,
      // Not live: a pattern's own times begin with 0, and would have to reach the time since the machine was started.
      SessionSource.Origin(isLive: false, hasSizes: false) { [asked, gate] _ in
        asked.continuation.yield()
        for await _ in gate.stream { break }
        return try await SourceLocator("pattern:smpte,size=64x48").open()
      })
    // Nothing stands in for it meanwhile.
    source.opensWithin = allTheTimeThereIs
    return source
  }

  /// Returns when somebody wants to open it.
  func isAsked() async { for await _ in asked.stream { break } }

  func open() {
    gate.continuation.yield()
    gate.continuation.finish()
  }
}

/// One service, and what is asked of it.
private final class ServiceRound: Sendable {
  private let sensor: PrivacySensor
  private let hasMasks: Bool
  private let saysReference: Bool
  private let numbers: Mutex<SeededGenerator>
  private let record = Mutex(Record())

  struct Record: Sendable {
    var steps: [String] = []
    var leaks: [String] = []
    var pictures = 0
  }

  init(seed: UInt64) {
    var numbers = SeededGenerator(seed: seed)
    sensor = PrivacySensor(
      hasSizes: Int.random(in: 0..<3, using: &numbers) > 0, givesJPEGs: Bool.random(using: &numbers))
    hasMasks = Bool.random(using: &numbers)
    saysReference = !sensor.hasSizes
    self.numbers = Mutex(numbers)
    step(
      "\(sensor.hasSizes ? "a camera with sizes" : "a camera without"), \(hasMasks ? "masks" : "no masks")"
        + (sensor.givesJPEGs ? ", JPEGs" : ""))
  }

  private func random(_ range: Range<Int>) -> Int { numbers.withLock { Int.random(in: range, using: &$0) } }

  private func step(_ words: String) { record.withLock { $0.steps.append(words) } }

  /// The same camera each time, with other things around it.
  private func configuration() -> ServerConfiguration {
    var face = ServedView(ViewConfiguration(name: "face", crop: PrivacyScene.crop))
    face.isLocked = true
    if random(0..<2) == 0 { face.view.width = random(8..<40) }
    var views = [
      ServedView(ViewConfiguration(name: "small", width: random(8..<30))),
      ServedView(ViewConfiguration(name: "main")), face,
    ]
    views.swapAt(0, random(0..<3))
    var camera = CameraConfiguration(name: "cam", source: "script", views: views)
    if hasMasks { camera.options.masks = PrivacyScene.masks }
    if saysReference { camera.options.referenceSize = PrivacyScene.reference }
    // The bars of NO SIGNAL have colours of their own.
    camera.avatar = "pattern:zoneplate,size=32x32"
    camera.isRequired = random(0..<2) == 0
    camera.keepsWarm = random(0..<4) == 0
    if random(0..<3) > 0 { camera.replayDuration = .seconds(3600) }
    camera.offline = SnapshotRequest.FallbackPolicy.allCases[random(0..<3)]
    var tile = Tile("cam", view: ViewConfiguration(crop: PrivacyScene.crop))
    tile.replicator = Replicator(instanceCount: 2, opacityOffset: -0.1, delay: .milliseconds(random(0..<10)))
    let size = Size(width: random(16..<48), height: random(16..<48))
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.scenes = [
      SceneConfiguration(name: "wall", scene: Scene(size: size, tiles: [Tile("cam")])),
      SceneConfiguration(name: "faces", scene: Scene(size: size, tiles: [tile])),
    ]
    configuration.limits.requestsPerSecond = 100_000
    configuration.access.linkKeys = [Self.key]
    return configuration
  }

  func run() async throws -> Record {
    try await withService(configuration(), makeSource: { [sensor] in sensor.source(named: $1, $2) }) {
      service in
      let events = Task { await self.follow(service) }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            for _ in 0..<self.random(8..<16) { await self.act(service) }
          }
        }
      }
      events.cancel()
      await events.value
    }
    return record.withLock { $0 }
  }

  private func act(_ service: RunningService) async {
    let views = ["cam/small", "cam/main", "cam/face", "wall/main", "faces/main"]
    let view = views[random(0..<views.count)]
    switch random(0..<12) {
    case 0...3:
      await get("/cameras/\(view).\(random(0..<2) == 0 ? "jpg" : "png")\(words())", of: view, service)
    case 4, 5: await stream("/cameras/\(view).mjpeg\(words())", of: view, service)
    case 6: await stream("/api/stream?view=cam/small&view=cam/face&view=cam/main", of: "", service)
    case 7: await capture(service)
    case 8: await patch(service)
    case 9:
      step("another configuration")
      try? await service.inside.apply(configuration())
    case 10:
      step("the connection breaks")
      sensor.lose()
    default:
      let size = random(0..<2) == 0 ? nil : PrivacySensor.ownSizes[random(0..<PrivacySensor.ownSizes.count)]
      step("the source is \(size.map { "\($0)" } ?? "as it was")")
      sensor.change(to: size)
    }
  }

  /// What a URL may say; a locked view refuses most of it.
  private func words() -> String {
    let all = [
      "width=\(random(8..<60))", "max_age=0", "offline=last", "crop=20x20+12+32", "crop=31x21+10+30&size=30x",
      "rotate=90", "quality=\(random(30..<95))", "mode=fit&size=40x20", "crop=96x64+0+0", "mirror=horizontal",
      "fps=50", "size=200x100", "at=-1ms", "at=-\(random(1..<500))ms", "best=sharpest&within=500ms",
    ]
    let count = random(0..<3)
    return count == 0 ? "" : "?" + (0..<count).map { _ in all[random(0..<all.count)] }.joined(separator: "&")
  }

  private static let key = LinkKey(name: "all", secret: "0123456789abcdef0123456789abcdef")

  /// Returns the path, or a signed link to it.
  private func linked(_ path: String) -> String {
    guard path.hasPrefix("/cameras/"), random(0..<2) == 0 else { return path }
    return (try? SignedLink.signed(path, by: Self.key, until: 99_999_999_999)) ?? path
  }

  // MARK: Looking

  private func get(_ path: String, of view: String, _ service: RunningService) async {
    let path = linked(path)
    step(path)
    guard let answer = try? await service.get(path), answer.status == 200 else { return }
    look(at: answer.bytes, of: view, path)
  }

  private func stream(_ path: String, of view: String, _ service: RunningService) async {
    let path = linked(path)
    step(path)
    let count = random(1..<5)
    let parts = Task { try await service.parts(path, count).parts }
    // Where a view shows the same all the time, its stream has nothing more to send.
    let timer = Task {
      try await Task.sleep(for: .milliseconds(150))
      parts.cancel()
    }
    defer { timer.cancel() }
    for part in (try? await parts.value) ?? [] {
      let names = [part.headers["x-camera"], part.headers["x-view"]].compactMap(\.self)
      look(at: part.jpeg, of: view.isEmpty ? names.joined(separator: "/") : view, path)
    }
  }

  private func capture(_ service: RunningService) async {
    let isStill = random(0..<2) == 0
    let body =
      random(0..<3) == 0
      ? #"{"before": "\#(random(1..<500))ms", "count": 3}"#
      : #"{"still": \#(isStill), "settle": 1, "max_age": \#(random(0..<2) * 1000), "timeout": 10000}"#
    step("POST snapshots \(body)")
    let answer = try? await service.send(
      "POST", "/api/cameras/cam/snapshots", [("Accept", "multipart/mixed")], body: body)
    guard let answer, answer.status == 200 else { return }
    var reader = PartReader()
    for part in reader.read(answer.bytes) {
      look(at: part.jpeg, of: "cam/\(part.headers["x-view"] ?? "")", "a POST's part")
    }
  }

  private func patch(_ service: RunningService) async {
    let view = ["small", "main", "face"][random(0..<3)]
    let body = [
      #"{"width": \#(random(8..<60))}"#, #"{"crop": "30x20+10+30"}"#, #"{"crop": null, "rotate": 90}"#,
    ][random(0..<3)]
    step("PATCH \(view) \(body)")
    guard let answer = try? await service.send("PATCH", "/api/cameras/cam/views/\(view)", body: body) else {
      return
    }
    if view == "face", answer.status == 200 {
      record.withLock { $0.leaks.append("a locked view was changed") }
    }
  }

  /// The thumbnails of snapshots, which everybody is told of.
  private func follow(_ service: RunningService) async {
    var bytes: [UInt8] = []
    do {
      for try await chunk in try await service.openStream("/api/events") {
        bytes += Array(chunk.readableBytesView)
      }
    } catch {
      // It is ended by who began it.
    }
    let text = String(decoding: bytes, as: UTF8.self)
    for event in text.split(separator: "\n") where event.hasPrefix("data:") {
      guard let start = event.firstRange(of: #""snapshot":""#)?.upperBound,
        let picture = Data(base64Encoded: String(event[start...].prefix { $0 != "\"" }))
      else { continue }
      // That of the first view, whichever that was.
      look(at: Array(picture), of: "an event", "an event")
    }
  }

  private func look(at bytes: [UInt8], of view: String, _ what: String) {
    guard let leak = try? PrivacyLeak(inFile: bytes) else { return }
    let isPart = view == "cam/face" || view.hasPrefix("faces")
    record.withLock { record in
      record.pictures += 1
      guard leak.contains(.hidden) && hasMasks || isPart && !leak.isEmpty, record.leaks.count < 5 else {
        return
      }
      record.leaks.append("\(view): \(what)")
      record.steps.append("LEAK \(leak.rawValue) in \(what) of \(view)")
    }
  }
}
