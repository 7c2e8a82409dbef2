// Whatever a service is asked, in whatever order: what is hidden is in no byte that it sends, nor what a locked view leaves
// out in any of that view's.
import NIOCore
import PreviewCore
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
    var (seen, moves, failed) = (0, 0, 0)

    for seed in privacySeeds(8) {
      let round = ServiceRound(seed: UInt64(seed))
      let result = try await round.run()
      seen += result.pictures
      moves += result.moves
      failed += result.leaks.isEmpty ? 0 : 1
      #expect(result.leaks.isEmpty, "seed \(seed), after: \(result.steps.joined(separator: "; "))")
    }

    #expect(seen >= 5 * privacySeeds(8).count)
    print(
      """
      What a service hides: \(privacySeeds(8).count) seeds, \(seen) pictures, \(moves) moves, \
      \(failed) seeds with a leak
      """)
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
