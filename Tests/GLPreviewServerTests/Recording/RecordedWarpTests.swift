// Recordings of warped views: pictures that the role `read` gets of them, before and after a mask is added.
import FoundationEssentials
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceFoundation

@Suite(
  "Masks in recordings of warped views", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct RecordedWarpTests {
  private static func configuration(
    _ folder: URL, _ words: String, _ masks: [PrivacyMask]
  ) throws -> ServerConfiguration {
    var view = ServedView(try ViewConfiguration(parsing: "main:\(words),size=96x64"))
    view.framesPerSecond = 20
    view.video.keyframeInterval = .milliseconds(500)
    var camera = CameraConfiguration(source: "script", views: [view])
    (camera.record.when, camera.record.segment) = (.always, .seconds(1))
    (camera.options.referenceSize, camera.options.masks) = (PrivacyScene.reference, masks)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.recordings = FolderConfiguration(path: folder.path)
    configuration.access = RecordedCounter.access
    return configuration
  }

  private static let offset = Duration.milliseconds(100)

  /// Waits for the end of a recording that begins after this call.
  private static func next(_ service: RunningService) async throws -> Recording {
    let now = WallTime.now
    var new: Recording?
    await until {
      new = service.recordings.first { $0.start > now && $0.duration ?? .zero > Self.offset * 2 }
      return new != nil
    }
    return try #require(new)
  }

  /// The URL of one of the first pictures of a recording.
  private static func picture(of recording: Recording, as format: String = "png") -> String {
    let start = recording.firstPicture ?? recording.start
    let time = WallTime(sinceEpoch: start.sinceEpoch + offset)
    return "/recordings/camera.\(format)?view=\(recording.view)&at=\(time.secondsText)"
  }

  @Test(
    "role `read` sees nothing that a mask hides in recordings of a warped view, and none from before the mask",
    arguments: [
      ("rotate=12.5", #"{"rotate": -20}"#),
      ("lens=fisheye fov 120,yaw=25,pitch=29,hfov=70", #"{"yaw": 30, "roll": 20}"#),
      ("corners=40,2 80,4 78,30 44,28", #"{"corners": "42,3 84,4 80,31 46,27"}"#),
    ])
  func masked(words: String, change: String) async throws {
    let sensor = PrivacySensor(hasSizes: false)
    try await withTemporaryFolder { folder in
      let open = try Self.configuration(folder, words, [])
      let masked = try Self.configuration(folder, words, PrivacyScene.masks)
      try await withService(open, makeSource: { sensor.source(named: $1, $2) }) { service async throws in
        let old = try await Self.next(service)
        let before = try await service.get(Self.picture(of: old), RecordedCounter.reader)
        try #require(before.status == 200)
        // Otherwise nothing was hidden to begin with.
        #expect(try PrivacyLeak(inFile: before.bytes).contains(.hidden))

        try await service.inside.apply(masked)
        #expect(try await service.get(Self.picture(of: old), RecordedCounter.reader).status == 403)
        #expect(try await service.get(old.path, RecordedCounter.reader).status == 403)
        #expect(try await service.get(Self.picture(of: old), RecordedCounter.controller).status == 200)

        let new = try await Self.next(service)
        #expect(try await service.get(Self.picture(of: new), RecordedCounter.reader).status == 200)
        let answer = try await service.send(
          "PATCH", "/api/cameras/camera/views/main", RecordedCounter.controller, body: change)
        #expect(answer.status == 200, "\(answer.text)")
        _ = try await Self.next(service)

        var seen = 0
        for recording in service.recordings {
          for format in ["png", "jpg"] {
            let path = Self.picture(of: recording, as: format)
            let picture = try await service.get(path, RecordedCounter.reader)
            guard picture.status == 200 else { continue }
            seen += 1
            #expect(try !PrivacyLeak(inFile: picture.bytes).contains(.hidden), "\(recording.path), \(format)")
          }
        }
        #expect(seen >= 2)
      }
    }
  }
}
