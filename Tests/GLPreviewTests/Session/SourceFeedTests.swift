// What sources do at a bad moment: while they open, as they close, as somebody comes or goes.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Source opening, closing and failures", .timeLimit(.minutes(15)))
struct SourceFeedTests {
  private static let small = ViewConfiguration(width: 4, height: 3)
  private static let anyAge = SnapshotRequest.patient(.newest(maxAge: allTheTimeThereIs), as: .rgba)

  // MARK: Opening

  @Test("a source that is kept warm and read at the same time is opened once")
  func openedOnce() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    var source = script.source().opening(through: gate)
    source.keepsWarm = true
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)

    async let picture = preview.pictures.first
    await until { await session.waitingCount == 1 && gate.waitingCount > 0 }
    await letOthersGoOn()
    gate.open()
    script.give(7)

    #expect(try await picture?.code == 7)
    #expect(script.opens.count == 1)
    await session.close()
    #expect(!script.isOpen)
  }

  @Test("frames during a camera's warm-up are discarded after each opening")
  func warmup() async throws {
    let script = SourceScript()
    var source = script.source()
    source.warmup = .frames(2)
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)
    for opening: UInt8 in 0..<3 {
      for code in 1...3 { script.give(10 * opening + UInt8(code)) }
      #expect(try await preview.pictures.first?.code == 10 * opening + 3)
      await until { !script.isOpen }
    }
    #expect(script.opens.count == 3)
    await session.close()
  }

  @Test(
    "a warm-up lasts for a number of frames or of seconds",
    arguments: [
      ("0", 0, 0.0, false), ("2", 1, 100, true), ("2", 2, 0, false), ("0s", 0, 0, false),
      ("1.5s", 99, 1.4, true),
      ("1.5s", 1, 1.5, false),
    ])
  func warmupWords(text: String, count: Int, seconds: Double, lasts: Bool) throws {
    let warmup = try Warmup(parsing: text)
    let time = CaptureInstant.start + .seconds(7 + seconds)
    #expect(warmup.lasts(after: count, from: .start + .seconds(7), at: time) == lasts)
  }

  @Test(
    "parsing an invalid warm-up throws ParameterError",
    arguments: ["", "-1", "1.5", "s", "-1s", "xs", "1e99s", "99999999999999999999"])
  func otherWarmups(text: String) { #expect(throws: ParameterError.self) { try Warmup(parsing: text) } }

  @Test("a source closes after opening if its only reader was cancelled meanwhile")
  func goneWhileOpening() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    let session = try PreviewSession(scripted: script.source().opening(through: gate))
    let preview = try session.addPreview(Self.small)
    let reader = Task { try await preview.pictures.first }
    await until { gate.waitingCount == 1 }

    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }

    gate.open()
    await until { script.opens.count == 1 && !script.isOpen }
    await session.close()
  }

  @Test("a larger size requested while a source is opening becomes the source's minimum size")
  func largerWhileOpening() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    let session = try PreviewSession(scripted: script.source(hasSizes: true).opening(through: gate))
    let small = try session.addPreview(Self.small)
    let large = try session.addPreview(ViewConfiguration(name: "large", width: 40, height: 3))
    let one = Task { try await small.pictures.first }
    await until { gate.waitingCount == 1 }
    let other = Task { try await large.pictures.first }
    await until { await session.waitingCount == 2 }

    gate.open()
    await until { script.opens.last?.minimumSize == Size(width: 40, height: 3) }
    script.give(1)

    #expect(try await one.value?.code == 1)
    #expect(try await other.value?.code == 1)
    await session.close()
  }

  @Test("closing a session cancels the opening of sources that never respond")
  func closedWhileOpening() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    var warm = script.source(named: "warm").opening(through: gate)
    warm.keepsWarm = true
    let session = try PreviewSession(scripted: script.source().opening(through: gate), warm)
    let preview = try session.addPreview(Self.small)
    async let picture = preview.pictures.first
    await until { gate.waitingCount == 2 }

    await session.close()

    #expect(try await picture == nil)
    #expect(gate.waitingCount == 0)
    #expect(script.opens.isEmpty)
  }

  @Test("a source that takes longer than opensWithin to open has the state opening until it opens")
  func opensLate() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    var source = script.source().opening(through: gate)
    source.opensWithin = .milliseconds(1)
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next()?.sourceState == .opening)

    gate.open()
    script.give(5)
    #expect(try await frames.next()?.code == 5)
    await session.close()
  }

  // MARK: Closing

  @Test("a snapshot of a lingering source does not keep the source open")
  func snapshotWhileLingering() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(), linger: .milliseconds(300))
    let preview = try session.addPreview(Self.small)
    script.give(1)
    #expect(try await preview.pictures.first?.code == 1)

    // It lingers, or has done so, where the machine is slow.
    await until { await session.firstFeed?.camera.closing != nil || !script.isOpen }
    #expect(try await session.snapshot(Self.anyAge).sequence == 0)
    await until { !script.isOpen }
    await session.close()
  }

  @Test("a snapshot that times out does not keep the source open")
  func snapshotInVain() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    _ = try session.addPreview(Self.small)
    let request = SnapshotRequest(.newest, timeout: .milliseconds(20))
    // On a busy machine its time may be over before the source is asked.
    await until {
      await #expect(throws: SourceError.self) { try await session.snapshot(request) }
      return script.opens.count > 0
    }
    await until { !script.isOpen }
    await session.close()
  }

  @Test("readers of a source that is reopened get its next picture, not the last one from before")
  func reopened() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    script.give(1)
    #expect(try await preview.pictures.first?.code == 1)
    await until { !script.isOpen }

    let first = Task { try await preview.pictures.first?.code }
    await until { script.isOpen }
    let second = Task { try await preview.pictures.first?.code }
    await letOthersGoOn()
    preview.mirroring = .horizontal
    await letOthersGoOn()
    script.give(2)
    #expect(try await first.value == 2)
    #expect(try await second.value == 2)
    await session.close()
  }

  @Test("readers that come during the warm-up of a source that is reopened wait for its end")
  func reopenedWarmup() async throws {
    let script = SourceScript()
    var source = script.source()
    source.warmup = .frames(2)
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)
    for code: UInt8 in 1...3 { script.give(code) }
    #expect(try await preview.pictures.first?.code == 3)
    await until { !script.isOpen }

    let first = Task { try await preview.pictures.first?.code }
    script.give(4)
    // For the fifth: the fourth was of the warm-up.
    await script.asked(5)
    let second = Task { try await preview.pictures.first?.code }
    await letOthersGoOn()
    for code: UInt8 in 5...6 { script.give(code) }
    #expect(try await first.value == 6)
    #expect(try await second.value == 6)
    await session.close()
  }

  @Test("a source is reopened only after it has closed")
  func closedBeforeOpened() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    let session = try PreviewSession(
      scripted: script.source().wrapped { SlowlyClosedSource(source: $0, gate: gate) })
    let preview = try session.addPreview(Self.small)
    script.give(1)
    #expect(try await preview.pictures.first?.code == 1)
    await until { gate.waitingCount == 1 }

    async let next = preview.pictures.first
    await until { await session.waitingCount == 1 }
    await letOthersGoOn()
    #expect(script.opens.count == 1)

    gate.open()
    script.give(2)
    #expect(try await next?.code == 2)
    #expect(script.opens.count == 2)
    await session.close()
  }

  @Test("a second close() of a session also waits until the source has closed")
  func closedTwice() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    let session = try PreviewSession(
      scripted: script.source().wrapped { SlowlyClosedSource(source: $0, gate: gate) })
    let preview = try session.addPreview(Self.small)
    script.give(1)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next()?.code == 1)

    let first = Task { await session.close() }
    await until { gate.waitingCount == 1 }
    let second = Task {
      await session.close()
      return script.isOpen
    }
    await letOthersGoOn()
    gate.open()

    #expect(await second.value == false)
    await first.value
    #expect(try await frames.next() == nil)
  }

  @Test("a frame delivered while a source is switched off is not shown")
  func frameWhileSwitchedOff() async throws {
    let script = SourceScript()
    let late = try #require(SourceScript.frame(99, script.size, 1))
    let session = try PreviewSession(
      scripted: script.source().wrapped { LastFrameSource(source: $0, frame: late) })
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    #expect(try await frames.next()?.code == 1)

    let next = Task { [frames] in
      var frames = frames
      return try await frames.next()
    }
    await until { await session.waitingCount == 1 }

    await session.sources.first?.setEnabled(false)
    #expect(try await next.value?.sourceState == .off)
    await letOthersGoOn()
    #expect(try await session.snapshot(Self.anyAge).sourceState == .off)
    await session.close()
  }

  @Test("a reader of a disabled source gets the next frame after enabling the source and resizing")
  func changedWhileNothingIsThere() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    await session.sources.first?.setEnabled(false)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next()?.sourceState == .off)
    let next = Task { [frames] in
      var frames = frames
      return try await frames.next()
    }
    await until { await session.waitingCount == 1 }

    await session.sources.first?.setEnabled(true)
    preview.preferredSize = Size(width: 6, height: 6)
    await letOthersGoOn()
    script.give(3)

    #expect(try await next.value?.code == 3)
    await session.close()
  }

  @Test("disabling a preview closes its camera, and its reader continues when it is enabled again")
  func disabledWhileWaiting() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    async let picture = preview.pictures.first
    await until { await session.waitingCount == 1 && script.isOpen }

    preview.isEnabled = false
    await until { !script.isOpen }
    preview.isEnabled = true
    script.give(6)

    #expect(try await picture?.code == 6)
    await session.close()
  }

  @Test("a snapshot reopens a source that was lost earlier and shows it live")
  func lostLongAgo() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    script.give(.failure(SourceError(.unavailable, path: "script", reason: "is gone")))
    #expect(try await preview.pictures.first?.sourceState == .lost)
    await until { !script.isOpen }

    script.give(4)
    let snapshot = try await session.snapshot(Self.anyAge)

    #expect(snapshot.sourceState == .live)
    await session.close()
  }

  // MARK: Failures

  @Test("a failed frame shows a fallback, and the next frame is shown")
  func oneFailure() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()

    script.give(.failure(SourceError(.badRequest, path: "script", reason: "masks are for another shape")))
    #expect(try await frames.next()?.sourceState == .lost)

    script.give(8)
    #expect(try await frames.next()?.code == 8)
    await session.close()
  }

  @Test("a source that failed to open is retried for snapshots without any reader")
  func snapshotsAlone() async throws {
    let script = SourceScript()
    script.refuse(SourceError(.unavailable, path: "script", reason: "is away"))
    var source = script.source()
    source.showsFailures = true
    let session = try PreviewSession(scripted: source)
    _ = try session.addPreview(Self.small)
    // A frame of the script is as old as its giving.
    let request = SnapshotRequest.patient(.newest(maxAge: allTheTimeThereIs), as: .rgba)
    #expect(try await session.snapshot(request).sourceState == .lost)

    script.refuse(nil)
    script.give(8)
    try await until { try await session.snapshot(request).sourceState == .live }
    await session.close()
  }

  @Test(
    "a failing source is retried only after failurePause, and its reader ends on close()",
    arguments: [Duration.milliseconds(1), allTheTimeThereIs])
  func failsAlways(pause: Duration) async throws {
    let failing = FailingSource()
    var source = SourceScript().source().wrapped { _ in failing }
    source.failurePause = pause
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next()?.sourceState == .lost)

    let next = Task { [frames] in
      var frames = frames
      return try await frames.next()
    }
    if pause == allTheTimeThereIs {
      for _ in 0..<100 { await letOthersGoOn() }
      #expect(failing.count == 1)
    } else {
      await until { failing.count > 10 }
    }

    await session.close()
    #expect(try await next.value == nil)
  }

  @Test("frames that do not match the masks show a fallback, and a snapshot throws an error")
  func masksOfAnotherShape() async throws {
    let device = ScriptedDevice(.picture(10), .picture(20), .picture(30))
    var options = SourceOptions()
    options.live = .patient()
    options.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 50, height: 5)))]
    options.referenceSize = Size(width: 100, height: 10)
    let source = SessionSource(
      name: "camera", options: options,
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()

    #expect(try await frames.next()?.sourceState == .lost)
    let request = SnapshotRequest.patient(.newest, as: .rgba, fallback: .error)
    let error = await #expect(throws: SourceError.self) { try await session.snapshot(request) }
    #expect(error?.reason.contains("masks") == true)
    await session.close()
  }

  @Test("a still of a masked camera has the size of its live frames, not the larger still size")
  func stillWithMasks() async throws {
    let script = SourceScript(stillSize: Size(width: 32, height: 12))
    let open = script.source(hasSizes: true).origin.open
    var options = SourceOptions()
    options.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 4, height: 6)))]
    let source = SessionSource(
      name: "camera", options: options,
      SessionSource.Origin(isLive: true, hasSizes: true) { options in
        MaskedSource(try await open(options), options)
      })
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(ViewConfiguration())
    var frames = preview.pictures.makeAsyncIterator()

    script.give(90)
    let picture = try #require(try await frames.next()).picture
    #expect(picture.bytes[0] == 0 && picture.bytes[4 * 7] == 90)

    async let still = session.snapshot(SnapshotRequest.patient(.still, as: .rgba))
    await until { await session.waitingCount == 1 }
    script.give(91)
    let taken = try #require(try await still["main"]).picture
    #expect(taken.size == script.size && taken.bytes[0] == 0 && taken.bytes[4 * 7] == 91)
    #expect(script.opens == [SourceOptions.Demand(isPinned: true)])

    await session.close()
    #expect(!script.isOpen)
  }

  // MARK: Ends

  @Test("a still image is delivered once to each reader and to every snapshot")
  func still() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(isLive: false))
    let preview = try session.addPreview(Self.small)

    for code: UInt8 in [1, 2] {
      script.give(code)
      script.give(.success(nil))
      var codes: [UInt8] = []
      for try await frame in preview.pictures { codes.append(frame.code) }
      #expect(codes == [code])
      await until { !script.isOpen }
    }

    var frames = preview.pictures.makeAsyncIterator()
    script.give(3)
    #expect(try await frames.next()?.code == 3)
    for mode in [SnapshotRequest.Mode.newest(maxAge: .zero), .next, .newest] {
      script.give(.success(nil))
      let snapshot = try await session.snapshot(SnapshotRequest.patient(mode, as: .rgba))
      #expect(snapshot["main"]?.picture.bytes[0] == 3)
    }
    await session.close()
  }
}
