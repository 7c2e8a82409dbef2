// A service that gets random requests, reloads, PATCHes and moves, and what its pictures leak.
import AsyncHTTPClient
import Foundation
import NIOCore
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

/// One service, and what is asked of it.
final class ServiceRound: Sendable {
  private let sensor: PrivacySensor
  private let hasMasks: Bool
  private let saysReference: Bool
  private let numbers: Mutex<SeededGenerator>
  private let record = Mutex(Record())

  struct Record: Sendable {
    var steps: [String] = []
    var leaks: [String] = []
    var pictures = 0
    /// Moves that were answered with 200.
    var moves = 0
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
    face.view = sometimesWarped(face.view)
    var views = [
      ServedView(sometimesWarped(ViewConfiguration(name: "small", width: random(8..<30)))),
      ServedView(ViewConfiguration(name: "main")), face,
    ]
    views.swapAt(0, random(0..<3))
    var camera = CameraConfiguration(name: "cam", source: "script", views: views)
    if hasMasks { camera.options.masks = PrivacyScene.masks }
    camera.options.lens = Lens(.fisheye(), fov: 190)
    if saysReference { camera.options.referenceSize = PrivacyScene.reference }
    // The bars of NO SIGNAL have colours of their own.
    camera.avatar = "pattern:zoneplate,size=32x32"
    camera.isRequired = random(0..<2) == 0
    camera.keepsWarm = random(0..<4) == 0
    if random(0..<3) > 0 { camera.replayDuration = .seconds(3600) }
    camera.offline = SnapshotRequest.FallbackPolicy.allCases[random(0..<3)]
    var tile = Tile("cam", view: sometimesWarped(ViewConfiguration(crop: PrivacyScene.crop)))
    tile.replicator = Replicator(instanceCount: 2, opacityOffset: -0.1, delay: .milliseconds(random(0..<10)))
    let size = Size(width: random(16..<48), height: random(16..<48))
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.scenes = [
      SceneConfiguration(
        name: "wall",
        scene: Scene(size: size, tiles: [Tile("cam", view: sometimesWarped(ViewConfiguration()))])),
      SceneConfiguration(name: "faces", scene: Scene(size: size, tiles: [tile])),
    ]
    configuration.limits.requestsPerSecond = 100_000
    configuration.access.linkKeys = [Self.key]
    return configuration
  }

  private func sometimesWarped(_ view: ViewConfiguration) -> ViewConfiguration {
    guard random(0..<2) == 0 else { return view }
    return numbers.withLock { view.warped(in: PrivacyScene.reference, by: &$0) }
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
    switch random(0..<13) {
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
    case 11: await move(service)
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
      "fps=50", "size=200x100", "rotate=\(random(1..<360)).5", "yaw=\(random(0..<90))&hfov=70&filter=bicubic",
      "lens=fisheye%20fov%20170&projection=cylinder&pitch=\(random(0..<60))",
      "corners=4,4%2090,10%2080,60%2010,55", "at=-1ms", "at=-\(random(1..<500))ms",
      "best=sharpest&within=500ms",
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
      #"{"corners": null, "rotate": 0, "yaw": \#(random(0..<90)), "hfov": 70}"#,
      #"{"projection": null, "corners": null, "rotate": \#(random(1..<45))}"#,
      #"{"projection": null, "crop": null, "rotate": 0, "corners": "4,4 90,10 80,60 10,55"}"#,
    ][random(0..<6)]
    step("PATCH \(view) \(body)")
    guard let answer = try? await service.send("PATCH", "/api/cameras/cam/views/\(view)", body: body) else {
      return
    }
    if view == "face", answer.status == 200 {
      record.withLock { $0.leaks.append("a locked view was changed") }
    }
  }

  private func move(_ service: RunningService) async {
    let view = ["small", "main", "face"][random(0..<3)]
    let goal = #"{"yaw": \#(random(0..<90)), "pitch": \#(random(0..<60)), "hfov": \#(random(20..<90))}"#
    let body = #"{"to": \#(goal), "over": "\#(random(0..<300))ms"}"#
    step("POST move \(view) \(body)")
    let answer = try? await service.send("POST", "/api/cameras/cam/views/\(view)/move", body: body)
    guard answer?.status == 200 else { return }
    record.withLock { record in
      record.moves += 1
      if view == "face" { record.leaks.append("a locked view was moved") }
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
      // The round ends the stream.
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
