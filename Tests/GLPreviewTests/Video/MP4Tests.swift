// MP4: boxes are where players look for them, and say what the samples are.
import Foundation
import PreviewCore
import Testing

@testable import GLPreview
@testable import VideoFormats

/// The boxes of a piece of a file: their types and contents.
private func boxes(_ bytes: some Collection<UInt8>) -> [(type: String, content: [UInt8])] {
  var rest = Array(bytes)[...]
  var found: [(String, [UInt8])] = []
  while rest.count >= 8 {
    var (length, head) = (number(rest, 0, 4), 8)
    if length == 1 { (length, head) = (number(rest, 8, 8), 16) }
    guard length >= head, length <= rest.count else { break }
    found.append(
      (
        String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self),
        Array(rest.prefix(length).dropFirst(head))
      ))
    rest = rest.dropFirst(length)
  }
  return found
}

/// The content of the box at a path; the boxes in sample descriptions stand behind their fields.
private func box(_ path: String, in bytes: [UInt8]) -> [UInt8]? {
  var content = bytes
  for type in path.split(separator: "/") {
    guard let next = boxes(content).first(where: { $0.type == type }) else { return nil }
    content = next.content
    if type == "stsd" { content.removeFirst(8) }
    if type == "avc1" { content.removeFirst(78) }
  }
  return content
}

private func number(_ bytes: some Collection<UInt8>, _ offset: Int, _ count: Int) -> Int {
  bytes.dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | Int($1) }
}

/// All numbers of 32 bits from `offset` on.
private func numbers(_ bytes: [UInt8], from offset: Int) -> [Int] {
  stride(from: offset, to: bytes.count, by: 4).map { number(bytes, $0, 4) }
}

private let format = H264Format(
  sps: [0x67, 66, 0xc0, 30, 0xda, 0x79], pps: [0x68, 2, 3], size: Size(width: 640, height: 360),
  encoder: .x264)

private func sample(
  _ byte: UInt8, at milliseconds: Int, isKey: Bool = false, _ format: H264Format = format
) -> VideoSample {
  VideoSample(
    bytes: [0, 0, 0, 2, isKey ? 0x65 : 0x41, byte], isKey: isKey,
    timestamp: .start + .seconds(1000) + .milliseconds(milliseconds), format: format)
}

@Suite("Fragmented MP4")
struct MP4Tests {
  @Test("an initialization segment describes the stream, and has no samples")
  func initialization() throws {
    let segment = FragmentedMP4.initialization(format)

    #expect(boxes(segment).map(\.type) == ["ftyp", "moov"])
    let entry = "moov/trak/mdia/minf/stbl/stsd/avc1"
    let fields = try #require(box("moov/trak/mdia/minf/stbl/stsd", in: segment))
    #expect(number(fields, 8 + 24, 2) == 640)
    #expect(number(fields, 8 + 26, 2) == 360)
    #expect(
      box("\(entry)/avcC", in: segment)
        == [1, 66, 0xc0, 30, 0xff, 0xe1, 0, 6] + format.sps + [1, 0, 3] + format.pps)
    // BT.709's primaries, sRGB's curve, BT.601's matrix, limited range.
    #expect(box("\(entry)/colr", in: segment) == Array("nclx".utf8) + [0, 1, 0, 13, 0, 6, 0])
    #expect(box("\(entry)/clap", in: segment) == nil)
    #expect(box("moov/trak/mdia/minf/stbl/stsz", in: segment) == [UInt8](repeating: 0, count: 12))
    #expect(box("moov/mvex/trex", in: segment) != nil)
  }

  @Test("the avcC box has the chroma format and bit depth of a high profile")
  func high() throws {
    let high = H264Format(
      sps: [0x67, 100, 0, 30, 0xda], pps: format.pps, size: format.size, encoder: .v4l2m2m)
    let record = try #require(
      box("moov/trak/mdia/minf/stbl/stsd/avc1/avcC", in: FragmentedMP4.initialization(high)))
    #expect(record.suffix(7) == format.pps + [0xfd, 0xf8, 0xf8, 0])
  }

  @Test("an odd size is written as a clean aperture (clap) of the next even size")
  func odd() throws {
    let odd = H264Format(
      sps: format.sps, pps: format.pps, size: Size(width: 641, height: 361), encoder: .x264)
    let segment = FragmentedMP4.initialization(odd)
    let aperture = try #require(box("moov/trak/mdia/minf/stbl/stsd/avc1/clap", in: segment))
    let minusOne = Int(UInt32.max)
    #expect(numbers(aperture, from: 0) == [641, 1, 361, 1, minusOne, 2, minusOne, 2])
    #expect(number(try #require(box("moov/trak/mdia/minf/stbl/stsd", in: segment)), 8 + 24, 2) == 642)
  }

  @Test("a fragment has one picture, its offset, time, duration and keyframe flag")
  func fragments() throws {
    var mp4 = FragmentedMP4()
    #expect(!mp4.hasBegun)
    let first = mp4.append(sample(1, at: 0, isKey: true))
    let second = mp4.append(sample(2, at: 40))
    let third = mp4.append(sample(3, at: 140))

    #expect(mp4.hasBegun)
    #expect(boxes(first).map(\.type) == ["ftyp", "moov", "moof", "mdat"])
    // The third one comes late, begins where the second one ends, and lasts until its own time and a little longer.
    for (fragment, byte, time, duration) in [(second, 2, 3600, 3600), (third, 3, 7200, 12600)] {
      #expect(boxes(fragment).map(\.type) == ["moof", "mdat"])
      #expect(box("mdat", in: fragment) == [0, 0, 0, 2, 0x41, UInt8(byte)])
      #expect(number(try #require(box("moof/mfhd", in: fragment)), 4, 4) == byte)
      #expect(number(try #require(box("moof/traf/tfdt", in: fragment)), 4, 8) == time)
      let run = try #require(box("moof/traf/trun", in: fragment))
      #expect(numbers(run, from: 4) == [1, fragment.count - 6, duration, 6, 0x0101_0000])
      #expect(fragment.count - 6 < 110)
    }
    #expect(numbers(try #require(box("moof/traf/trun", in: first)), from: 4).last == 0x0200_0000)
  }

  @Test("a new format writes another initialization segment, and timestamps continue")
  func change() throws {
    var mp4 = FragmentedMP4()
    _ = mp4.append(sample(1, at: 0, isKey: true))
    let small = H264Format(
      sps: format.sps, pps: format.pps, size: Size(width: 320, height: 180), encoder: .x264)
    let next = mp4.append(sample(2, at: 100, isKey: true, small))
    #expect(boxes(next).map(\.type) == ["ftyp", "moov", "moof", "mdat"])
    #expect(number(try #require(box("moof/traf/tfdt", in: next)), 4, 8) == 3000)
    // FFmpeg takes only the first initialization segment: what follows it has its parameter sets in the samples.
    let sets = [0, 0, 0, 6] + format.sps + [0, 0, 0, 3] + format.pps
    #expect(box("mdat", in: next) == sets + [0, 0, 0, 2, 0x65, 2])
    let run = try #require(box("moof/traf/trun", in: next))
    #expect(numbers(run, from: 4)[3] == sets.count + 6)
    #expect(box("mdat", in: mp4.append(sample(3, at: 140, small))) == [0, 0, 0, 2, 0x41, 3])
  }

  @Test("fragments with random timestamps leave no gap at which browsers would drop pictures")
  func gaps() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<8 {
      var (mp4, milliseconds) = (FragmentedMP4(), 0)
      var last: (begin: Int, duration: Int)?
      for index in 0..<200 {
        let fragment = mp4.append(sample(1, at: milliseconds, isKey: index == 0))
        let begin = number(try #require(box("moof/traf/tfdt", in: fragment)), 4, 8)
        let duration = numbers(try #require(box("moof/traf/trun", in: fragment)), from: 4)[2]
        #expect(begin <= milliseconds * 90 && begin + duration > milliseconds * 90)
        if let last {
          #expect(begin > last.begin && begin - last.begin <= 2 * last.duration)
        }
        last = (begin, duration)
        milliseconds +=
          Int.random(in: 0..<100, using: &random) < 5 ? 3000 : Int.random(in: 1...90, using: &random)
      }
    }
  }
}

@Suite("Video file writer")
struct VideoFileWriterTests {
  private static func written(
    _ samples: [VideoSample], named name: String = "clip.mp4", lastDuration: Duration? = nil
  ) async throws -> [UInt8] {
    try await withFile([1, 2, 3], named: name) { path in
      let file = try VideoFileWriter(path)
      for sample in samples { try file.append(sample) }
      try file.finish(lastDuration: lastDuration)
      let bytes = Array(try Data(contentsOf: URL(filePath: path)))
      #expect(file.byteCount == bytes.count)
      let folder = URL(filePath: path).deletingLastPathComponent().path
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
      return bytes
    }
  }

  @Test("an MP4 file has the offset, size, duration and keyframe tables before its samples")
  func tables() async throws {
    let file = try await Self.written(
      [
        sample(1, at: 0), sample(2, at: 10, isKey: true), sample(3, at: 50), sample(4, at: 90),
        sample(5, at: 200, isKey: true),
      ], lastDuration: .milliseconds(500))

    #expect(boxes(file).map(\.type) == ["ftyp", "moov", "mdat"])
    let table = try #require(box("moov/trak/mdia/minf/stbl", in: file))
    // The sample before the first key picture is left out.
    #expect(numbers(try #require(box("stts", in: table)), from: 4) == [3, 2, 3600, 1, 9900, 1, 45000])
    #expect(numbers(try #require(box("stss", in: table)), from: 4) == [2, 1, 4])
    #expect(numbers(try #require(box("stsc", in: table)), from: 4) == [1, 1, 4, 1])
    #expect(numbers(try #require(box("stsz", in: table)), from: 4) == [0, 4, 6, 6, 6, 6])
    let offset = number(try #require(box("co64", in: table)), 8, 8)
    let pictures: [VideoSample] = [
      sample(2, at: 0, isKey: true), sample(3, at: 0), sample(4, at: 0), sample(5, at: 0, isKey: true),
    ]
    #expect(Array(file[offset...]) == pictures.flatMap(\.bytes))
    #expect(number(try #require(box("moov/mvhd", in: file)), 24, 8) == 62_100)
    #expect(number(try #require(box("moov/trak/mdia/mdhd", in: file)), 24, 8) == 62_100)
  }

  @Test("rounding timestamps to ticks does not accumulate an error")
  func rounding() async throws {
    let samples = (0..<301).map { index in
      VideoSample(
        bytes: [0, 0, 0, 1, 0x65], isKey: true, timestamp: .start + .seconds(1) / 29.97 * Double(index),
        format: format)
    }
    let file = try await Self.written(samples, lastDuration: .zero)
    // 300 / 29.97 s are 900,900.9 ticks; one is for the last.
    #expect(number(try #require(box("moov/mvhd", in: file)), 24, 8) == 900_902)
  }

  @Test("samples of two formats are written as two chunks with a sample description each")
  func formats() async throws {
    let small = H264Format(
      sps: format.sps, pps: format.pps, size: Size(width: 320, height: 180), encoder: .x264)
    let file = try await Self.written([
      sample(1, at: 0, isKey: true), sample(2, at: 40), sample(3, at: 80, isKey: true, small),
    ])
    let table = try #require(box("moov/trak/mdia/minf/stbl", in: file))
    #expect(numbers(try #require(box("stsc", in: table)), from: 4) == [2, 1, 2, 1, 2, 1, 2])
    let offsets = try #require(box("co64", in: table))
    #expect(number(offsets, 16, 8) == number(offsets, 8, 8) + 12)
    let descriptions = try #require(boxes(table).first { $0.type == "stsd" })
    #expect(number(descriptions.content, 4, 4) == 2)
  }

  @Test("an unfinished file leaves only the previous file, and finishing without samples throws")
  func unfinished() async throws {
    try await withFile([1, 2, 3], named: "clip.mp4") { path in
      do {
        let file = try VideoFileWriter(path)
        try file.append(sample(1, at: 0, isKey: true))
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
      let folder = URL(filePath: path).deletingLastPathComponent().path
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["clip.mp4"])
      let empty = try VideoFileWriter(path)
      #expect(throws: WriteError.self) { try empty.finish() }
    }
  }

  @Test("an H.264 file has the parameter sets before each keyframe")
  func stream() async throws {
    let file = try await Self.written(
      [sample(1, at: 0, isKey: true), sample(2, at: 40), sample(3, at: 80, isKey: true)], named: "clip.h264")
    #expect(H264Stream.units(file).map { file[$0.lowerBound] } == [0x67, 0x68, 0x65, 0x41, 0x67, 0x68, 0x65])
  }

  @Test("a FIFO receives fragmented MP4")
  func fifo() async throws {
    try await withFile([], named: "file") { path in
      let fifo = path + ".mp4"
      try #require(unsafe mkfifo(fifo, 0o600) == 0)
      // Opened for both, it waits for nobody.
      let reader = unsafe open(fifo, O_RDWR | O_NONBLOCK)
      defer { close(reader) }
      let file = try VideoFileWriter(fifo)
      try file.append(sample(1, at: 0, isKey: true))
      try file.finish()
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe read(reader, &bytes, bytes.count)
      #expect(count == file.byteCount)
      #expect(boxes(bytes.prefix(max(count, 0))).map(\.type) == ["ftyp", "moov", "moof", "mdat"])
    }
  }

  @Test(
    "the file format follows from the extension .mp4 or .h264, upper or lower case",
    arguments: [("a.mp4", VideoFileWriter.Format.mp4), ("A.H264", .h264)])
  func names(name: String, format: VideoFileWriter.Format) {
    #expect(VideoFileWriter.Format(fileName: name) == format)
    #expect(VideoFileWriter.Format(fileName: name + ".jpg") == nil)
  }
}
