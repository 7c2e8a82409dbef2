// Recorded files are indexed while they grow: pictures have the times, places and formats that were written.
import PreviewCore
import TestSupport
import Testing

@testable import VideoFormats

/// A file in memory, which counts what is read of it.
private final class CountedFile {
  let bytes: [UInt8]
  private(set) var readCount = 0
  private(set) var byteCount = 0

  init(_ samples: [VideoSample]) {
    var mp4 = FragmentedMP4(isFile: true, note: [1, 2, 3])
    bytes = samples.flatMap { mp4.append($0) }
  }

  init(bytes: [UInt8]) { self.bytes = bytes }

  func read(_ offset: Int, _ count: Int) -> [UInt8] {
    readCount += 1
    let found = Array(bytes[offset..<min(offset + count, bytes.count)])
    byteCount += found.count
    return found
  }

  /// The index of the first `size` bytes.
  func index(upTo size: Int? = nil) -> MP4Index {
    var index = MP4Index()
    index.extend(to: size ?? bytes.count, read: read)
    return index
  }

  /// Where its boxes begin.
  func offsets(of type: String) -> [Int] {
    var (offset, found): (Int, [Int]) = (0, [])
    while offset + 8 <= bytes.count {
      let head = MP4Box.Head(bytes[offset...])
      guard head.length >= 8 else { break }
      if head.type == type { found.append(offset) }
      offset += head.length
    }
    return found
  }

  /// The file with other bytes at an offset.
  func replacing(at offset: Int, _ other: [UInt8]) -> CountedFile {
    var changed = bytes
    changed.replaceSubrange(offset..<offset + other.count, with: other)
    return CountedFile(bytes: changed)
  }
}

/// A format whose parameter sets name its width.
private func format(_ width: Int) -> H264Format {
  H264Format(
    sps: smallSPS + [UInt8(width)], pps: smallPPS, size: Size(width: width, height: 12), encoder: .x264)
}

private func sample(
  at ticks: Int, isKey: Bool = false, byteCount: Int = 8, _ format: H264Format = format(16)
) -> VideoSample {
  VideoSample(
    bytes: (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ ticks) }, isKey: isKey,
    timestamp: .start + .seconds(100) + .seconds(Double(ticks) / 90_000), format: format)
}

private func samples(at times: [Int]) -> [VideoSample] {
  times.enumerated().map { sample(at: $1, isKey: $0 % 10 == 0) }
}

@Suite("MP4 index")
struct MP4IndexTests {
  /// Mostly an interval of a camera, sometimes a gap.
  private static func interval(_ random: inout SeededGenerator) -> Int {
    switch Int.random(in: 0..<20, using: &random) {
    case 0: Int.random(in: 1...5, using: &random)
    case 1, 2: Int.random(in: 1...200_000, using: &random)
    case 3: Int.random(in: 1...5_000_000, using: &random)
    // About the longest interval that the writer estimates, and the half of it.
    case 4:
      [449_999, 450_000, 450_001, 899_999, 900_000, 900_001, 1_800_001].randomElement(using: &random) ?? 1
    case 5: 6000
    default: Int.random(in: 2000...8000, using: &random)
    }
  }

  @Test("capture times are exact, whatever the intervals and gaps", arguments: 0..<20 as Range<UInt64>)
  func times(seed: UInt64) {
    var (random, times) = (SeededGenerator(seed: seed), [0])
    for _ in 0..<150 { times.append((times.last ?? 0) + Self.interval(&random)) }
    #expect(CountedFile(samples(at: times)).index().pictures.map(\.ticks) == times)
  }

  @Test("capture times are exact for all short sequences of small intervals")
  func shortSequences() {
    for number in 0..<6 * 6 * 6 * 6 {
      var (times, rest) = ([0], number)
      for _ in 0..<4 {
        // 1, 2, 4, up to 32 hundredths of a second.
        times.append((times.last ?? 0) + 900 << (rest % 6))
        rest /= 6
      }
      #expect(CountedFile(samples(at: times)).index().pictures.map(\.ticks) == times)
    }
  }

  @Test("a picture that is not later than the one before is a tick later, or at the same time")
  func repeatedTimes() {
    for (times, found) in [
      ([0, 3000, 3000, 6000], [0, 3000, 3001, 6000]),
      ([0, 3000, 6000, 5000, 9000, 12_000], [0, 3000, 6000, 6001, 9000, 12_000]),
      ([0, 3000, 20_000, 20_000, 23_000], [0, 3000, 20_000, 20_000, 23_000]),
      (
        [0, 3000, 6000, 9000, 100_000, 90_000, 95_000, 200_000],
        [0, 3000, 6000, 9000, 100_000, 100_000, 100_000, 200_000]
      ),
    ] {
      #expect(CountedFile(samples(at: times)).index().pictures.map(\.ticks) == found)
    }
  }

  /// Pictures of random sizes and formats; a format begins with a keyframe.
  private static func randomSamples(_ count: Int, _ random: inout SeededGenerator) -> [VideoSample] {
    var (samples, ticks, width): ([VideoSample], Int, Int) = ([], 0, 16)
    for index in 0..<count {
      let isKey = index == 0 || Int.random(in: 0..<6, using: &random) == 0
      if isKey, index > 0 { width = [13, 14, 16].randomElement(using: &random) ?? 16 }
      let isLarge = Int.random(in: 0..<8, using: &random) == 0
      let byteCount = isLarge ? 40_000 : Int.random(in: 0...3000, using: &random)
      samples.append(sample(at: ticks, isKey: isKey, byteCount: byteCount, format(width)))
      ticks += interval(&random)
    }
    return samples
  }

  @Test(
    "pictures have the bytes, the keyframe flag and the format of their samples",
    arguments: [1, 2, 3] as [UInt64])
  func roundTrip(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let samples = Self.randomSamples(60, &random)
    let file = CountedFile(samples)
    let index = file.index()

    try #require(index.pictures.count == samples.count)
    for (picture, sample) in zip(index.pictures, samples) {
      let bytes = file.bytes[picture.offset..<picture.offset + picture.byteCount]
      // After a change of the format, keyframes have the parameter sets too.
      #expect(bytes.suffix(sample.bytes.count) == sample.bytes[...])
      #expect(sample.isKey || bytes.count == sample.bytes.count)
      #expect(picture.isKey == sample.isKey)
      let found = index.formats[picture.format]
      #expect(found.header.dropFirst(8).prefix(sample.format.sps.count) == sample.format.sps[...])
      #expect(found.shown == (sample.format.size.width == 13 ? sample.format.size : nil))
    }
    #expect(index.formats.count <= 3)
    #expect(MemoryLayout<MP4Index.Picture>.stride <= 32)
  }

  @Test("an index that grows with the file equals one of the whole file, wherever it paused")
  func growth() {
    let file = CountedFile([
      sample(at: 0, isKey: true), sample(at: 3000), sample(at: 6000, isKey: true, format(13)),
      sample(at: 90_000, format(13)),
    ])
    let whole = file.index()
    #expect(whole.pictures.count == 4 && whole.formats.count == 2)
    var steps = MP4Index()
    for size in 0...file.bytes.count {
      steps.extend(to: size, read: file.read)
      var index = file.index(upTo: size)
      #expect(steps.pictures == index.pictures && steps.formats == index.formats, "\(size)")
      let recording = MP4Recording(size: size, read: file.read)
      #expect(index.length == recording?.length ?? 0, "\(size)")
      #expect(index.pictures.allSatisfy { $0.offset + $0.byteCount <= size }, "\(size)")
      index.extend(to: file.bytes.count, read: file.read)
      #expect(index.pictures == whole.pictures && index.formats == whole.formats, "\(size)")
    }
    #expect(steps.pictures == whole.pictures)
  }

  @Test("a finished file has the pictures and the length that it had before")
  func finished() throws {
    var random = SeededGenerator(seed: 4)
    let file = CountedFile(Self.randomSamples(30, &random))
    let recording = try #require(MP4Recording(size: file.bytes.count, read: file.read))
    let end = MP4Recording.finish(length: recording.length)
    let finished = file.replacing(at: recording.lengthOffset, end)

    #expect(MP4Recording(size: finished.bytes.count, read: finished.read)?.isFinished == true)
    #expect(finished.index().pictures == file.index().pictures)
    #expect(finished.index().length == recording.length)
  }

  @Test("a picture is found by any time from its own to the next one's")
  func search() {
    let index = CountedFile(samples(at: [0, 3000, 6000, 60_000])).index()
    let found = [-1, 0, 1, 2999, 3000, 5999, 6000, 59_999, 60_000, Int.max].map { index.picture(at: $0) }
    #expect(found == [nil, 0, 0, 0, 1, 1, 2, 2, 3, 3])
    #expect(MP4Index().picture(at: 0) == nil)
  }

  @Test("the path to a picture begins with the last keyframe of its format")
  func paths() {
    let file = CountedFile([
      sample(at: 0, isKey: true), sample(at: 3000), sample(at: 6000), sample(at: 9000, isKey: true),
      sample(at: 12_000, isKey: true, format(14)), sample(at: 15_000, format(14)),
    ])
    let index = file.index()
    let found = [-1, 0, 1, 2, 3, 4, 5, 6].map { index.path(to: $0) }
    let paths: [ClosedRange<Int>?] = [nil, 0...0, 0...1, 0...2, 3...3, 4...4, 4...5, nil]
    #expect(found == paths)
    // The flags of the last keyframe's fragment: now it depends on others.
    let fragment = file.offsets(of: "moof")[4]
    let damaged = file.replacing(at: fragment + 96, [1, 1, 0, 0]).index()
    #expect([3, 4, 5].map { damaged.keyframe(at: $0) } == [3, nil, nil])
  }

  @Test("small pictures are read many at once, and of large ones only the boxes before them")
  func reads() {
    let large = CountedFile((0..<20).map { sample(at: 3000 * $0, isKey: $0 == 0, byteCount: 100_000) })
    #expect(large.index().pictures.count == 20)
    #expect(large.readCount <= 20 && large.byteCount <= (64 << 10) + 20 * 200)

    let small = CountedFile((0..<1000).map { sample(at: 3000 * $0, isKey: $0 == 0, byteCount: 200) })
    #expect(small.index().pictures.count == 1000)
    #expect(small.readCount <= small.bytes.count / (60 << 10) + 1)
  }

  @Test("the index ends at a damaged box, and stays as it is")
  func damage() {
    let whole = CountedFile(samples(at: [0, 3000, 6000]))
    let file = CountedFile(bytes: whole.bytes + [UInt8](repeating: 0, count: 300_000))
    let first = whole.index().pictures.prefix(1)
    let (moof, mdat) = (file.offsets(of: "moof")[1], file.offsets(of: "mdat")[1])
    #expect(file.index().pictures.count == 3)

    for (fault, offset, bytes) in [
      ("a length of 7", moof, [0, 0, 0, 7]), ("a length of 0", moof, [0, 0, 0, 0]),
      ("a length of 64 bits", moof, [0, 0, 0, 1]), ("a length beyond the end", moof, [255, 255, 255, 255]),
      ("a length above the limit", moof, [0, 2, 0, 0]), ("another box", moof + 4, Array("free".utf8)),
      ("a beginning out of range", moof + 60, [255]), ("no progress", moof + 60, [0, 0, 0, 0, 0, 0, 0, 0]),
      ("two pictures", moof + 80, [0, 0, 0, 2]), ("no duration", moof + 88, [0, 0, 0, 0]),
      ("another size", moof + 92, [0, 0, 0, 1]), ("another length of the picture", mdat, [0, 0, 0, 9]),
    ] as [(String, Int, [UInt8])] {
      let damaged = file.replacing(at: offset, bytes)
      var index = damaged.index()
      #expect(index.pictures == Array(first), "\(fault)")
      index.extend(to: damaged.bytes.count, read: damaged.read)
      #expect(index.pictures == Array(first), "\(fault)")
    }
    let headless = file.replacing(at: file.offsets(of: "moov")[0] + 4, Array("free".utf8))
    #expect(headless.index().pictures.isEmpty && headless.index().formats.isEmpty)
  }

  @Test("random changes never lead out of the file or back in time", arguments: 0..<10 as Range<UInt64>)
  func randomDamage(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let file = CountedFile(samples(at: [0, 3000, 6000, 60_000, 63_000]))
    for _ in 0..<40 {
      var bytes = file.bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let index = CountedFile(bytes: bytes).index()
      let times = index.pictures.map(\.ticks)
      #expect(times == times.sorted())
      #expect(index.pictures.allSatisfy { $0.offset >= 8 && $0.offset + $0.byteCount <= bytes.count })
    }
  }

  @Test("after a failed read, the index continues where it was")
  func failedReads() {
    let file = CountedFile(samples(at: [0, 3000, 6000]))
    var index = MP4Index()
    index.extend(to: file.bytes.count) { _, _ in [] }
    index.extend(to: file.bytes.count) { Array(file.read($0, $1).prefix(20)) }
    #expect(index.pictures.isEmpty)
    index.extend(to: file.bytes.count, read: file.read)
    #expect(index.pictures == file.index().pictures && index.pictures.count == 3)
  }

  @Test("reading stops where it may not go on, and the next call continues there")
  func stopping() {
    let file = CountedFile(samples(at: (0..<5000).map { 3000 * $0 }))
    var (index, counts): (MP4Index, [Int]) = (MP4Index(), [])
    index.extend(to: file.bytes.count, read: file.read, mayGoOn: { _ in false })
    #expect(index.pictures.isEmpty && file.readCount == 0)
    index.extend(
      to: file.bytes.count, read: file.read,
      mayGoOn: { count in
        counts.append(count)
        return counts.count < 3
      })
    #expect(counts.count == 3 && index.pictures.count > 4000 && index.pictures.count <= counts[1])
    index.extend(to: file.bytes.count, read: file.read)
    #expect(index.pictures.count == 5000 && index.pictures == file.index().pictures)
  }

  @Test("the index ends after 100 different formats")
  func formats() {
    let all = (0..<110).map { sample(at: 3000 * $0, isKey: true, format(2 * $0 + 2)) }
    let index = CountedFile(all).index()
    #expect(index.formats.count == 100 && index.pictures.count == 100)
    // Formats that alternate are the same two.
    let two = (0..<210).map { sample(at: 3000 * $0, isKey: true, format($0 % 2 * 2 + 2)) }
    #expect(CountedFile(two).index().formats.count == 2)
  }

  /// A picture that can be passed through, whose format is shown in another size.
  private static func picture(_ code: UInt8, _ kind: SliceKind, at ticks: Int, width: Int) -> VideoSample {
    let unit = kind.header + [code, 0x80]
    return VideoSample(
      bytes: [0, 0, 0, UInt8(unit.count)] + unit, isKey: kind == .key,
      timestamp: .start + .seconds(100) + .seconds(Double(ticks) / 90_000),
      format: H264Format(
        sps: smallSPS, pps: smallPPS, size: Size(width: width, height: 16), encoder: nil))
  }

  @Test("a path is read as samples in the format of the file, with the size that is shown")
  func samplesOfPath() throws {
    let written = [
      Self.picture(1, .key, at: 0, width: 16), Self.picture(2, .p, at: 9000, width: 16),
      Self.picture(3, .key, at: 18_000, width: 15), Self.picture(4, .p, at: 27_000, width: 15),
    ]
    let file = CountedFile(written)
    let index = file.index()
    for (number, codes) in [(0, [1]), (1, [1, 2]), (2, [3]), (3, [3, 4])] as [(Int, [UInt8])] {
      let path = try #require(index.path(to: number))
      let start = CaptureInstant.start + .seconds(100)
      let samples = try #require(
        index.samples(of: path, since: start, maximumPixels: 256, read: file.read))
      #expect(samples.map(\.packetCode) == codes)
      #expect(samples.map(\.format) == written[path].map(\.format))
      #expect(samples.map(\.bytes) == written[path].map(\.bytes))
      #expect(samples.map { $0.timestamp.ticks(since: start) } == index.pictures[path].map(\.ticks))
    }
    #expect(index.samples(of: 0...1, maximumPixels: 255, read: file.read) == nil)
    #expect(index.samples(of: 1...1, maximumPixels: 256, read: file.read) == nil)
    #expect(index.samples(of: 0...1, maximumPixels: 256) { _, _ in [] } == nil)
    #expect(index.samples(of: 3...4, maximumPixels: 256, read: file.read) == nil)
  }
}
