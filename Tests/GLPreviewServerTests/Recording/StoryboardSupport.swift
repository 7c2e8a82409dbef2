// Recordings with known keyframes, and storyboards that are read back.
import Codecs
import FoundationEssentials
import PreviewCore
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation
@testable import VideoFormats

/// Three recordings of an earlier run, which begin 0, 6 and 40 seconds after `start`. Each has keyframes
/// after 0, 2 and 4 seconds, and ends after 6.
struct RecordedKeyframes: Sendable {
  /// In seconds since 1970: 2026-01-01.
  static let start = 1_767_225_600

  /// The content of each file, by its name.
  let files: [String: [UInt8]]
  /// The number that each keyframe shows, in the order of time.
  let numbers: [Int?]

  /// The last recording has `lastNote`; nil for the note of the others.
  init(lastNote: RecordingNote? = nil) async throws {
    let known = try await RecordedCounter.shared.value.files
    let note = try #require(known.first).note
    let keys = try known.flatMap { try Self.keyframes(of: $0) }
    try #require(keys.count >= 3)
    var files: [String: [UInt8]] = [:]
    for (index, second) in [0, 6, 40].enumerated() {
      let time = WallTime(sinceEpoch: .seconds(Self.start + second))
      let own = index == 2 ? lastNote ?? note : note
      var mp4 = FragmentedMP4(isFile: true, note: own.bytes(start: time))
      var bytes: [UInt8] = []
      for key in 0..<3 {
        let sample = keys[(3 * index + key) % keys.count].sample
        bytes += mp4.append(sample.at(.start + .seconds(100 + 2 * key)))
      }
      files[StampedFileName(camera: "camera", view: "main", time: time, .recording).file] = bytes
    }
    self.files = files
    numbers = (0..<9).map { keys[$0 % keys.count].number }
  }

  private struct Keyframe {
    let sample: VideoSample
    let number: Int
  }

  private static func keyframes(of file: RecordedCounter.File) throws -> [Keyframe] {
    func read(_ offset: Int, _ count: Int) -> [UInt8] {
      Array(file.bytes[offset..<min(offset + count, file.bytes.count)])
    }
    var index = MP4Index()
    index.extend(to: file.bytes.count, read: read)
    let all = 0...(index.pictures.count - 1)
    let samples = try #require(index.samples(of: all, maximumPixels: 1 << 20, read: read))
    var keys: [Keyframe] = []
    for (sample, picture) in zip(samples, file.pictures) where picture.isKey {
      keys.append(Keyframe(sample: sample, number: picture.number))
    }
    return keys
  }
}

/// A cue of a storyboard.
struct StoryboardCue: Sendable {
  let begin, end: String
  /// The URL of its sheet.
  let url: String
  let place: Rectangle

  static func all(in answer: RunningService.Answer) throws -> [StoryboardCue] {
    try #require(answer.status == 200, "\(answer.text)")
    try #require(answer.text.hasPrefix("WEBVTT\n"))
    var cues: [StoryboardCue] = []
    for block in answer.text.split(separator: "\n\n").dropFirst() {
      let lines = block.split(separator: "\n")
      try #require(lines.count == 2)
      let (times, parts) = (lines[0].split(separator: " --> "), lines[1].split(separator: "#xywh="))
      try #require(times.count == 2 && parts.count == 2)
      let numbers = parts[1].split(separator: ",").compactMap { Int($0) }
      try #require(numbers.count == 4)
      cues.append(
        StoryboardCue(
          begin: String(times[0]), end: String(times[1]), url: String(parts[0]),
          place: Rectangle(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])))
    }
    return cues
  }
}

/// A decoded sheet of a storyboard.
struct ReadSheet: Sendable {
  private let frame: Frame

  init(_ answer: RunningService.Answer) throws {
    try #require(answer.status == 200, "\(answer.text)")
    frame = try JPEGDecoder.decode(answer.bytes, maximumPixels: 1 << 22)
  }

  var size: Size { frame.format.size }

  /// The luma of a tile.
  func tile(_ place: Rectangle) throws -> ReadPicture {
    try #require(place.isInside(size))
    let (bytes, plane) = (frame.bytes, frame.planes[0])
    var luma: [UInt8] = []
    for row in place.y..<place.y + place.height {
      let first = plane.offset + row * plane.bytesPerRow + place.x
      luma += bytes[first..<first + place.width]
    }
    return ReadPicture(try Frame(tight: Frame.Format(.grey, place.size, color: .jfif), bytes: luma))
  }
}

extension RunningService {
  /// The cues at a path.
  func cues(_ path: String, _ headers: [(String, String)] = []) async throws -> [StoryboardCue] {
    try StoryboardCue.all(in: try await get(path, headers))
  }

  /// The numbers that the tiles of cues show.
  func numbers(_ cues: [StoryboardCue], _ headers: [(String, String)] = []) async throws -> [Int?] {
    var sheets: [String: ReadSheet] = [:]
    var numbers: [Int?] = []
    for cue in cues {
      if sheets[cue.url] == nil { sheets[cue.url] = try ReadSheet(try await get(cue.url, headers)) }
      let sheet = try #require(sheets[cue.url])
      numbers.append(try sheet.tile(cue.place).number)
    }
    return numbers
  }
}
