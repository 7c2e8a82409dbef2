// Snapshots of earlier moments, of a camera whose pictures are kept.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("Snapshots and bursts from the replay buffer", .timeLimit(.minutes(15)))
struct ReplayTests {
  private static let size = Size(width: 16, height: 16)
  /// As much as any test gives.
  private static let all = Replay(.seconds(3600), maximumBytes: 1 << 40)

  /// A JPEG in one grey.
  private static func jpeg(_ code: UInt8) throws -> [UInt8] {
    let grey = [UInt8](repeating: code, count: size.pixelCount)
    let neutral = [UInt8](repeating: 128, count: size.pixelCount)
    return try JPEGEncoder(quality: 95).encode(
      Picture(tight: size, format: .ycbcr(.yuv444), bytes: grey + neutral + neutral))
  }

  private static func source(
    _ device: ScriptedDevice, named name: String = "camera", keeping replay: Replay = all,
    masks: [String] = [], warmup: Warmup = .none
  ) throws -> SessionSource {
    var options = SourceOptions()
    options.live = .patient()
    options.masks = try masks.map { try PrivacyMask(parsing: $0) }
    var source = SessionSource(
      name: name, options: options,
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
    source.opensWithin = allTheTimeThereIs
    source.replay = replay
    source.warmup = warmup
    return source
  }

  private static func session(_ source: SessionSource) throws -> PreviewSession {
    let session = try PreviewSession(scripted: source)
    _ = try session.addPreview(ViewConfiguration(name: "main"))
    return session
  }

  private static func at(_ time: CaptureInstant) -> SnapshotRequest { .patient(.at(time), as: .rgba) }

  /// The numbers and codes of all kept pictures, the newest first.
  private static func all(of session: PreviewSession) async throws -> [(sequence: Int, code: UInt8)] {
    var found: [(Int, UInt8)] = []
    var time = CaptureClock.now
    while true {
      do {
        let snapshot = try await session.snapshot(at(time))
        #expect(snapshot.timestamp <= time && snapshot.sourceState == .live)
        found.append((snapshot.sequence, snapshot.pictures[0].code))
        time = snapshot.timestamp - .nanoseconds(1)
      } catch is NotBuffered {
        return found
      }
    }
  }

  @Test("every JPEG captured without a reader is found in the replay buffer by its time")
  func counter() async throws {
    let codes = (0..<20).map { UInt8($0 * 10 + 20) }
    let device = ScriptedDevice([.success(try codes.map { .jpeg(try Self.jpeg($0)) })])
    let session = try Self.session(Self.source(device))
    await device.requested(codes.count + 1)

    let all = try await Self.all(of: session)

    #expect(all.map(\.sequence) == Array((0..<20).reversed()))
    for (picture, code) in zip(all, codes.reversed()) {
      #expect(abs(Int(picture.code) - Int(code)) <= 2)
    }
    #expect(session.statistics.frames == 0)
    let kept = try #require(session.sources.first?.bufferedTimes)
    #expect(kept.lowerBound < kept.upperBound)
    await session.close()
  }

  @Test("raw frames are buffered, up to the byte limit")
  func raw() async throws {
    let acts = (0..<20).map { CameraAct.picture(UInt8($0)) }
    let (all, few) = (ScriptedDevice([.success(acts)]), ScriptedDevice([.success(acts)]))
    let session = try Self.session(Self.source(all))
    await all.requested(acts.count + 1)
    #expect(try await Self.all(of: session).map(\.code) == Array((0..<20).reversed()))
    await session.close()

    // Four bytes a picture: one a half of an hour.
    let other = try Self.session(Self.source(few, keeping: Replay(.seconds(3600), maximumBytes: 8)))
    await few.requested(acts.count + 1)
    #expect(try await Self.all(of: other).map(\.code) == [0])
    await other.close()
  }

  @Test("buffered pictures keep their live sequence numbers across gaps and reconnects")
  func numbers() async throws {
    let device = ScriptedDevice([
      .success([.picture(1), .picture(2, skipped: 3), .lost("cable")]), .success([.picture(3)]),
    ])
    let session = try Self.session(Self.source(device))
    await device.requested(5)

    let live = try await session.snapshot(.patient(.newest(maxAge: .seconds(3600)), as: .rgba))
    let all = try await Self.all(of: session)

    #expect(live.pictures[0].code == 3 && live.sequence == 5)
    #expect(all.map(\.sequence) == [5, 4, 0] && all.map(\.code) == [3, 2, 1])
    await session.close()
  }

  @Test("buffered pictures survive the loss of the camera, and are deleted when it is disabled")
  func lost() async throws {
    let device = ScriptedDevice([.success([.picture(1), .picture(2), .lost("cable")])])
    let session = try Self.session(Self.source(device))
    await device.requested(3)
    for await _ in device.closes { break }

    #expect(try await Self.all(of: session).map(\.code) == [2, 1])
    await session.sources.first?.setEnabled(false)
    #expect(try await Self.all(of: session).isEmpty && session.sources.first?.bufferedTimes == nil)
    await session.close()
  }

  @Test("a snapshot of the past skips damaged and unreadable pictures")
  func damaged() async throws {
    let device = ScriptedDevice(
      .jpeg(try Self.jpeg(40)), .jpeg(try Self.jpeg(80), isDamaged: true), .unreadable)
    let session = try Self.session(Self.source(device))
    await device.requested(4)

    let snapshot = try await session.snapshot(Self.at(CaptureClock.now))

    #expect(snapshot.sequence == 0 && abs(Int(snapshot.pictures[0].code) - 40) <= 2)
    await session.close()
  }

  @Test("pictures from the camera's warmup are not buffered")
  func warmup() async throws {
    let device = ScriptedDevice(.picture(1), .picture(2), .picture(3), .picture(4))
    let session = try Self.session(Self.source(device, warmup: .frames(2)))
    await device.requested(5)

    #expect(try await Self.all(of: session).map(\.code) == [4, 3])
    await session.close()
  }

  @Test(
    "masks of a replacing source apply to older buffered pictures until they are removed",
    arguments: [false, true])
  func masks(areJPEGs: Bool) async throws {
    let act = areJPEGs ? CameraAct.jpeg(try Self.jpeg(200)) : .picture(200)
    let devices = [ScriptedDevice(act, act), ScriptedDevice(), ScriptedDevice()]
    let session = try Self.session(Self.source(devices[0]))
    await devices[0].requested(3)
    let open = try await session.snapshot(Self.at(CaptureClock.now))
    #expect(open.pictures[0].code > 190)

    for (name, before, masks, isHidden) in [("b", "camera", ["1x1+0+0"], true), ("c", "b", [], false)] {
      var source = try Self.source(devices[isHidden ? 1 : 2], named: name, masks: masks)
      source.options.referenceSize = areJPEGs ? Self.size : Size(width: 2, height: 2)
      source.inheritsReplay = before
      try session.addSource(source, replacing: [before])
      _ = try session.addPreview(ViewConfiguration(name: name), of: name)
      await session.removeSource(before)
      var request = Self.at(CaptureClock.now)
      request.previews = [name]
      let snapshot = try await session.snapshot(request)

      #expect((snapshot.pictures[0].code < 60) == isHidden)
      #expect(snapshot.pictures[0].picture.bytes[snapshot.pictures[0].picture.bytes.count - 4] > 190)
      #expect(snapshot.sequence == 1)
    }
    await session.close()
  }

  @Test("a buffered picture is not shown while its masks can't be placed without a reference size")
  func unplaced() async throws {
    let device = ScriptedDevice(.picture(200))
    let session = try Self.session(Self.source(device))
    await device.requested(2)
    let other = ScriptedDevice([.failure(SourceError(.unavailable, path: "camera", reason: "gone"))])
    var source = try Self.source(other, named: "b", masks: ["1x1+0+0"])
    source.inheritsReplay = "camera"
    try session.addSource(source, replacing: ["camera"])
    _ = try session.addPreview(ViewConfiguration(name: "b"), of: "b")
    await session.removeSource("camera")
    var request = Self.at(CaptureClock.now)
    request.previews = ["b"]

    await #expect(throws: SourceError.self) { try await session.snapshot(request) }
    await session.close()
  }

  enum Asking: CaseIterable { case moment, sharpest, clip }

  @Test(
    "crops of buffered pictures wait for the reference size, and throw if the camera is lost",
    arguments: Asking.allCases,
    [false, true])
  func croppedBefore(_ asking: Asking, isLost: Bool) async throws {
    let half = Size(width: Self.size.width / 2, height: Self.size.height / 2)
    let device = ScriptedDevice(.jpeg(try Self.jpeg(200)))
    let session = try Self.session(Self.source(device))
    await device.requested(2)
    // The camera is smaller now, or gone.
    let small = Picture(
      tight: half, format: .ycbcr(.yuv444), bytes: [UInt8](repeating: 128, count: 3 * half.pixelCount))
    let other =
      isLost
      ? ScriptedDevice([.failure(SourceError(.unavailable, path: "camera", reason: "gone"))])
      : ScriptedDevice(.jpeg(try JPEGEncoder(quality: 95).encode(small)))
    var source = try Self.source(other, named: "b")
    source.inheritsReplay = "camera"
    let before = CaptureClock.now
    try session.addSource(source, replacing: ["camera"])
    let view = ViewConfiguration(name: "b", crop: Rectangle(x: 2, y: 2, width: 4, height: 4))
    _ = try session.addPreview(view, of: "b")
    await session.removeSource("camera")

    let pictures = Task {
      switch asking {
      case .moment: try await session.snapshot(.patient(.at(before), of: ["b"], as: .rgba)).pictures
      case .sharpest:
        try await session.snapshot(.patient(.sharpest(before - .seconds(3000)...before), of: ["b"])).pictures
      case .clip:
        try await session.clip(before - .seconds(3000)...before, of: "b").pictures().reduce(into: []) {
          $0.append($1)
        }
      }
    }
    if isLost {
      await #expect(throws: SourceError.self) { try await pictures.value }
    } else {
      #expect(try await pictures.value.map(\.picture.size) == [half])
    }
    await session.close()
  }

  @Test("a burst returns a picture once that is the newest at several times; its times are evenly spaced")
  func burst() async throws {
    let device = ScriptedDevice([.success((0..<4).map { .picture(UInt8($0)) })])
    let session = try Self.session(Self.source(device))
    await device.requested(5)

    let few = try await session.snapshots(before: .seconds(3000), count: 3, Self.at(.now))

    #expect(few.map(\.sequence) == [3])
    let times = [CaptureInstant](before: CaptureInstant(sinceStart: .seconds(10)), .seconds(4), count: 3)
    #expect(times.map(\.sinceStart) == [.seconds(6), .seconds(8), .seconds(10)])
    await session.close()
  }

  @Test("a trigger captures from the replay buffer, and fails with NotBuffered if that is empty")
  func trigger() async throws {
    let device = ScriptedDevice(.picture(7))
    let session = try Self.session(Self.source(device))
    await device.requested(2)
    let (trigger, results) = (SnapshotTrigger(), AsyncStream.makeStream(of: Result<Int, any Error>.self))
    session.attach(trigger, Self.at(.now)) { result in
      results.continuation.yield(result.map(\.sequence))
    }
    var told = results.stream.makeAsyncIterator()

    trigger.capture(before: .seconds(60), count: 4)
    #expect(try await told.next()?.get() == 0)

    await session.sources.first?.setEnabled(false)
    trigger.capture(before: .seconds(60), count: 4)
    let failure = try #require(await told.next())
    #expect(throws: NotBuffered.self) { try failure.get() }
    await session.close()
  }

  /// A picture with an edge that is so wide.
  private static func edge(_ width: Int) throws -> [UInt8] {
    let luma = (0..<size.pixelCount).map { place in
      UInt8(min(max((place % size.width - 8) * 200 / width + 128, 20), 235))
    }
    let neutral = [UInt8](repeating: 128, count: size.pixelCount)
    return try JPEGEncoder(quality: 95).encode(
      Picture(tight: size, format: .ycbcr(.yuv444), bytes: luma + neutral + neutral))
  }

  @Test("a sharpest-frame snapshot picks the frame with the sharpest edge in its time range")
  func sharpest() async throws {
    let device = ScriptedDevice([.success(try [1, 8, 6, 2, 7, 9].map { .jpeg(try Self.edge($0)) })])
    let session = try Self.session(Self.source(device))
    await device.requested(7)
    let first = try #require(try await session.snapshot(Self.at(.now), before: 5))

    let best = try await session.snapshot(.patient(.sharpest(.now - .seconds(3000) ... .now), as: .rgba))
    let later = try await session.snapshot(
      .patient(.sharpest(first + .nanoseconds(1) ... .now), as: .rgba))

    #expect(best.sequence == 0 && best.timestamp == first)
    #expect(later.sequence == 3)
    await #expect(throws: NotBuffered.self) {
      try await session.snapshot(.patient(.sharpest(first - .seconds(9)...first - .seconds(8))))
    }
    await session.close()
  }

  @Test("a flat picture has a sharpness of 0, and a single dot the expected value", arguments: [0, 10])
  func sharpness(dot: Int) {
    var luma = [UInt8](repeating: 50, count: 25)
    luma[12] += UInt8(dot)
    let picture = Picture(
      tight: Size(width: 5, height: 5), format: .ycbcr(.yuv444),
      bytes: luma + [UInt8](repeating: 128, count: 50))
    // 40, four times -10, and four zeroes.
    #expect(abs(picture.sharpness - Double(dot * dot) * 20 / 9) < 1e-9)
  }

  @Test("200 concurrent snapshots of a buffered pattern each return the frame at their time")
  func pattern() async throws {
    var source = SessionSource("pattern:counter,size=64x36,fps=100")
    source.replay = Self.all
    let session = try Self.session(source)
    let feed = try #require(session.firstFeed)
    await until {
      feed.replay?.buffer.path(to: CaptureClock.now).last.map { $0.sequence >= 10 } ?? false
    }
    var times: [Int: CaptureInstant] = [:]
    var time = CaptureClock.now
    while let last = feed.replay?.buffer.path(to: time).last {
      times[last.sequence] = last.timestamp
      time = last.timestamp - .nanoseconds(1)
    }
    let expected = times

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let sequence = number % expected.count
          let snapshot = try await session.snapshot(Self.at(try #require(expected[sequence])))
          #expect(snapshot.sequence == sequence)
          #expect(snapshot.timestamp == expected[sequence])
        }
      }
      try await group.waitForAll()
    }
    await session.close()
  }

  #if FFmpeg
    @Test(
      "H.264 is buffered undecoded, and decoded for snapshots with the masks applied",
      .enabled(if: hasEncoder), arguments: [[], ["8x8+0+0"]])
    func video(masks: [String]) async throws {
      let codes: [UInt8] = [40, 60, 80, 100, 120, 140, 160, 180]
      let packets = try realPackets(Array(codes[..<5])) + realPackets(Array(codes[5...]))
      let device = ScriptedDevice([.success(packets.map { .packet($0) })])
      var source = try Self.source(device, masks: masks)
      source.options.referenceSize = Size(width: 64, height: 48)
      let session = try Self.session(source)
      await device.requested(packets.count + 1)
      #expect(session.firstFeed?.replay?.buffer.byteCount ?? 0 > 0)

      var time = CaptureClock.now
      for (sequence, code) in zip(codes.indices, codes).reversed() {
        let snapshot = try await session.snapshot(Self.at(time))
        let pixels = snapshot.pictures[0].picture.bytes
        #expect(snapshot.sequence == sequence)
        // Luma of limited range.
        #expect(abs(Int(pixels[pixels.count - 4]) - (Int(code) - 16) * 255 / 219) <= 5)
        #expect((pixels[0] < 20) == !masks.isEmpty)
        time = snapshot.timestamp - .nanoseconds(1)
      }
      #expect(session.statistics.decoded == 0)
      await session.close()
    }
  #endif

  @Test("nothing is buffered by default, and a replay buffer uses at most half of the memory budget")
  func nothing() async throws {
    let script = SourceScript()
    let session = try Self.session(script.source())
    await #expect(throws: NotBuffered.self) { try await session.snapshot(Self.at(.now)) }
    #expect(session.sources.first?.bufferedTimes == nil)
    await session.close()

    let buffer = ReplayBuffer(Replay(.seconds(10)), budget: MemoryBudget(capacity: 4 << 20))
    for second in 0..<8 {
      let frame = try #require(SourceScript.frame(0, Size(width: 800, height: 500), 0))
      _ = buffer.keep(
        Capture(frame.with(timestamp: CaptureInstant(sinceStart: .seconds(second)))))
    }
    // Half of it, for others draw with the rest.
    #expect(buffer.byteCount == 2_000_000)
    #expect(buffer.path(to: .now).last?.sequence == 7)
  }
}

extension PreviewSession {
  /// The time of the picture that came `count` before the one of a request.
  fileprivate func snapshot(_ request: SnapshotRequest, before count: Int) async throws -> CaptureInstant? {
    var (request, time) = (request, CaptureInstant?.none)
    for _ in 0...count {
      let snapshot = try await snapshot(request)
      time = snapshot.timestamp
      request.mode = .at(snapshot.timestamp - .nanoseconds(1))
    }
    return time
  }
}
