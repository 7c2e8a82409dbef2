// Files of recorded spans: which pictures they have, at which times, from which recordings.
import FoundationEssentials
import HTTPTypes
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation
@testable import VideoFormats

@Suite("Files of recorded spans", .timeLimit(.minutes(15)))
struct RecordedSpanTests {
  /// Runs `work` with a folder of recordings.
  private func withRecordings(
    _ recordings: [NumberedRecording],
    limits: RecordedSpanBuilder.Limits = RecordedSpanBuilder.Limits(),
    _ work: (SpanFolder) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { path in
      let folder = SpanFolder(path, limits: limits)
      for recording in recordings { await folder.record(recording) }
      try await work(folder)
    }
  }

  /// Thirty pictures in three recordings without a gap.
  private static let three = [
    NumberedRecording(0, from: 0), NumberedRecording(1, from: 10), NumberedRecording(2, from: 20),
  ]

  @Test("a span over three recordings has each picture once, at its time, from a keyframe on")
  func consecutive() async throws {
    try await withRecordings(Self.three) { folder async throws in
      let span = try #require(try await folder.span(spanTime(0.73), spanTime(2.45)))
      #expect(span.start == spanTime(0.7) && span.gaps == 0 && span.parts.count == 3)
      let file = try SpanFile(await folder.bytes(of: span))
      #expect(file.pictures.map(\.number) == Array(5...24))
      #expect(file.pictures.map(\.ticks) == (0...19).map { 9000 * $0 })
      #expect(file.pictures.filter(\.isKey).map(\.number) == [5, 10, 15, 20])
      #expect(file.begin == 2 * 9000 && file.shown == Array(7...24))
      // The last picture is shown until the end.
      #expect(file.length == 19 * 9000 + 4500 && file.formatCount == 1)
    }
  }

  @Test(
    "a span begins with the newest picture at its begin, or with the next one after a gap",
    arguments: [
      (-5, 0), (0, 0), (0.05, 0), (0.7, 7), (0.73, 7), (0.6985, 7), (0.697, 6), (0.95, 9), (0.9985, 10),
      (1, 10), (2.999, 29), (3.5, 30), (4.94, 30), (5, 30), (5.1, 31),
    ] as [(Double, Int)])
  func begins(from: Double, first: Int) async throws {
    try await withRecordings(Self.three + [NumberedRecording(5, from: 30)]) { folder async throws in
      let file = try await folder.file(spanTime(from), spanTime(9))
      #expect(file.shown == Array(first...39))
      #expect(file.pictures.first?.isKey == true)
    }
  }

  @Test("a span without a picture has no file")
  func nothing() async throws {
    try await withRecordings([NumberedRecording(0, from: 0), NumberedRecording(5, from: 10)]) {
      folder async throws in
      for (from, to) in [(-2.0, -1.0), (-2, 0), (2, 5), (7, 8)] {
        #expect(try await folder.span(spanTime(from), spanTime(to)) == nil, "\(from)")
      }
      #expect(try await folder.span(spanTime(4.9), spanTime(5.05))?.start == spanTime(5))
      let nearest = folder.folder.nearest(of: "camera", view: nil, from: spanTime(2), to: spanTime(4))
      #expect(nearest.all == [spanTime(1), spanTime(5)])
    }
  }

  /// Recordings of random lengths, intervals and formats of one size, some with gaps between them.
  private static func random(seed: UInt64) -> [NumberedRecording] {
    var random = SeededGenerator(seed: seed)
    var (second, number): (Double, Int) = (0, 0)
    return (0..<6).map { _ in
      var (pictures, ticks): ([NumberedRecording.Picture], Int) = ([], 0)
      var format = spanFormat()
      for index in 0..<Int.random(in: 1...20, using: &random) {
        let isKey = index == 0 || Int.random(in: 0..<4, using: &random) == 0
        if isKey { format = spanFormat(UInt8.random(in: 0x80...0x82, using: &random)) }
        pictures.append(.init(number: number, ticks: ticks, isKey: isKey, format: format))
        number += 1
        ticks += Int.random(in: 300...20_000, using: &random)
      }
      let recording = NumberedRecording(spanTime(second), pictures)
      second += Double(ticks) / 90_000 + ([0.001, 0.5, 3].randomElement(using: &random) ?? 0)
      return recording
    }
  }

  @Test(
    "spans that meet at a picture's X-Timestamp have each picture once",
    arguments: 1...4 as ClosedRange<UInt64>)
  func split(seed: UInt64) async throws {
    let recordings = Self.random(seed: seed)
    try await withRecordings(recordings) { folder async throws in
      let (begin, end) = (spanTime(-1), spanTime(1000))
      let whole = try await folder.file(begin, end)
      #expect(whole.shown == Array(0..<recordings.reduce(0) { $0 + $1.pictures.count }))
      for recording in recordings {
        for picture in recording.pictures where picture.number > 0 {
          let text = recording.time(of: picture).secondsText
          let middle = WallTime(sinceEpoch: .seconds(try #require(Double(text))))
          let (before, after) = (try await folder.file(begin, middle), try await folder.file(middle, end))
          #expect(before.shown + after.shown == whole.shown, "\(picture.number)")
          #expect(after.shown.first == picture.number)
        }
      }
    }
  }

  @Test("times within a recording stay, and longer gaps between recordings are cut out")
  func gaps() async throws {
    for (second, place, gaps) in [(1.9, 1.9, 0), (2.1, 1, 1), (3600, 1, 1)] as [(Double, Double, Int)] {
      var later = NumberedRecording(second, from: 10, count: 2)
      later.pictures.append(.init(number: 12, ticks: 900_000, isKey: true))
      try await withRecordings([NumberedRecording(0, from: 0), later]) { folder async throws in
        let span = try #require(try await folder.span(spanTime(0), spanTime(4000)))
        #expect(span.gaps == gaps, "\(second)")
        let file = try SpanFile(await folder.bytes(of: span))
        let expected = [0.9, place, place + 0.1, place + 10].map { Int(($0 * 90_000).rounded()) }
        #expect(file.pictures.dropFirst(9).map(\.ticks) == expected, "\(second)")
      }
    }
  }

  @Test("recordings that overlap because the clock was set back follow each other")
  func overlap() async throws {
    try await withRecordings([NumberedRecording(0, from: 0), NumberedRecording(0.5, from: 10)]) {
      folder async throws in
      let file = try await folder.file(spanTime(-1), spanTime(9))
      #expect(file.shown == Array(0..<20))
      #expect(file.pictures.map(\.ticks) == (0..<20).map { 9000 * $0 })
    }
  }

  @Test("formats of one size are described once each")
  func formats() async throws {
    let (one, other) = (spanFormat(0x80), spanFormat(0x81))
    var changing = NumberedRecording(1, from: 10, one)
    for index in 5..<10 {
      let old = changing.pictures[index]
      changing.pictures[index] = .init(
        number: old.number, ticks: old.ticks, isKey: old.isKey, format: other)
    }
    let recordings = [NumberedRecording(0, from: 0, one), changing, NumberedRecording(2, from: 20, one)]
    try await withRecordings(recordings) { folder async throws in
      let file = try await folder.file(spanTime(0), spanTime(9))
      #expect(file.shown == Array(0..<30) && file.formatCount == 2)
      let expected = (0..<30).map { (15..<20).contains($0) ? 1 : 0 }
      #expect(file.pictures.map(\.format) == expected)
    }
  }

  @Test("another size of the pictures is a conflict, which names the time for two files")
  func sizes() async throws {
    let recordings = [
      NumberedRecording(0, from: 0), NumberedRecording(1, from: 10, spanFormat(isWide: true)),
    ]
    try await withRecordings(recordings) { folder async throws in
      let problem = await #expect(throws: Problem.self) { try await folder.span(spanTime(0), spanTime(9)) }
      #expect(problem?.status == .conflict)
      #expect(problem?.detail.contains("from 16x16 to 32x16 at 2026-01-01T00:00:01.000Z") == true)
      #expect(try await folder.file(spanTime(0), spanTime(1)).shown == Array(0..<10))
      #expect(try await folder.file(spanTime(1), spanTime(9)).shown == Array(10..<20))
    }
  }

  @Test("a recording that goes on is included up to the last written picture")
  func open() async throws {
    try await withTemporaryFolder { path in
      let folder = SpanFolder(path)
      let recording = NumberedRecording(0, from: 0)
      let (handle, _) = folder.folder.begin("camera", "main", at: recording.start)
      var mp4 = FragmentedMP4(isFile: true)
      let parts = recording.pictures.map { mp4.append($0.sample) }
      func append(_ some: ArraySlice<[UInt8]>) async {
        #expect(folder.folder.append(Array(some.joined()), to: handle))
        await folder.folder.flush()
      }
      #expect(try await folder.span(spanTime(0), spanTime(9)) == nil)

      await append(parts[..<5])
      let early = try #require(try await folder.span(spanTime(0), spanTime(9)))
      let past = try #require(try await folder.span(spanTime(0), spanTime(0.35)))
      #expect(try SpanFile(await folder.bytes(of: early)).shown == Array(0..<5))

      await append(parts[5...])
      let late = try #require(try await folder.span(spanTime(0), spanTime(9)))
      #expect(try SpanFile(await folder.bytes(of: late)).shown == Array(0..<10))
      #expect(try SpanFile(await folder.bytes(of: early)).shown == Array(0..<5))
      #expect(late.entityTag != early.entityTag)
      // More pictures do not change a span that has ended before.
      let same = try #require(try await folder.span(spanTime(0), spanTime(0.35)))
      #expect(same.entityTag == past.entityTag)
      #expect(await folder.bytes(of: same) == folder.bytes(of: past))
      folder.folder.end(handle, length: mp4.length) { _ in }
      await folder.folder.flush()
    }
  }

  @Test("a file has the same bytes whatever is read at a time", arguments: [1, 7, 100, 1 << 20])
  func chunks(size: Int) async throws {
    try await withRecordings(Self.three) { folder async throws in
      let span = try #require(try await folder.span(spanTime(0.5), spanTime(2.5)))
      let bytes = await folder.bytes(of: span)
      #expect(bytes.count == span.byteCount)
      #expect(await folder.bytes(of: span, inChunksOf: size) == bytes)
      let reader = folder.spans.reader(of: span)
      for offset in stride(from: span.byteCount - 1, to: 0, by: -97) {
        let some = await reader.read(offset, 50)
        #expect(!some.isEmpty && some[...] == bytes[offset...].prefix(some.count), "\(offset)")
      }
    }
  }

  @Test("a span with too many pictures or bytes is refused with the limits and a shorter end")
  func limits() async throws {
    for limits in [
      RecordedSpanBuilder.Limits(pictures: 15), RecordedSpanBuilder.Limits(bytes: 300),
    ] {
      try await withRecordings(Self.three, limits: limits) { folder async throws in
        let problem = await #expect(throws: Problem.self) { try await folder.span(spanTime(0), spanTime(9)) }
        #expect(problem?.status == .badRequest)
        let detail = try #require(problem?.detail)
        #expect(detail.contains("\(limits.pictures) pictures and \(limits.bytes) bytes"))
        let end = try #require(detail.firstMatch(of: /to=(\S+)/)).1
        let to = try #require(WallTime(rfc3339: String(end)))
        #expect(try await folder.span(spanTime(0), to) != nil)
      }
    }
  }

  @Test("tables need memory of the budget, and return it")
  func memory() async throws {
    try await withTemporaryFolder { path in
      let (little, enough) = (MemoryBudget(capacity: 100), MemoryBudget(capacity: 1 << 20))
      let folder = SpanFolder(path, within: little)
      for recording in Self.three { await folder.record(recording) }
      await #expect(throws: MemoryBudget.Exceeded.self) { try await folder.span(spanTime(0), spanTime(9)) }
      #expect(little.reserved == 0)

      func reserved() async throws -> Int {
        let spans = RecordedSpans(folder.folder, within: enough)
        let span = try #require(
          try await spans.span(
            of: "camera", view: "main", preferring: nil, from: spanTime(0), to: spanTime(9)))
        #expect(enough.reserved == span.memory)
        return enough.reserved
      }
      let held = try await reserved()
      #expect(held > 0)
      await until { enough.reserved == 0 }
    }
  }

  @Test("a removed recording is left out, and ends a file that has it")
  func removed() async throws {
    try await withTemporaryFolder { path in
      let folder = SpanFolder(path)
      var recordings: [Recording] = []
      for recording in Self.three { recordings.append(await folder.record(recording)) }
      let span = try #require(try await folder.span(spanTime(0), spanTime(9)))
      #expect(await folder.folder.remove(recordings[1]) == .done)
      #expect(await folder.bytes(of: span).count < span.byteCount)
      #expect(try await folder.file(spanTime(0), spanTime(9)).shown == Array(0..<10) + Array(20..<30))
    }
  }

  @Test("a video of more than 13 hours has no edit list, because its length has 32 bits")
  func long() throws {
    for (ticks, begin) in [(4_000_000_000, 9000), (4_400_000_000, 0)] {
      var tables = MP4Tables()
      for place in [0, 9000, ticks / 2, ticks] {
        tables.append(byteCount: 4, isKey: true, at: place, spanFormat())
      }
      let file = try SpanFile(tables.head(lastTicks: 1, beginningAt: 9000) + [UInt8](repeating: 0, count: 16))
      #expect(file.begin == begin && file.length == ticks + 1)
      #expect(file.pictures.map(\.ticks) == [0, 9000, ticks / 2, ticks])
    }
  }

  @Test("a recorded format has the parameter sets and the shown size of its samples")
  func recordedFormat() throws {
    let odd = H264Format(
      sps: spanFormat().sps, pps: spanFormat().pps, size: Size(width: 15, height: 16), encoder: nil)
    for format in [spanFormat(), spanFormat(0x81), spanFormat(isWide: true), odd] {
      var mp4 = FragmentedMP4(isFile: true)
      let bytes = mp4.append(
        NumberedRecording.Picture(number: 1, ticks: 0, isKey: true, format: format).sample)
      var index = MP4Index()
      index.extend(to: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
      let known = try #require(index.formats.first)
      #expect(known.h264 == format)
      for count in 0..<known.header.count {
        #expect(MP4Index.Format(header: Array(known.header.prefix(count)), shown: nil).h264 == nil)
      }
    }
  }
}
