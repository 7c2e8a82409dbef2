// A view that may not be shown any more ends what shows it, and nothing else does: every long answer against every way in which a view
// changes.
import FoundationEssentials
import GLPreview
import PreviewCore
import RTSP
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation
@testable import WebRTC

@Suite(
  "Loss of a view", .enabled(if: hasEncoder && hasWebRTC, "libraries are missing: scripts/setup"),
  .timeLimit(.minutes(15)))
struct ViewLossTests {
  /// What happens to a view.
  enum Loss: CaseIterable {
    case disabled, removed, lockedAsItIs, lockedToAnother, mirrored, quality, cameraReplaced, masked
    case cameraRemoved
  }

  /// What shows a view.
  enum Consumer: CaseIterable {
    case mjpeg, severalViews, video, clip, socketVideo, socketPictures
    case socketWebRTC, webRTC, rtsp

    /// Whether its URL can change the view.
    var hasParameters: Bool {
      switch self {
      case .mjpeg, .severalViews, .video, .clip, .socketVideo, .socketPictures: true
      case .socketWebRTC, .webRTC, .rtsp: false
      }
    }
  }

  /// A consumer of the view as it is served, or with `width=60`.
  struct Cell: Hashable {
    let consumer: Consumer
    let isServed: Bool

    static let all =
      Consumer.allCases.map { Cell(consumer: $0, isServed: true) }
      + Consumer.allCases.filter(\.hasParameters).map { Cell(consumer: $0, isServed: false) }
  }

  /// Whether a loss ends a consumer.
  private static func ends(_ cell: Cell, by loss: Loss) -> Bool {
    switch loss {
    case .disabled, .removed, .cameraReplaced, .masked, .cameraRemoved: true
    case .lockedAsItIs: !cell.isServed
    case .lockedToAnother: !cell.isServed || cell.consumer == .clip
    case .mirrored: cell.consumer == .clip
    case .quality: false
    }
  }

  // MARK: The service

  private static func configuration(_ change: (inout CameraConfiguration) -> Void = { _ in })
    -> ServerConfiguration
  {
    let views = ["main", "other"].map { ServedView(ViewConfiguration(name: $0)) }
    var camera = CameraConfiguration(source: "pattern:counter,size=160x90,fps=20", views: views)
    camera.replayDuration = .seconds(10)
    change(&camera)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
    return configuration
  }

  private static func cause(_ loss: Loss, at service: RunningService) async throws {
    let changed = configuration { camera in
      switch loss {
      case .disabled, .cameraRemoved: break
      case .removed: camera.views.removeFirst()
      case .lockedAsItIs: camera.views[0].isLocked = true
      case .lockedToAnother:
        camera.views[0].isLocked = true
        camera.views[0].view.width = 80
      case .mirrored: camera.views[0].view.mirroring = .horizontal
      case .quality: camera.views[0].quality = 30
      case .cameraReplaced: camera.source = "pattern:smpte,size=160x90,fps=20"
      case .masked:
        camera.options.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 20, height: 20)))]
      }
    }
    switch loss {
    case .disabled:
      let path = "/api/cameras/camera/views/main"
      #expect(try await service.send("PATCH", path, body: #"{"enabled": false}"#).status == 200)
    case .cameraRemoved:
      var none = changed
      none.cameras = [CameraConfiguration(name: "another", source: StreamTests.pattern)]
      try await service.inside.apply(none)
    default: try await service.inside.apply(changed)
    }
  }

  // MARK: The consumers

  /// Closes connections after answers, so that their end shows.
  private static let closing = RevocationTests.Proof(fields: [("Connection", "close")])

  private static func open(_ cell: Cell, at service: RunningService) async throws -> RevocationTests.Open {
    let words = cell.isServed ? "" : "&width=60"
    let main = "/cameras/camera/main"
    return switch cell.consumer {
    case .mjpeg: try await RevocationTests.streaming("\(main).mjpeg?t=1\(words)", service, closing)
    case .severalViews:
      try await RevocationTests.streaming("/api/stream?view=camera/main\(words)", service, closing)
    case .video: try await RevocationTests.streaming("\(main).mp4?duration=9000\(words)", service, closing)
    case .clip:
      try await RevocationTests.streaming("\(main).mp4?before=1s&after=500s\(words)", service, closing)
    case .socketVideo: try await socket(#"{"type":"mse"}"#, words, service)
    case .socketPictures: try await socket(#"{"type":"mjpeg"}"#, words, service)
    case .socketWebRTC:
      sessions(try await RevocationTests.socketWebRTC(service, RevocationTests.Proof()), service)
    case .webRTC: sessions(try await RevocationTests.webRTC(service, RevocationTests.Proof()), service)
    case .rtsp: try await RevocationTests.rtsp(service, RevocationTests.Proof())
    }
  }

  /// A socket stays open for another player.
  private static func socket(
    _ message: String, _ words: String, _ service: RunningService
  ) async throws -> RevocationTests.Open {
    let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera/main\(words)")
    @Sendable func pictures() -> Int { peer.frames.count { $0.opcode == 2 } }
    try await peer.send(message)
    await peer.waits { pictures() > 0 }
    return RevocationTests.Open(end: { await peer.waits { peer.texts.contains { $0.contains("error") } } }) {
      let count = pictures()
      await peer.waits { pictures() > count + 2 }
    }
  }

  /// Counts what is sent: the peer may have more to read than was sent since.
  private static func sessions(
    _ open: RevocationTests.Open, _ service: RunningService
  ) -> RevocationTests.Open {
    RevocationTests.Open(
      end: {
        await until { service.sessionCount == 0 }
      },
      more: {
        let count = service.inside.webRTC.counters.packets.load(ordering: .relaxed)
        await until { service.inside.webRTC.counters.packets.load(ordering: .relaxed) > count + 20 }
        try await open.more()
      })
  }

  /// How many clients of JPEGs and of video the service has with these cells.
  private static func clients(_ cells: [Cell]) -> [Int] {
    let pictures: Set<Consumer> = [.mjpeg, .severalViews, .socketPictures]
    let jpegs = cells.count { pictures.contains($0.consumer) }
    return [jpegs, cells.count { $0.consumer != .clip } - jpegs]
  }

  // MARK: The table

  @Test(
    "each kind of stream ends or continues as specified when its view is lost or changed",
    arguments: Loss.allCases)
  func table(loss: Loss) async throws {
    try await withService(Self.configuration()) { service in
      await until { service.inside.registry.session["camera-0"]?.bufferedTimes != nil }
      let (ending, going) = (
        Cell.all.filter { Self.ends($0, by: loss) }, Cell.all.filter { !Self.ends($0, by: loss) }
      )
      var opened: [Cell: RevocationTests.Open] = [:]
      for cell in Cell.all { opened[cell] = try await Self.open(cell, at: service) }
      @Sendable func clients() -> [Int] {
        [service.watchers(), service.inside.videos.clientCount(of: "camera", "main")]
      }
      await until { clients() == Self.clients(Cell.all) }
      #expect(opened.count == 15)

      try await Self.cause(loss, at: service)

      let ended = Watched<Set<Cell>>([])
      await withTaskGroup { group in
        for cell in ending {
          guard let open = opened[cell] else { continue }
          group.addTask {
            do { try await open.end() } catch { Issue.record("\(cell): \(error)") }
            ended.update { _ = $0.insert(cell) }
          }
        }
        await until { ended.value.count == ending.count }
        // Where the time limit has ended the test, this names those that did not end.
        #expect(ended.value == Set(ending))
        group.cancelAll()
      }
      for cell in going { try await opened[cell]?.more() }
      await until { clients() == Self.clients(going) }
    }
  }
}
