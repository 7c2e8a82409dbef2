// What is kept of a camera's H.264, and what of it those get who are late.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import VideoFormats

@Suite("Buffered H.264")
struct PassableVideoTests {
  private static let format = H264Format(
    sps: smallSPS, pps: smallPPS, size: Size(width: 16, height: 16), encoder: nil)

  /// Adds a picture a second, of this many bytes; key pictures are named.
  private static func video(
    _ count: Int, keys: Set<Int>, bytes: Int = 10, limit: Int = 1000
  ) -> (OriginalVideo, [OriginalVideo.Place]) {
    let video = OriginalVideo(limit: limit)
    let places = (0..<count).map { index in
      video.add(
        VideoSample(
          bytes: [UInt8](repeating: UInt8(index), count: bytes), isKey: keys.contains(index),
          timestamp: .second(index), format: format))
    }
    return (video, places)
  }

  private static func indices(_ samples: [VideoSample]) -> [UInt8] { samples.map { $0.bytes[0] } }

  @Test("buffered video is over when its connection ends, and video of a new connection is not")
  func over() {
    let ended = EndedConnections()
    let video = OriginalVideo(of: ended)
    #expect(!video.isOver)
    ended.add()
    #expect(video.isOver)
    #expect(!OriginalVideo(of: ended).isOver)
    #expect(!OriginalVideo().isOver)
  }

  @Test("a new reader gets all pictures since the last keyframe, a following reader the new ones")
  func following() {
    let (video, places) = Self.video(7, keys: [0, 4])
    #expect(places.map(\.index) == Array(0..<7))
    #expect(places[6].keyTime == .second(4) && places[3].keyTime == .second(0))
    #expect(Self.indices(video.samples(after: nil, through: 6)) == [4, 5, 6])
    #expect(Self.indices(video.samples(after: nil, through: 5)) == [4, 5])
    #expect(Self.indices(video.samples(after: 4, through: 6)) == [5, 6])
    #expect(video.samples(after: 6, through: 6).isEmpty)
    #expect(video.samples(after: nil, through: 7).isEmpty)
  }

  @Test("pictures before the last keyframe are buffered for 1 s; later readers skip to the keyframe")
  func late() {
    let (video, _) = Self.video(6, keys: [0, 5])
    #expect(Self.indices(video.samples(after: 3, through: 5)) == [4, 5])
    #expect(Self.indices(video.samples(after: 2, through: 5)) == [5])
    #expect(Self.indices(video.pathToDecode(after: 3, through: 5)) == [5])
    #expect(Self.indices(video.pathToDecode(after: nil, through: 5)) == [5])
  }

  @Test("pictures that a slow reader waits for are buffered for up to 10 s within the byte limit")
  func awaited() {
    let keys = Set(0..<40)
    let (video, _) = Self.video(4, keys: keys)
    let (patient, live) = (ObjectIdentifier(Int.self), ObjectIdentifier(String.self))
    video.wait(for: 2, by: patient)
    // Another reader's needs are its own.
    video.wait(for: nil, by: live)
    let add = { (index: Int, bytes: Int) in
      video.add(
        VideoSample(
          bytes: [UInt8](repeating: UInt8(index), count: bytes), isKey: true, timestamp: .second(index),
          format: Self.format))
    }
    for index in 4...9 { _ = add(index, 10) }
    #expect(Self.indices(video.samples(after: 1, through: 9)) == Array(2...9))
    for index in 10...30 { _ = add(index, 10) }
    #expect(Self.indices(video.samples(after: 19, through: 30)) == Array(20...30))
    #expect(Self.indices(video.samples(after: 18, through: 30)) == [30])
    // Beyond the limit only what is a second old at most.
    _ = add(31, 990)
    #expect(Self.indices(video.samples(after: 29, through: 31)) == [30, 31])
    #expect(Self.indices(video.samples(after: 28, through: 31)) == [31])
    // Nobody waits any more.
    video.wait(for: nil, by: patient)
    for index in 32...36 { _ = add(index, 10) }
    #expect(Self.indices(video.samples(after: 34, through: 36)) == [35, 36])
    #expect(Self.indices(video.samples(after: 33, through: 36)) == [36])
  }

  @Test("a GOP beyond the byte limit is not buffered, and new readers wait for the next keyframe")
  func large() {
    let (video, places) = Self.video(8, keys: [0], bytes: 200)
    #expect(video.samples(after: nil, through: 7).isEmpty)
    #expect(Self.indices(video.samples(after: 6, through: 7)) == [7])
    #expect(places[7].keyTime == .second(0))
    let key = video.add(
      VideoSample(bytes: [8], isKey: true, timestamp: .second(8), format: Self.format))
    #expect(Self.indices(video.samples(after: nil, through: key.index)) == [8])
  }

  @Test("buffered pictures are reserved in the memory budget, and dropped when it is full")
  func budget() {
    let budget = MemoryBudget(capacity: 2 << 20)
    do {
      let video = OriginalVideo(budget: budget)
      func add(_ index: Int, isKey: Bool = false) -> OriginalVideo.Place {
        video.add(
          VideoSample(
            bytes: [UInt8](repeating: UInt8(index), count: 600_000), isKey: isKey, timestamp: .second(index),
            format: Self.format))
      }
      _ = add(0, isKey: true)
      #expect(budget.reserved == 1 << 20)
      #expect(Self.indices(video.samples(after: nil, through: add(2).index)) == [0, 2])
      _ = add(4)
      #expect(budget.reserved == 2 << 20)
      let last = add(6).index
      #expect(budget.reserved == 1 << 20)
      #expect(video.samples(after: nil, through: last).isEmpty)
      #expect(Self.indices(video.samples(after: last - 1, through: last)) == [6])
    }
    #expect(budget.reserved == 0)
  }

  @Test("a keyframe repairs a buffer that is marked as broken")
  func broken() {
    let (video, _) = Self.video(2, keys: [0])
    video.breakUp()
    #expect(video.isBroken)
    _ = video.add(VideoSample(bytes: [8], isKey: true, timestamp: .second(8), format: Self.format))
    #expect(!video.isBroken)
  }
}

extension OriginalVideo {
  fileprivate func samples(after last: Int?, through index: Int) -> [VideoSample] {
    pictures(after: last, through: index).map(\.sample)
  }
}
