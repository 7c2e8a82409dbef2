// How video is cut into segments: no camera, no encoder, no clock.
import NIOCore
import TestSupport
import Testing

@testable import GLPreview
@testable import HLS
@testable import VideoFormats

@Suite("HLS segments")
struct HLSTimelineTests {
  private static func format(_ encoder: VideoConfiguration.Encoder? = .x264, width: Int = 64) -> H264Format {
    H264Format(
      sps: [0x67, 66, 0xC0, 30, UInt8(width)], pps: [0x68, 0xCE, 0x3C, 0x80],
      size: Size(width: width, height: 48),
      encoder: encoder)
  }

  private static func sample(
    _ milliseconds: Int, isKey: Bool = false, _ format: H264Format = HLSTimelineTests.format()
  ) -> VideoSample {
    VideoSample(
      bytes: [
        0, 0, 0, 4, isKey ? 0x65 : 0x41, UInt8(milliseconds >> 8 & 0xFF), UInt8(milliseconds & 0xFF), 1,
      ],
      isKey: isKey, timestamp: .millisecond(100_000 + milliseconds), format: format)
  }

  /// A player: it checks each playlist against the rules and the one before, and fetches what is listed.
  private struct Player {
    var timeline: HLSTimeline
    var last: MediaPlaylist?
    let budget = MemoryBudget(capacity: 1 << 24)
    /// The text of `last`, and the names of its files with the box in which each begins.
    private var (text, files) = ("", [String: String]())

    init(from number: Int = 0) { timeline = HLSTimeline(from: number) }

    /// Returns whether a keyframe is needed.
    @discardableResult
    mutating func take(_ sample: VideoSample) throws -> Bool {
      let needsKey = try timeline.append(sample, within: budget)
      guard let text = timeline.playlist("main.m3u8", "a=b") else { return needsKey }
      if text != self.text { try read(text) }
      for (name, box) in files {
        let file = try #require(timeline.file(name), "\(name) is listed and not there")
        if file.bytes.getString(at: 4, length: 4) != box {
          Issue.record("\(name) does not begin with \(box)")
        }
      }
      return needsKey
    }

    private mutating func read(_ text: String) throws {
      let playlist = try MediaPlaylist(text)
      if let last { try playlist.check(after: last) }
      files = [:]
      for segment in playlist.segments {
        for uri in [segment.map, segment.uri] {
          try #require(uri.hasPrefix("main.m3u8/") && uri.hasSuffix("?a=b"))
          let name = String(uri.dropFirst("main.m3u8/".count).dropLast("?a=b".count))
          files[name] = uri == segment.map ? "ftyp" : "moof"
        }
      }
      (last, self.text) = (playlist, text)
    }
  }

  @Test("segments last about 2 s and start with a keyframe, and a player gets each picture once")
  func usual() throws {
    var (player, reader, pictures) = (Player(from: 7), FragmentedMP4Reader(pictureLimit: 1 << 20), 0)
    var (fetched, isWanted) = (Set<String>(), true)
    for time in stride(from: 0, to: 60_000, by: 50) {
      // The encoder gives the keyframe that was asked for with its next picture.
      isWanted = try player.take(Self.sample(time, isKey: isWanted))
      for segment in player.last?.segments ?? [] where fetched.insert(segment.uri).inserted {
        let name = segment.uri.dropFirst("main.m3u8/".count).prefix { $0 != "?" }
        let bytes = try #require(player.timeline.file(String(name))?.bytes)
        for event in try reader.take(
          FragmentedMP4.initialization(Self.format())[...] + Array(bytes.readableBytesView))
        {
          guard case .picture(let bytes, _) = event else { continue }
          #expect(Int(bytes[5]) << 8 | Int(bytes[6]) == (pictures * 50) & 0xFFFF)
          #expect(!pictures.isMultiple(of: 39) || bytes[4] == 0x65)
          pictures += 1
        }
      }
    }
    let playlist = try #require(player.last)
    #expect(playlist.target == 3 && playlist.sequence > 7)
    #expect(playlist.segments.allSatisfy { abs($0.duration - 1.95) < 0.001 })
    #expect(pictures > 1100)
    // Nine seconds are listed, and 24 can be fetched.
    #expect(playlist.segments.count == 5)
    #expect(player.timeline.file("7.m4s") == nil)
    let reserved = player.budget.reserved
    #expect(reserved > 0 && reserved < 24 * 20 * 400)
    player.timeline = HLSTimeline(from: 0)
    #expect(player.budget.reserved == 0)
  }

  @Test("each change of video format is a discontinuity with its own initialization segment")
  func discontinuities() throws {
    var player = Player()
    // Each eight seconds the camera's own video and that of the placeholder take turns.
    for time in stride(from: 0, to: 90_000, by: 100) {
      let format = Self.format(time / 8000 % 2 == 0 ? nil : .x264)
      try player.take(Self.sample(time, isKey: time % 2000 == 0, format))
    }
    let (playlist, text) = (try #require(player.last), try #require(player.timeline.playlist("p", "")))
    #expect(text.contains("\n#EXT-X-DISCONTINUITY\n"))
    #expect(Set(playlist.segments.map(\.map)).count > 1)
    #expect((playlist.segments.last?.discontinuity ?? 0) >= 10)
  }

  @Test("pictures before the first complete segment do not affect the target duration")
  func placeholder() throws {
    var player = Player()
    try player.take(Self.sample(0, isKey: true))
    try player.take(Self.sample(500))
    for time in stride(from: 1000, to: 14_000, by: 100) {
      let isRefused = try player.take(Self.sample(time, isKey: (time - 1000) % 4000 == 0, Self.format(nil)))
      #expect(!isRefused)
    }
    #expect(player.last?.target == 4)
    #expect(player.last?.sequence == 0 && player.last?.segments.first?.discontinuity == 0)
  }

  @Test(
    "passthrough video with keyframes 30 s apart must be re-encoded, at the start or later",
    arguments: [0, 20_000])
  func rareKeyframes(since: Int) throws {
    var (player, refusedAt) = (Player(), Int?.none)
    for time in stride(from: 0, to: 60_000, by: 100) {
      let interval = time <= since ? 2000 : 30_000
      guard try player.take(Self.sample(time, isKey: time % interval == 0, Self.format(nil))) else {
        continue
      }
      refusedAt = time
      break
    }
    #expect(refusedAt == since + (since == 0 ? 6500 : 3500))
    let begin = try #require(refusedAt) + 100
    for time in stride(from: begin, to: begin + 20_000, by: 100) {
      try player.take(Self.sample(time, isKey: (time - begin) % 2000 == 0))
    }
    #expect(player.last?.target == 3)
    #expect(player.last?.segments.last?.discontinuity == (since == 0 ? 0 : 1))
  }

  @Test("random keyframe intervals and format changes always give valid HLS playlists", arguments: 0..<20)
  func anything(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var (player, time, format) = (Player(from: seed), 0, Self.format())
    for _ in 0..<1500 {
      time += Int.random(in: 1...3, using: &random) * ([20, 100, 1000].randomElement(using: &random) ?? 20)
      let isOther = Int.random(in: 0..<40, using: &random) == 0
      if isOther {
        let encoder: VideoConfiguration.Encoder? = Bool.random(using: &random) ? nil : .x264
        format = Self.format(encoder, width: 2 * Int.random(in: 8..<100, using: &random))
      }
      // What is sent after a change begins with a keyframe.
      try player.take(Self.sample(time, isKey: isOther || Int.random(in: 0..<9, using: &random) == 0, format))
    }
    #expect((player.last?.sequence ?? 0) > seed)
  }

  @Test("a timeline that starts later has higher media and discontinuity sequence numbers")
  func restart() throws {
    var (first, second) = (Player(from: 1000), Player(from: 1030))
    for time in stride(from: 0, to: 25_000, by: 100) {
      try first.take(Self.sample(time, isKey: time % 2000 == 0))
    }
    for time in stride(from: 0, to: 5000, by: 100) {
      try second.take(Self.sample(time, isKey: time % 2000 == 0))
    }
    let (old, new) = (try #require(first.last), try #require(second.last))
    #expect(new.sequence > old.sequence + old.segments.count)
    #expect((new.segments.first?.discontinuity ?? 0) > (old.segments.last?.discontinuity ?? 0))
  }

  @Test("segments beyond the memory budget throw an error")
  func memory() throws {
    var timeline = HLSTimeline(from: 0)
    let budget = MemoryBudget(capacity: 1000)
    _ = try timeline.append(Self.sample(0, isKey: true), within: budget)
    #expect(throws: MemoryBudget.Exceeded.self) {
      for time in 1..<100 { _ = try timeline.append(Self.sample(time), within: budget) }
    }
    #expect(budget.reserved <= 1000)
  }
}
