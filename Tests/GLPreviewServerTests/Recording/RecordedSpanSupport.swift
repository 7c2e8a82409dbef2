// Recordings whose pictures are numbers, and files of spans that are read back.
import FoundationEssentials
import PreviewCore
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation
@testable import VideoFormats

/// A time in seconds since a whole day.
func spanTime(_ second: Double) -> WallTime {
  WallTime(sinceEpoch: .seconds(1_767_225_600) + .seconds(second))
}

/// A format of 16x16 or 32x16 pixels; formats of one size differ by `code`.
func spanFormat(_ code: UInt8 = 0x80, isWide: Bool = false) -> H264Format {
  H264Format(
    sps: [0x67, 66, 0xC0, 30, 0xDA] + (isWide ? [0x2C, 0x40] : [0x71]), pps: [0x68, 0xCE, 0x3C, code],
    size: Size(width: isWide ? 32 : 16, height: 16), encoder: nil)
}

/// A recording whose pictures are numbers, which are their last two bytes.
struct NumberedRecording: Sendable {
  struct Picture: Sendable {
    let number: Int
    /// The time since the first picture, in ticks of 1/90000 s.
    let ticks: Int
    let isKey: Bool
    var format = spanFormat()
    var byteCount = 0

    var sample: VideoSample {
      let padding = [UInt8](repeating: isKey ? 0x65 : 0x41, count: max(byteCount - 6, number % 40))
      let content = padding + [UInt8(number >> 8), UInt8(number & 0xFF)]
      let length = (0..<4).map { UInt8(truncatingIfNeeded: content.count >> (24 - 8 * $0)) }
      return VideoSample(
        bytes: length + content, isKey: isKey,
        timestamp: .start + .seconds(100) + .seconds(Double(ticks) / 90_000), format: format)
    }
  }

  let start: WallTime
  var pictures: [Picture]
  var note = RecordingNote()

  init(_ start: WallTime, _ pictures: [Picture]) { (self.start, self.pictures) = (start, pictures) }

  /// Ten pictures from `first` on, ten a second, from `second` on. Each fifth is a keyframe.
  init(_ second: Double, from first: Int, count: Int = 10, _ format: H264Format = spanFormat()) {
    self.init(
      spanTime(second),
      (0..<count).map {
        Picture(number: first + $0, ticks: 9000 * $0, isKey: $0 % 5 == 0, format: format)
      })
  }

  /// The time of a picture, as answers report it.
  func time(of picture: Picture) -> WallTime {
    WallTime(sinceEpoch: start.sinceEpoch + .microseconds(picture.ticks * 100 / 9))
  }

  /// Writes the file of an earlier run.
  func write(to folder: URL) throws {
    let name = StampedFileName(camera: "camera", view: "main", time: start, .recording)
    let file = folder.appending(path: name.camera).appending(path: name.file)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    var mp4 = FragmentedMP4(isFile: true, note: note.bytes(start: start))
    try Data(pictures.flatMap { mp4.append($0.sample) }).write(to: file)
  }
}

/// The tables of a span's file, and the numbers of its pictures.
struct SpanFile: Sendable {
  struct Picture: Sendable, Hashable {
    let number: Int
    let ticks: Int
    let isKey: Bool
    /// The index of the format in the file.
    let format: Int
  }

  private(set) var pictures: [Picture] = []
  /// Where players begin, and where the last picture ends, in ticks.
  let begin: Int
  private(set) var length = 0
  let formatCount: Int

  /// The numbers of the pictures that players show.
  var shown: [Int] { pictures.filter { $0.ticks >= begin }.map(\.number) }

  init(_ bytes: [UInt8]) throws {
    let movie = try #require(MP4Box.find("moov", in: bytes[...]))
    func numbers(_ path: String) -> [Int] {
      let content = MP4Box.find(path, in: movie) ?? []
      return stride(from: 0, to: content.count - 3, by: 4).map { Int(content.bigEndian(at: $0)) }
    }
    let table = "trak/mdia/minf/stbl"
    let sizes = Array(numbers("\(table)/stsz").dropFirst(3))
    let runs = numbers("\(table)/stts").dropFirst(2)
    let durations = stride(from: runs.startIndex, to: runs.endIndex, by: 2).flatMap {
      [Int](repeating: runs[$0 + 1], count: runs[$0])
    }
    let keys = Set(numbers("\(table)/stss").dropFirst(2))
    let chunks = Array(numbers("\(table)/stsc").dropFirst(2))
    let offsets = Array(numbers("\(table)/co64").dropFirst(2))
    let edit = numbers("trak/edts/elst")
    begin = edit.count > 3 ? edit[3] : 0
    formatCount = numbers("\(table)/stsd").dropFirst().first ?? 0
    try #require(durations.count == sizes.count && chunks.count / 3 == offsets.count / 2)
    for chunk in 0..<offsets.count / 2 {
      var offset = offsets[2 * chunk] << 32 | offsets[2 * chunk + 1]
      for _ in 0..<chunks[3 * chunk + 1] {
        let index = pictures.count
        offset += sizes[index]
        try #require(offset <= bytes.count)
        pictures.append(
          Picture(
            number: Int(bytes[offset - 2]) << 8 | Int(bytes[offset - 1]), ticks: length,
            isKey: keys.contains(index + 1), format: chunks[3 * chunk + 2] - 1))
        length += durations[index]
      }
    }
    try #require(pictures.count == sizes.count)
  }
}

/// A folder of recordings without a service.
struct SpanFolder: Sendable {
  let folder: RecordingFolder
  let spans: RecordedSpans

  init(
    _ path: URL, within budget: MemoryBudget = MemoryBudget(capacity: 1 << 28),
    limits: RecordedSpanBuilder.Limits = RecordedSpanBuilder.Limits()
  ) {
    folder = RecordingFolder(
      FolderConfiguration(path: path.path), metrics: ServiceMetrics(), logger: LogRecords().logger)
    spans = RecordedSpans(folder, within: budget, limits: limits)
  }

  /// Records, and returns when it is written.
  @discardableResult
  func record(_ recording: NumberedRecording) async -> Recording {
    let (handle, new) = folder.begin("camera", "main", recording.note, at: recording.start)
    var mp4 = FragmentedMP4(isFile: true, note: recording.note.bytes(start: recording.start))
    let bytes = recording.pictures.flatMap { mp4.append($0.sample) }
    #expect(folder.append(bytes, to: handle))
    folder.end(handle, length: mp4.length) { _ in }
    await folder.flush()
    return new
  }

  func span(_ from: WallTime, _ to: WallTime) async throws -> RecordedSpan? {
    try await spans.span(of: "camera", view: nil, preferring: "main", from: from, to: to)
  }

  /// The bytes of a span's file, read in chunks.
  func bytes(of span: RecordedSpan, inChunksOf chunk: Int = 1000) async -> [UInt8] {
    let reader = spans.reader(of: span)
    var bytes: [UInt8] = []
    while bytes.count < span.byteCount {
      let more = await reader.read(bytes.count, min(chunk, span.byteCount - bytes.count))
      guard !more.isEmpty, more.count <= chunk else { break }
      bytes += more
    }
    return bytes
  }

  func file(_ from: WallTime, _ to: WallTime) async throws -> SpanFile {
    let span = try #require(try await span(from, to))
    let bytes = await bytes(of: span)
    #expect(bytes.count == span.byteCount)
    return try SpanFile(bytes)
  }
}
