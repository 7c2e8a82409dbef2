// Masks in pictures of recordings that were made without them, and the roles that may have the files.
import FoundationEssentials
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation
@testable import VideoFormats

@Suite(
  "Masks in recordings", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct RecordedMaskTests {
  private static let png = "/recordings/camera.png"
  private static let (red, green) = ([255, 0, 0], [0, 255, 0])

  private static func secured(_ configuration: inout ServerConfiguration) {
    configuration.access = RecordedCounter.access
  }

  private struct List: Decodable { let recordings: [Recording.Answer] }

  /// The statuses of a recording's file for the roles `read` and `control`, and how it is listed for them.
  private static func seen(_ path: String, _ service: RunningService) async throws -> String {
    var all: [String] = []
    for role in [RecordedCounter.reader, RecordedCounter.controller] {
      let list = try await service.get("/api/recordings?limit=1000", role).json(List.self)
      let listed = list.recordings.first { $0.url == path }
      let words = listed.map { $0.file.map { " \($0)" } ?? "" } ?? " not listed"
      all.append("\(try await service.get(path, role).status)\(words)")
    }
    return all.joined(separator: ", ")
  }

  /// The newest recorded picture, after a check that both roles see the same.
  private static func newest(_ service: RunningService) async throws -> RunningService.Answer {
    let answer = try await service.get(png, RecordedCounter.reader)
    let other = try await service.get(png, RecordedCounter.controller)
    #expect(answer.status == 200 && other.status == 200 && answer.bytes == other.bytes)
    return answer
  }

  // MARK: Masks of now

  @Test("a mask that a reload adds hides its part of older pictures from all, and the files need `control`")
  func later() async throws {
    let recorded = try await RecordedCounter.shared.value
    let mask = try PrivacyMask(parsing: "60x90+0+0:fill=#ff0000")
    try await withEarlierRecordings(recorded.contents, Self.secured) { service, configuration in
      let before = try await Self.newest(service)
      let plain = try ReadPicture(file: before.bytes)
      let paths = service.recordings.map(\.path)
      for path in paths { #expect(try await Self.seen(path, service) == "200, 200") }

      var changed = configuration
      changed.cameras[0].options.masks = [mask]
      try await service.inside.apply(changed)
      let masked = try ReadPicture(file: try await Self.newest(service).bytes)
      let hidden = (0..<90).flatMap { y in (0..<60).map { ($0, y) } }
      #expect(hidden.allSatisfy { masked.hasColor(Self.red, $0, $1) })
      #expect(masked.differences(from: plain) { x, _ in x >= 90 } == 0)
      for path in paths { #expect(try await Self.seen(path, service) == "403 control, 200 control") }
      // The picture that a client has is not the one of now.
      let tag = try #require(before.headers["ETag"].first)
      let again = try await service.get(Self.png, RecordedCounter.reader + [("If-None-Match", tag)])
      #expect(again.status == 200)

      try await service.inside.apply(configuration)
      #expect(try await Self.newest(service).bytes == before.bytes)
      for path in paths { #expect(try await Self.seen(path, service) == "200, 200") }
    }
  }

  @Test("masks that were burned in need nothing more, and further masks are added, after a restart too")
  func burned() async throws {
    let old = try PrivacyMask(parsing: "60x90+0+0:fill=#ff0000")
    let new = try PrivacyMask(parsing: "40x90+120+0:fill=#00ff00")
    try await withTemporaryFolder { folder in
      func configuration(
        _ occasion: RecordingConfiguration.Occasion, _ masks: [PrivacyMask]
      ) -> ServerConfiguration {
        var configuration = RecordedCounter.configuration(folder) {
          ($0.record.when, $0.options.masks) = (occasion, masks)
        }
        Self.secured(&configuration)
        return configuration
      }
      try await withService(configuration(.always, [old])) { service in
        await until { service.recordings.contains { $0.duration != nil } }
        let file = try #require(service.recordings.last)
        #expect(try await Self.seen(file.path, service) == "200, 200")
      }
      let count = try RecordedCounter.names(in: folder).count
      var pictures: [[UInt8]] = []
      let cases: [([PrivacyMask], Bool)] = [
        ([], true), ([old], true), ([old, new], false), ([new], false),
      ]
      for (masks, isWhole) in cases {
        let picture = try await withService(configuration(.never, masks)) { service in
          await until { service.recordings.count == count }
          let file = try #require(service.recordings.first)
          let seen = try await Self.seen(file.path, service)
          #expect(seen == (isWhole ? "200, 200" : "403 control, 200 control"))
          return try await Self.newest(service).bytes
        }
        pictures.append(picture)
      }
      #expect(pictures[0] == pictures[1] && pictures[2] == pictures[3])
      for (bytes, isGreen) in [(pictures[0], false), (pictures[2], true)] {
        let picture = try ReadPicture(file: bytes)
        #expect(picture.hasColor(Self.red, 20, 45) && picture.hasColor(Self.green, 140, 45) == isGreen)
      }
    }
  }

  @Test(
    "a mask lies where a view shows what it hides, however the view is cropped, turned and scaled",
    arguments: [
      ("main", true), ("main:rotate=90", true), ("main:crop=100x60+50+20,mirror=horizontal", true),
      ("main:size=80x45", true), ("main:size=200x200,mode=fit", true), ("main:crop=60x90+0+0", false),
    ])
  func placed(view: String, isSeen: Bool) async throws {
    let view = try ViewConfiguration(parsing: view)
    // Of 100 to 140 and 20 to 50.
    let mask = try PrivacyMask(parsing: "40x30+100+20:fill=#ff0000")
    try await withTemporaryFolder { folder in
      func configuration(_ occasion: RecordingConfiguration.Occasion) -> ServerConfiguration {
        RecordedCounter.configuration(folder) {
          ($0.record.when, $0.views[0].view) = (occasion, view)
        }
      }
      try await withService(configuration(.always)) { service in
        await until { service.recordings.contains { $0.duration != nil } }
      }
      let idle = configuration(.never)
      let count = try RecordedCounter.names(in: folder).count
      let (plain, masked) = try await withService(idle) { service in
        await until { service.recordings.count == count }
        let plain = try await service.get(Self.png)
        var changed = idle
        changed.cameras[0].options.masks = [mask]
        try await service.inside.apply(changed)
        let masked = try await service.get(Self.png)
        try #require(plain.status == 200 && masked.status == 200)
        return (try ReadPicture(file: plain.bytes), try ReadPicture(file: masked.bytes))
      }
      try #require(plain.size == masked.size)
      let reference = Size(width: 160, height: 90)
      var (hidden, wrong, far) = (0, 0, 0)
      for y in 0..<plain.size.height {
        for x in 0..<plain.size.width {
          let center = SIMD2(Double(x) + 0.5, Double(y) + 0.5)
          guard let point = try view.sourcePoint(of: center, in: reference) else { continue }
          let outside = SIMD2(abs(point.x - 120) - 20, abs(point.y - 35) - 15).max()
          if outside <= 0 {
            hidden += 1
            if !masked.hasColor(Self.red, x, y) { wrong += 1 }
          } else if outside > 30 {
            far += 1
            if masked.codes(x, y) != plain.codes(x, y) { wrong += 1 }
          }
        }
      }
      #expect(wrong == 0 && far > 0 && (hidden > 0) == isSeen)
    }
  }

  @Test("once there is a mask, recordings that do not say where they show the camera need `control`")
  func unknown() async throws {
    let recorded = try await RecordedCounter.shared.value
    var files: [String: [UInt8]] = [:]
    for file in recorded.files { files[file.name] = try file.withoutNote() }
    let mask = try PrivacyMask(parsing: "60x90+0+0:fill=#ff0000")
    let last = try #require(recorded.pictures.last)
    try await withEarlierRecordings(files, Self.secured) { service, configuration in
      let before = try await Self.newest(service)
      #expect(try ReadPicture(file: before.bytes).number == last.number)
      let path = try #require(service.recordings.first).path
      #expect(try await Self.seen(path, service) == "200, 200")

      var changed = configuration
      changed.cameras[0].options.masks = [mask]
      try await service.inside.apply(changed)
      #expect(try await service.get(Self.png, RecordedCounter.reader).status == 403)
      let whole = try await service.get(Self.png, RecordedCounter.controller)
      #expect(whole.status == 200 && whole.bytes == before.bytes)
      #expect(try await Self.seen(path, service) == "403 not listed, 200 control")
    }
  }

  @Test("before the camera's first picture, its size is that of its recordings")
  func unopened() async throws {
    let recorded = try await RecordedCounter.shared.value
    let mask = try PrivacyMask(parsing: "60x90+0+0:fill=#ff0000")
    try await withEarlierRecordings(
      recorded.contents,
      { configuration in
        Self.secured(&configuration)
        configuration.cameras[0].options.masks = [mask]
        configuration.cameras[0].options.referenceSize = nil
      }
    ) { service, _ in
      let paths = service.recordings.map(\.path)
      // The list reads the files.
      for path in paths { _ = try await Self.seen(path, service) }
      for path in paths { #expect(try await Self.seen(path, service) == "403 control, 200 control") }
    }
  }

  // MARK: Changes of a view

  /// Whether a part of the pattern `counter` shows a digit.
  private static func hasInk(_ picture: ReadPicture) -> Bool {
    (0..<picture.size.height).contains { y in
      (0..<picture.size.width).contains { picture.brightness($0, y) > 140 }
    }
  }

  @Test("while a PATCH moves the crop of a recorded view, each file shows only the part that its note names")
  func moves() async throws {
    try await withTemporaryFolder { folder in
      let configuration = RecordedCounter.configuration(folder) { $0.record.when = .always }
      try await withService(configuration) { service in
        for y in [0, 35, 0, 35, 0] {
          let answer = try await service.send(
            "PATCH", "/api/cameras/camera/views/main", body: #"{"crop": "160x20+0+\#(y)"}"#)
          #expect(answer.status == 200)
          await until {
            service.recordings.contains {
              $0.isOpen && $0.bytes > 0 && $0.note.geometry?.map.ty == Double(y)
                && $0.note.geometry?.size.height == 20
            }
          }
        }
      }
      var parts: [Double: Int] = [:]
      for name in try RecordedCounter.names(in: folder) {
        let file = folder.appending(path: "camera").appending(path: name)
        let bytes = try Array(Data(contentsOf: file))
        let known = MP4Recording(size: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
        let note = try #require(known.flatMap { RecordingNote.read($0.note)?.note })
        guard let geometry = note.geometry, geometry.size.height == 20 else { continue }
        // Nothing is above the digits, and each digit crosses the middle.
        let pictures = try await RecordedCounter.decoded(file)
        let isAbove = geometry.map.ty == 0
        #expect(pictures.allSatisfy { Self.hasInk($0) != isAbove }, "\(name)")
        #expect(note.masks == [])
        parts[geometry.map.ty, default: 0] += pictures.count
      }
      #expect(parts.keys.sorted() == [0, 35] && parts.values.allSatisfy { $0 > 0 })
    }
  }
}
