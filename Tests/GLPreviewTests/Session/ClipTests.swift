// What a view showed at a time: copied, encoded, or as pictures.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview
@testable import VideoFormats

#if FFmpeg
  @testable import CaptureFFmpeg
#endif

@Suite("Clips", .timeLimit(.minutes(15)))
struct ClipTests {
  private static let start = CaptureInstant(sinceStart: .seconds(100))

  private static func time(_ seconds: Double) -> CaptureInstant { start + .seconds(seconds) }

  /// A source whose pictures are put into its ring by the test.
  private static func source(masks: [String] = [], keeping replay: Replay = Replay(.seconds(3600))) throws
    -> SessionSource
  {
    var options = SourceOptions()
    options.live = .patient()
    options.masks = try masks.map { try PrivacyMask(parsing: $0) }
    options.referenceSize = Size(width: 64, height: 48)
    let device = ScriptedDevice([])
    var source = SessionSource(
      name: "camera", options: options,
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
    source.opensWithin = allTheTimeThereIs
    source.replay = replay
    return source
  }

  private static func session(_ source: SessionSource) throws -> (PreviewSession, ReplayBuffer) {
    let session = try PreviewSession(scripted: source)
    _ = try session.addPreview(ViewConfiguration(name: "main"))
    return (session, try #require(session.firstFeed?.replay?.buffer))
  }

  /// A picture in one grey, which says its code.
  private static func give(_ code: UInt8, at time: CaptureInstant, to buffer: ReplayBuffer, _ size: Size)
    throws
  {
    let frame = try Frame(
      tight: Frame.Format(.grey, size, color: .jfif),
      bytes: [UInt8](repeating: code, count: size.pixelCount), timestamp: time)
    _ = buffer.keep(Capture(frame))
  }

  private static let small = Size(width: 33, height: 21)

  @Test("a clip has each picture once in order of arrival, also if timestamps repeat or go back")
  func once() async throws {
    let (session, buffer) = try Self.session(try Self.source())
    let times = [0, 1, 2, 2, 2, 5, 4, 6, 9].map { Self.time($0) }
    for (code, time) in times.enumerated() {
      let luma = [UInt8](repeating: UInt8(code * 20), count: Self.small.pixelCount)
      let neutral = [UInt8](repeating: 128, count: Self.small.pixelCount)
      let jpeg = try JPEGEncoder(quality: 95).encode(
        Picture(tight: Self.small, format: .ycbcr(.yuv444), bytes: luma + neutral + neutral))
      _ = buffer.keep(Capture(jpeg: jpeg, timestamp: time, SourceOptions(), memory: FramePool()))
    }

    let clip = try session.clip(Self.time(1)...Self.time(6))
    var (codes, found): ([Int], [CaptureInstant]) = ([], [])
    for try await picture in clip.pictures() {
      codes.append((Int(picture.code) + 10) / 20)
      found.append(picture.timestamp)
      #expect(picture.picture.size == Self.small)
    }

    #expect(codes == [1, 2, 3, 4, 5, 6, 7])
    #expect(found == Array(times[1...7]))
    await session.close()
  }

  @Test("a clip leaves out evicted pictures, and writing it throws NotBuffered if none are left")
  func gone() async throws {
    let (session, buffer) = try Self.session(try Self.source(keeping: Replay(.seconds(3))))
    for second in 0..<8 {
      try Self.give(UInt8(second * 20), at: Self.time(Double(second)), to: buffer, Self.small)
    }

    var sequences: [Int] = []
    for try await picture in try session.clip(Self.time(0)...Self.time(6)).pictures() {
      sequences.append(picture.sequence)
    }
    #expect(sequences == [4, 5, 6])
    let before = try session.clip(Self.time(0)...Self.time(1))
    await #expect(throws: NotBuffered.self) { try await before.mp4() }
    await #expect(throws: NotBuffered.self) { try await before.webP() }
    #expect(session.sources.first?.replayStatus?.pictureCount == 4)
    #expect(session.sources.first?.replayStatus?.byteCount == 4 * Self.small.pixelCount)
    #expect(throws: SessionError.self) { try session.clip(Self.time(0)...Self.time(1), of: "other") }
    await session.close()
  }

  @Test("a replacing source shortens the inherited replay buffer only once it has taken over")
  func replaced() async throws {
    var options = PreviewSession.Options.tested(linger: .zero)
    options.replacedCloseWithin = allTheTimeThereIs
    let session = try PreviewSession([try Self.source()], options: options)
    let buffer = try #require(session.firstFeed?.replay?.buffer)
    for second in 0..<8 { try Self.give(0, at: Self.time(Double(second)), to: buffer, Self.small) }

    for isGivenUp in [true, false] {
      var other = try Self.source(keeping: Replay(.seconds(3)))
      (other.name, other.inheritsReplay) = ("other", "camera")
      try session.addSource(other, replacing: ["camera"])
      #expect(session["other"]?.replayStatus?.pictureCount == 8)
      await session.removeSource(isGivenUp ? "other" : "camera")
    }
    await until { session["other"]?.replayStatus?.pictureCount == 4 }
    await session.close()
  }

  @Test("a clip that ends in the future waits for new pictures, and ends when its view changes")
  func toCome() async throws {
    let (session, buffer) = try Self.session(try Self.source())
    let preview = try #require(session.previews.first)
    let now = CaptureClock.now
    try Self.give(0, at: now, to: buffer, Self.small)
    var pictures = try session.clip(now...now + .seconds(3600)).pictures().makeAsyncIterator()
    #expect(try await pictures.next()?.code == 0)

    let giving = Task { try Self.give(100, at: now + .seconds(1), to: buffer, Self.small) }
    #expect(try await pictures.next()?.code == 100)
    try await giving.value

    let changing = Task { preview.view.mirroring = .horizontal }
    #expect(try await pictures.next() == nil)
    await changing.value
    await session.close()
  }

  @Test(
    "a WebP animation reserves its memory in advance, and throws if the budget is exceeded",
    .enabled(if: (try? WebPAnimation.load()) != nil, "no libwebp7"))
  func animation() async throws {
    let (session, buffer) = try Self.session(try Self.source())
    for second in 0..<3 {
      try Self.give(UInt8(second * 80), at: Self.time(Double(second)), to: buffer, Self.small)
    }
    let clip = try session.clip(Self.time(0)...Self.time(3))
    func webP(_ lease: MemoryLease) async throws -> [UInt8] {
      try await clip.webP(framesPerSecond: 1, quality: 75, holding: lease)
    }

    // What the first picture takes, and the head.
    var pictures = clip.pictures().makeAsyncIterator()
    let size = try #require(try await pictures.next()).picture.size
    let working = WebPAnimation.workingBytes(size) + 3 * WebPAnimation(size).byteCount
    let little = MemoryBudget(capacity: working - 1)
    await #expect(throws: MemoryBudget.Exceeded.self) { try await webP(little.reserve(0)) }
    #expect(little.peak == 0)
    let more = MemoryBudget(capacity: working)
    await #expect(throws: MemoryBudget.Exceeded.self) { try await webP(more.reserve(0)) }
    #expect(more.peak == working && more.reserved == 0)

    let enough = MemoryBudget(capacity: 1 << 20)
    let lease = try enough.reserve(0)
    let file = try await webP(lease)
    #expect(lease.byteCount >= file.count && enough.peak > working)
    await session.close()
  }

  @Test("a clip at a reduced rate draws only the pictures that it returns")
  func thinned() async throws {
    let (session, buffer) = try Self.session(try Self.source())
    for number in 0..<30 {
      try Self.give(UInt8(number * 8), at: Self.time(Double(number) / 10), to: buffer, Self.small)
    }
    var sequences: [Int] = []
    let clip = try session.clip(Self.time(0)...Self.time(3))
    for try await picture in clip.pictures(every: .milliseconds(500)) { sequences.append(picture.sequence) }

    #expect(sequences == [0, 5, 10, 15, 20, 25])
    #expect(session.statistics.pictures == 6)
    await session.close()
  }

  // MARK: Decoding

  /// Counts the samples that all decoders together decode.
  private final class CountingDecoder: BufferedDecoder {
    let decoded: Watched<[UInt8]>

    init(_ decoded: Watched<[UInt8]>) { self.decoded = decoded }

    func frame(of samples: [VideoSample]) throws -> Frame {
      for sample in samples { decoded.update { $0.append(sample.bytes[0]) } }
      return try Frame(
        tight: Frame.Format(.grey, Size(width: 1, height: 1), color: .jfif),
        bytes: Array(samples.last?.bytes.prefix(1) ?? []), timestamp: .start)
    }
  }

  private static func sample(_ number: Int) -> VideoSample {
    let format = H264Format(sps: [], pps: [], size: Size(width: 16, height: 16), encoder: nil)
    return VideoSample(
      bytes: [UInt8(truncatingIfNeeded: number)], isKey: number % 250 == 0, timestamp: .start, format: format)
  }

  /// Of groups of 250 pictures.
  private static func path(to number: Int, _ decoded: Watched<[UInt8]>) -> [ReplayBuffer.Entry] {
    (number / 250 * 250...number).map { number in
      ReplayBuffer.Entry(
        sequence: number,
        content: .h264(Self.sample(number)) { CountingDecoder(decoded) },
        timestamp: .start, byteCount: 1)
    }
  }

  @Test("forward decoding through groups of 250 pictures decodes each picture at most once")
  func forward() throws {
    let decoded = Watched<[UInt8]>([])
    let forward = ForwardDecoding()
    for number in stride(from: 40, to: 500, by: 3) {
      for _ in 0..<2 {
        let frame = try forward.frame(Self.path(to: number, decoded))
        #expect(frame.bytes == [UInt8(truncatingIfNeeded: number)])
      }
    }
    // 499 is the last; none of the first group's end is needed.
    #expect(
      decoded.value == Array(0...247).map(UInt8.init) + (250...499).map { UInt8(truncatingIfNeeded: $0) })

    // Back, it begins with the key picture.
    decoded.update { $0 = [] }
    _ = try forward.frame(Self.path(to: 260, decoded))
    #expect(decoded.value.count == 11)
  }

  #if FFmpeg
    private static let codes: [UInt8] = [40, 60, 80, 100, 120, 140, 160, 180]

    /// A session whose camera has sent two groups of four pictures a second apart; the packets.
    private static func withVideo(
      masks: [String] = [], _ work: (PreviewSession, [[UInt8]]) async throws -> Void
    ) async throws {
      let packets = try realPackets(Array(codes[..<4])) + realPackets(Array(codes[4...]))
      let (session, buffer) = try Self.session(try Self.source(masks: masks))
      var passing = StreamPassthrough([], SourceOptions())
      for (number, packet) in packets.enumerated() {
        let verdict = passing.take(
          VideoPacket(bytes: packet, header: nil, mediaTime: nil, isDamaged: false),
          timestamp: Self.time(Double(number)))
        guard case .capture(let capture) = verdict else { throw DamagedCapture("\(verdict)") }
        _ = buffer.keep(capture)
      }
      try await work(session, packets)
      await session.close()
    }

    private static func samples(
      _ session: PreviewSession, from first: Double, to last: Double,
      _ configuration: VideoConfiguration = VideoConfiguration()
    ) async throws -> (samples: [VideoSample], begin: CaptureInstant?) {
      var samples: [VideoSample] = []
      var iterator = try session.clip(time(first)...time(last), configuration).samples.makeAsyncIterator()
      while let sample = try await iterator.next() { samples.append(sample) }
      return (samples, iterator.begin)
    }

    @Test(
      "a clip copies the camera's H.264 from the keyframe on, and an edit list sets its start",
      .enabled(if: hasEncoder))
    func copied() async throws {
      try await Self.withVideo { session, packets in
        let (samples, begin) = try await Self.samples(session, from: 1.5, to: 5.5)

        #expect(
          samples.map(\.annexB)
            == packets[0...5].map { H264Stream($0) }.enumerated().map { number, stream in
              VideoSample(
                bytes: stream.slices, isKey: stream.isKey, timestamp: .start, format: samples[number].format
              ).annexB
            })
        #expect(samples.map(\.timestamp) == (0...5).map { Self.time(Double($0)) })
        #expect(samples.allSatisfy { $0.format.encoder == nil })
        #expect(begin == Self.time(2))
        #expect(session.statistics.decoded == 0 && session.statistics.pictures == 0)

        let file = try await session.clip(Self.time(1.5)...Self.time(5.5)).mp4()
        // Four seconds, from two seconds on.
        let edit =
          Array("elst".utf8) + [0, 0, 0, 0, 0, 0, 0, 1, 0, 5, 0x7e, 0x40, 0, 2, 0xbf, 0x20, 0, 1, 0, 0]
        #expect(file.firstRange(of: edit) != nil)
        let whole = try await session.clip(Self.time(4)...Self.time(5.5)).mp4()
        #expect(whole.firstRange(of: Array("elst".utf8)) == nil)

        let little = MemoryBudget(capacity: 1)
        await #expect(throws: MemoryBudget.Exceeded.self) {
          var samples = try session.clip(Self.time(4)...Self.time(5.5)).samples.makeAsyncIterator()
          let first = try #require(try await samples.next())
          _ = try await Clip.file(first, samples, holding: little.reserve(0))
        }
        #expect(little.reserved == 0)
      }
    }

    @Test(
      "a clip is encoded from its start time if a mask, a bitrate or a crop applies", .enabled(if: hasEncoder)
    )
    func encoded() async throws {
      try await Self.withVideo(masks: ["8x8+0+0"]) { session, _ in
        let (samples, begin) = try await Self.samples(session, from: 1.5, to: 5.5)
        #expect(samples.map(\.timestamp) == (2...5).map { Self.time(Double($0)) })
        #expect(samples.allSatisfy { $0.format.encoder != nil } && samples[0].isKey && begin == Self.time(2))
        var (count, codes) = (0, [Int]())
        for try await picture in try session.clip(Self.time(1.5)...Self.time(5.5)).pictures() {
          let bytes = picture.picture.bytes
          #expect(bytes[0] < 20)
          codes.append(Int(bytes[bytes.count - 4]))
          count += 1
        }
        for (code, expected) in zip(codes, Self.codes[2...5]) {
          #expect(abs(code - (Int(expected) - 16) * 255 / 219) <= 5)
        }
        #expect(count == 4)
      }
      try await Self.withVideo { session, _ in
        let asked = try await Self.samples(session, from: 1.5, to: 5.5, VideoConfiguration(bitrate: 100_000))
        #expect(asked.samples.count == 4 && asked.samples.allSatisfy { $0.format.encoder != nil })
        session.previews[0].view.crop = Rectangle(x: 0, y: 0, width: 32, height: 32)
        let cropped = try await Self.samples(session, from: 1.5, to: 5.5)
        #expect(cropped.samples.count == 4)
        #expect(cropped.samples.allSatisfy { $0.format.size == Size(width: 32, height: 32) })
      }
    }

    @Test(
      "a clip is empty while its view is off, and has no older pictures once it is on again",
      .enabled(if: hasEncoder))
    func hidden() async throws {
      try await Self.withVideo { session, _ in
        for isOn in [false, true] {
          session.previews[0].isEnabled = isOn
          let found = try await Self.samples(session, from: 0, to: 9)
          #expect(found.samples.isEmpty)
        }
      }
    }
  #endif
}

extension ReplayRing where Content == Int {
  fileprivate func numbers(after last: Int) -> [Int] { suffix { $0.content > last }.map(\.content) }
}

@Suite("ReplayRing by sequence number")
struct ReplayRingNumberTests {
  @Test("ReplayRing finds a picture by number with those it depends on, unless they were evicted")
  func numbers() {
    var ring = ReplayRing<Int>(duration: .seconds(30), maximumBytes: 1 << 20)
    for number in 0..<100 {
      ring.put(
        .init(
          content: number * 2, timestamp: CaptureInstant(sinceStart: .seconds(number)), byteCount: 1,
          isKey: number % 10 == 0))
    }
    // From 60 on.
    #expect(ring.numbers(after: 0).first == 120 && ring.numbers(after: 0).count == 40)
    #expect(ring.numbers(after: 197) == [198] && ring.numbers(after: 198).isEmpty)
    #expect(ring.path { $0.content > 146 }.map(\.content) == [140, 142, 144, 146])
    #expect(ring.path { $0.content > 10 }.isEmpty)
    #expect(ring.newest(at: CaptureInstant(sinceStart: .milliseconds(70_500)))?.content == 140)
  }
}
