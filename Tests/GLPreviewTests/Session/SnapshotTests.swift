// What becomes of a snapshot's pictures: fitted JPEGs, text, and events that another program can read.
import Foundation
import PreviewCore
import TestSupport
import Testing

@testable import Codecs
@testable import GLPreview

@Suite("Snapshots")
struct SnapshotTests {
  private let size = Size(width: 322, height: 181)

  private var snapshot: Snapshot {
    Snapshot(
      camera: "front \"door\"\n\u{1}\\ é 門 \u{1F6AA}", sequence: 7, timestamp: .second(5),
      time: WallTime(sinceEpoch: .milliseconds(1_709_251_198_123)), sourceState: .stalled,
      pictures: [
        RenderedPicture("whole", ramps(size, .yuv420)),
        RenderedPicture("face", ramps(Size(width: 64, height: 64), .yuv444)),
      ])
  }

  @Test("a snapshot's pictures are found by view name")
  func names() {
    #expect(snapshot["face"]?.picture.size == Size(width: 64, height: 64))
    #expect(snapshot["back"] == nil)
  }

  @Test(
    "a JPEG fitted into a box keeps its aspect ratio and is never enlarged",
    arguments: [
      (Size(width: 160, height: 160), Size(width: 160, height: 90)),
      (Size(width: 4000, height: 90), Size(width: 160, height: 90)),
      (Size(width: 4000, height: 4000), Size(width: 322, height: 181)),
      (Size(width: 1, height: 1), Size(width: 1, height: 1)),
    ])
  func fitting(box: Size, expected: Size) throws {
    let encoded = try #require(snapshot["whole"]).encodedJPEG(fitting: box)
    #expect(encoded.size == expected)
    #expect(try JPEGDecoder.header(of: encoded.bytes).size == expected)
  }

  @Test(
    "encoding a JPEG into a box of zero or negative size throws",
    arguments: [Size(width: 0, height: 9), Size(width: 9, height: -1)])
  func impossibleFit(box: Size) {
    #expect(throws: PictureEncoder.Failure.self) { try snapshot.pictures[0].encodedJPEG(fitting: box) }
  }

  @Test("an ICC profile that is large for the byte budget is left out of the JPEG")
  func profile() throws {
    let profile = [UInt8](repeating: 7, count: 2000)
    let picture = RenderedPicture("a", ramps(size, .yuv420), iccProfile: profile)
    #expect(try picture.encodedJPEG().bytes.contains(profile))
    #expect(try picture.encodedJPEG(maxBytes: 100_000).bytes.contains(profile))
    let small = try picture.encodedJPEG(maxBytes: 3000).bytes
    #expect(small.count <= 3000 && !small.contains(profile.prefix(100)))
  }

  @Test(
    "a JPEG has an EXIF time unless it is a fallback, has a small budget or EXIF is disabled"
  )
  func exif() async throws {
    func hasTime(_ state: SourceState, maxBytes: Int? = nil, exif: Bool = true) async throws -> Bool {
      let picture = RenderedPicture(
        name: "a", picture: ramps(size, .yuv420), PictureKey(sequence: 0), timestamp: .start,
        sourceState: state)
      let jpeg = try await picture.jpeg(maxBytes: maxBytes, exif: exif)
      return jpeg.bytes.firstRange(of: "Exif\0\0".utf8) != nil
    }

    #expect(try await hasTime(.live))
    #expect(try await hasTime(.live, maxBytes: 20_000))
    #expect(try await !hasTime(.live, maxBytes: 3000))
    #expect(try await !hasTime(.live, exif: false))
    #expect(try await !hasTime(.lost))
  }

  @Test("EXIF.content encodes the capture time as DateTimeOriginal with UTC offset and microseconds")
  func exifTime() {
    let time = WallTime(sinceEpoch: .microseconds(1_709_251_198_123_456))
    let expected: [[UInt8]] = [
      Array("Exif\0\0MM".utf8), [0, 42, 0, 0, 0, 8],
      // One entry, which points at the next directory.
      [0, 1, 0x87, 0x69, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0],
      // Version, time, offset from UTC and parts of a second.
      [0, 4, 0x90, 0x00, 0, 7, 0, 0, 0, 4], Array("0232".utf8),
      [0x90, 0x03, 0, 2, 0, 0, 0, 20, 0, 0, 0, 80], [0x90, 0x11, 0, 2, 0, 0, 0, 7, 0, 0, 0, 100],
      [0x92, 0x91, 0, 2, 0, 0, 0, 7, 0, 0, 0, 108], [0, 0, 0, 0],
      Array("2024:02:29 23:59:58\0+00:00\0".utf8), [0], Array("123456\0".utf8), [0],
    ]

    let content = EXIF.content(capturedAt: time)

    #expect(content == expected.flatMap(\.self))
    #expect(EXIF.orientation(in: content) == nil)
  }

  @Test("an RGBA picture is encoded as a JPEG of the same colours")
  func rgba() throws {
    let red: [UInt8] = [200, 30, 60, 255]
    let bytes = (0..<33 * 17).flatMap { _ in red }
    let picture = Picture(tight: Size(width: 33, height: 17), format: .rgba, bytes: bytes)

    let jpeg = try RenderedPicture("a", picture).encodedJPEG(
      quality: 100, fitting: Size(width: 9, height: 9))
    let frame = try JPEGDecoder.decode(jpeg.bytes, maximumPixels: 1000)

    #expect(frame.format.size == Size(width: 9, height: 5))
    for (x, y) in [(0, 0), (8, 0), (4, 2), (8, 4)] {
      #expect(isNear(rgb(frame, x, y), [200, 30, 60], within: 2), "\(x) \(y)")
    }
  }

  @Test("EncodedPicture.base64 equals Foundation's base64 for 0 to 70 bytes", arguments: 0...70)
  func base64(count: Int) throws {
    let bytes = (0..<count).map { UInt8(($0 * 83 + count) & 255) }
    let picture = EncodedPicture(bytes: bytes, quality: nil, size: size)
    #expect(picture.base64 == Data(bytes).base64EncodedString())
  }

  @Test("a data URL has the MIME type and the base64 bytes of its picture")
  func dataURL() throws {
    let jpeg = try snapshot.pictures[0].encodedJPEG()
    #expect(jpeg.dataURL == "data:image/jpeg;base64," + Data(jpeg.bytes).base64EncodedString())
    let png = try PictureEncoder(.png).encode(
      Picture(tight: Size(width: 1, height: 1), format: .rgba, bytes: [1, 2, 3, 255]))
    #expect(png.dataURL.hasPrefix("data:image/png;base64,iVBOR"))
  }

  @Test("an event's JSON has type, camera, view, sequence, time, state, size, metadata and picture")
  func event() throws {
    let metadata: [String: JSONValue] = [
      "label": "a \"person\"", "score": 0.5, "box": [1, -2, 3.25], "seen": true, "by": nil,
      "of": ["k": "\u{7F}\t"],
    ]

    let event = try snapshot.event(view: "whole", type: "alarm", metadata: metadata)
    let object = try #require(JSONSerialization.jsonObject(with: Data(event.json)) as? [String: Any])

    #expect(object["type"] as? String == "alarm")
    #expect(object["camera"] as? String == snapshot.camera)
    #expect(object["view"] as? String == "whole")
    #expect(object["sequence"] as? Int == 7)
    #expect(object["timestamp"] as? String == "2024-02-29T23:59:58.123Z")
    #expect(object["state"] as? String == "stalled")
    #expect(object["width"] as? Int == 322 && object["height"] as? Int == 181)
    #expect(object["bytes"] as? Int == event.picture.bytes.count)
    #expect(object["label"] as? String == "a \"person\"")
    #expect(object["score"] as? Double == 0.5)
    #expect(object["box"] as? [Double] == [1, -2, 3.25])
    #expect(object["seen"] as? Bool == true)
    #expect(object["by"] is NSNull)
    #expect((object["of"] as? [String: String]) == ["k": "\u{7F}\t"])
    let base64 = try #require(object["snapshot"] as? String)
    #expect(Data(base64Encoded: base64).map(Array.init) == event.picture.bytes)
    #expect(event.text == String(decoding: event.json, as: UTF8.self))
    #expect(Set(Snapshot.Event.keys).subtracting(object.keys) == ["replay"])
  }

  @Test(
    "an event's JSON fits maxEventBytes, and uses over 80 % of it if the picture is reduced",
    arguments: [900, 1200, 2000, 5000, 100_000])
  func eventBudget(budget: Int) throws {
    let event = try snapshot.event(maxEventBytes: budget)
    #expect(event.view == "whole")
    #expect(event.json.count <= budget)
    if event.picture.size == size, event.picture.quality == 80 { return }
    // What is left is less than the search is content with.
    #expect(event.json.count * 10 > budget * 8)
  }

  @Test("an event and its picture are written to files, and an unwritable path throws")
  func written() async throws {
    let event = try snapshot.event()

    try await withFile([]) { path in
      try event.write(to: path)
      #expect(try Array(Data(contentsOf: URL(filePath: path))) == event.json)

      try event.picture.write(to: path)
      #expect(try Array(Data(contentsOf: URL(filePath: path))) == event.picture.bytes)
    }
    #expect(throws: WriteError.self) { try event.write(to: "/nowhere/event.json") }
  }

  @Test("an event whose budget leaves no space for a picture throws", arguments: [-1, 0, 100, 500])
  func noRoom(budget: Int) {
    #expect(throws: PictureEncoder.Failure.self) { try snapshot.event(maxEventBytes: budget) }
  }

  @Test("an event of an unknown view or with a reserved metadata key throws")
  func refused() {
    #expect(throws: PictureEncoder.Failure.self) { try snapshot.event(view: "back") }
    #expect(throws: PictureEncoder.Failure.self) { try snapshot.event(metadata: ["snapshot": "mine"]) }
  }

  @Test(
    "WallTime is formatted in UTC with milliseconds",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"), (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
      (-1, "1969-12-31T23:59:59.999Z"), (-86_400_000, "1969-12-31T00:00:00.000Z"),
      (-1500, "1969-12-31T23:59:58.500Z"), (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
    ])
  func times(milliseconds: Int, text: String) {
    #expect(WallTime(sinceEpoch: .milliseconds(milliseconds)).description == text)
  }
}
