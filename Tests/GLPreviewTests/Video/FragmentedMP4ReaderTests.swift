// What was written as fragments is read again, however it is cut into pieces.
import PreviewCore
import Testing

@testable import CaptureHTTP
@testable import GLPreview
@testable import VideoFormats

@Suite("Fragmented MP4 reader")
struct FragmentedMP4ReaderTests {
  private static let format = H264Format(
    sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
    size: Size(width: 13, height: 12), encoder: .x264)

  private static func sample(_ index: Int, at milliseconds: Int) -> VideoSample {
    VideoSample(
      bytes: [0, 0, 0, 4, index == 0 ? 0x65 : 0x41, 0x9A, UInt8(index), 0x84], isKey: index == 0,
      timestamp: .start + .seconds(100) + .milliseconds(milliseconds), format: format)
  }

  private static func read(_ bytes: [UInt8], piece: Int) throws -> [FragmentedMP4Reader.Event] {
    var reader = FragmentedMP4Reader(pictureLimit: 1000)
    var events: [FragmentedMP4Reader.Event] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      events += try reader.take(bytes[start..<min(start + piece, bytes.count)])
      #expect(reader.waitingByteCount <= FragmentedMP4Reader.boxLimit)
    }
    #expect(reader.waitingByteCount == 0)
    return events
  }

  @Test(
    "samples and their timestamps are read back as written, in pieces of any length",
    arguments: [1, 7, 100, 10_000])
  func roundTrip(piece: Int) throws {
    // Pictures after a gap longer than two durations have no time of their own.
    let times = [0, 33, 66, 100, 1100, 1133, 1166]
    let samples = times.enumerated().map { Self.sample($0, at: $1) }
    var mp4 = FragmentedMP4()
    let events = try Self.read(samples.flatMap { mp4.append($0) }, piece: piece)
    guard case .header(let header, let shown) = events.first else {
      Issue.record("no header")
      return
    }
    #expect(header.first == 1 && shown == Size(width: 13, height: 12))
    var found: [Duration?] = []
    for (event, sample) in zip(events.dropFirst(), samples) {
      guard case .picture(let bytes, let says) = event else { continue }
      #expect(bytes == sample.bytes)
      found.append(says)
    }
    #expect(found.count == times.count && found[4] == nil)
    for (says, time) in zip(found, times) {
      guard let says else { continue }
      #expect(abs(says / .milliseconds(1) - Double(time)) <= 1, "\(time)")
    }
  }

  @Test("a format change within a stream is read as samples of the new format")
  func formats() throws {
    var mp4 = FragmentedMP4()
    var other = Self.sample(0, at: 40)
    other = VideoSample(
      bytes: other.bytes, isKey: true, timestamp: other.timestamp,
      format: H264Format(
        sps: Self.format.sps, pps: Self.format.pps, size: Size(width: 14, height: 12), encoder: nil))
    let bytes = mp4.append(Self.sample(0, at: 0)) + mp4.append(other)
    var stream = FragmentStream(SourceOptions())
    let events = stream.take(bytes[...], at: .start + .seconds(5))
    let sizes = events.compactMap { event in
      if case .sample(let sample) = event { sample.format.size } else { nil }
    }
    #expect(sizes == [Size(width: 13, height: 12), Size(width: 14, height: 12)], "\(events)")
  }

  @Test("boxes that are too large, out of order or not fragmented MP4 are rejected")
  func refusals() {
    var mp4 = FragmentedMP4()
    let whole = mp4.append(Self.sample(0, at: 0))
    let begin = whole.firstRange(of: Array("moof".utf8))?.lowerBound ?? 0
    for broken in [
      [0, 0, 0, 7] + Array("free".utf8), [0, 1, 0, 1] + Array("moov".utf8),
      [0, 0, 4, 0] + Array("mdat".utf8),
      Array("HTTP/1.1".utf8), [0, 0, 0, 8] + Array("moov".utf8), [0, 0, 0, 8] + Array("moof".utf8),
      [0, 0, 0, 8] + Array("mdat".utf8), whole[..<(begin - 4)] + [0, 0, 0, 9] + Array("mdat".utf8) + [1],
    ] {
      var reader = FragmentedMP4Reader(pictureLimit: 1000)
      #expect(throws: FragmentedMP4Reader.Failure.self, "\(broken)") {
        try reader.take(broken[...])
      }
    }
  }
}
