// The engine of live sources, over a camera that does what is said.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("LiveSource", .timeLimit(.minutes(15)))
struct LiveSourceTests {
  private let lost = SourceError(.unavailable, path: "camera", reason: "was unplugged")
  private let everything = LiveOptions.Delivery.every(maximumBytes: 1 << 20)

  @Test("a slow reader gets the newest frame, and dropped frames are counted")
  func newest() async throws {
    let device = ScriptedDevice(.picture(1), .picture(2), .picture(3))
    let source = LiveSource(device)
    await device.requested(4)
    let frame = try #require(try await source.nextFrame())
    #expect(frame.code == 3)
    #expect(frame.sequence == 2)
    #expect(source.status.counters.dropped == 2)
    await source.close()
  }

  @Test("each frame is delivered once")
  func once() async throws {
    let device = ScriptedDevice(.picture(1))
    let source = LiveSource(device)
    #expect(try await source.nextFrame()?.code == 1)
    async let next = source.nextFrame()
    device.play(.picture(2))
    #expect(try await next?.code == 2)
    await source.close()
  }

  @Test("with `.every` delivery, all frames are delivered although the buffer holds only two")
  func every() async throws {
    // Room for two frames of four bytes.
    let device = ScriptedDevice(.picture(0), .picture(1), .picture(2), .picture(3), .picture(4), .end)
    let source = LiveSource(device, .patient(.every(maximumBytes: 8)))
    var codes: [UInt8?] = []
    while let frame = try await source.nextFrame() { codes.append(frame.code) }
    #expect(codes == [0, 1, 2, 3, 4])
    #expect(source.status.counters.dropped == 0)
    #expect(source.status.state == .idle)
  }

  @Test("frames that the camera skipped leave gaps in the sequence numbers")
  func gaps() async throws {
    let device = ScriptedDevice(.picture(1), .picture(2, skipped: 3), .end)
    let source = LiveSource(device, .patient(everything))
    #expect(try await source.nextFrame()?.sequence == 0)
    #expect(try await source.nextFrame()?.sequence == 4)
    #expect(source.status.counters.missed == 3)
    #expect(source.status.counters.received == 2)
    await source.close()
  }

  @Test("a frame can be requested by sequence number or capture time")
  func bounds() async throws {
    let device = ScriptedDevice(.picture(0), .picture(1), .picture(2))
    let source = LiveSource(device, .patient(everything))
    #expect(try await source.nextFrame(from: 1)?.code == 1)

    let now = CaptureClock.now
    async let next = source.nextFrame(from: 0, capturedAt: now)
    device.play(.picture(9))
    let code = try await next?.code

    // 2 only where it had not come when the clock was read.
    #expect(code == 9 || code == 2)
    await source.close()
  }

  @Test("damaged frames are counted and skipped")
  func damaged() async throws {
    let device = ScriptedDevice(.damaged, .unreadable, .picture(7), .end)
    let source = LiveSource(device, .patient(everything))
    #expect(try await source.nextFrame()?.code == 7)
    #expect(try await source.nextFrame() == nil)
    #expect(source.status.counters.received == 3)
    #expect(source.status.counters.damaged == 2)
    #expect(source.status.lastDamage == "JPEG is damaged")
  }

  @Test("a lost camera is reconnected, and its sequence numbers continue")
  func reconnecting() async throws {
    let device = ScriptedDevice([.success([]), .failure(lost), .failure(lost), .success([.picture(2)])])
    let source = LiveSource(device, .patient(everything))
    // Read meanwhile: only the last few are kept for who does not read.
    let states = Task { [states = source.statuses] in
      var seen: [SourceState] = []
      for await status in states where seen.last != status.state { seen.append(status.state) }
      return seen
    }
    device.playWhenOpen(.picture(1), .lost("was unplugged"))

    #expect(try await source.nextFrame()?.code == 1)
    let second = try #require(try await source.nextFrame())
    #expect(second.code == 2)
    #expect(second.sequence == 1)
    #expect(source.status.state == .live)
    #expect(source.status.counters.reconnections == 1)
    #expect(device.counts.attempts == 4)

    await source.close()
    #expect(await states.value == [.opening, .live, .lost, .live, .idle])
    #expect(device.counts.open == 2)
    await until { device.counts.closed == 2 }
  }

  @Test("a source with givesUpAfter zero throws if the camera can't be opened")
  func impatient() async throws {
    let source = LiveSource(ScriptedDevice([.failure(lost)]), .patient(givesUpAfter: .zero))
    await #expect(throws: lost) { try await source.nextFrame() }
    #expect(source.status.state == .lost)
    #expect(source.status.reason == "was unplugged")
    // And stays one.
    await #expect(throws: lost) { try await source.nextFrame() }
  }

  @Test("frames received before the connection was lost are delivered before the error")
  func inOrder() async throws {
    let device = ScriptedDevice(.picture(1), .picture(2), .lost("was unplugged"))
    let source = LiveSource(device, .patient(everything, givesUpAfter: .zero))
    #expect(try await source.nextFrame()?.code == 1)
    #expect(try await source.nextFrame()?.code == 2)
    await #expect(throws: lost) { try await source.nextFrame() }
  }

  @Test("a silent camera is stalled until its next frame")
  func stalling() async throws {
    let device = ScriptedDevice(.picture(1))
    let source = LiveSource(device, .patient(stallsAfter: .milliseconds(10)))
    // What changes between two looks is not missed: both are of one stream.
    let statuses = source.statuses

    let status = try #require(await statuses.first { $0.state == .stalled })
    #expect(status.reason == "no picture for 0.01 s")

    device.play(.picture(2))
    _ = try #require(await statuses.first { $0.state == .live })
    #expect(device.counts.attempts == 1)
    await source.close()
  }

  @Test("a camera that stays silent is reconnected")
  func silence() async throws {
    // Each connection has one picture, if that comes soon enough.
    let device = ScriptedDevice([.success([.picture(1)])], isEndless: true)
    let source = LiveSource(
      device, .patient(everything, stallsAfter: .milliseconds(5), reconnectsAfter: .milliseconds(10)))
    for _ in 0..<3 { #expect(try await source.nextFrame()?.code == 1) }
    #expect(source.status.counters.reconnections >= 2)
    await source.close()
    await until { device.counts.closed == device.counts.open }
  }

  @Test("a connection attempt that takes too long times out")
  func connecting() async throws {
    let source = LiveSource(
      ScriptedDevice([]), LiveOptions(connectsWithin: .milliseconds(20), givesUpAfter: .zero))
    await #expect(throws: SourceError(.unavailable, path: "camera", reason: "no connection within 0.02 s")) {
      try await source.nextFrame()
    }
  }

  @Test("closing a source ends its readers in every state and closes the connection")
  func closing() async throws {
    let devices = [
      ScriptedDevice([]),
      ScriptedDevice(.picture(1)),
      ScriptedDevice([.success([.picture(1), .lost("was unplugged")])]),
      ScriptedDevice([.failure(lost), .failure(lost)], longestPause: .seconds(100)),
    ]

    for device in devices {
      let source = LiveSource(device)
      _ = source.statuses
      async let frame: Frame? = {
        while try await source.nextFrame() != nil {}; return nil
      }()

      await source.close()
      #expect(try await frame == nil)
      #expect(source.status.state == .idle)
      await until { device.counts.closed == device.counts.open }
      await source.close()
    }
  }

  @Test("a source without references closes its device")
  func dropping() async throws {
    let device = ScriptedDevice(.picture(1))
    var source: LiveSource? = LiveSource(device)
    let states = try #require(source?.statuses)
    _ = try await source?.nextFrame()
    source = nil
    for await _ in states {}
    for await _ in device.closes { break }
    #expect(device.counts.closed == device.counts.open)
  }

  @Test("a waiting reader can be cancelled, and the next frame is not lost")
  func cancelling() async throws {
    let device = ScriptedDevice(.picture(1))
    let source = LiveSource(device)
    _ = try await source.nextFrame()
    let waiting = Task { try await source.nextFrame() }

    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }

    device.play(.picture(2))
    #expect(try await source.nextFrame()?.code == 2)
    await source.close()
  }

  @Test("a source that waits for buffer space does not stall or reconnect, and can be closed")
  func held() async throws {
    let device = ScriptedDevice([.success([.picture(0), .picture(1), .picture(2)])], isEndless: true)
    let silent = ScriptedDevice([.success([])], isEndless: true)
    func source(_ device: ScriptedDevice) -> LiveSource {
      LiveSource(
        device,
        .patient(.every(maximumBytes: 4), stallsAfter: .milliseconds(5), reconnectsAfter: .milliseconds(10)))
    }

    let held = source(device)
    await until { held.isHeld }
    let (attempts, state) = (device.counts.attempts, held.status.state)

    // One that nobody holds is connected anew again and again meanwhile.
    let other = source(silent)
    await until { silent.counts.attempts > 5 }

    #expect(device.counts.attempts == attempts)
    #expect(held.status.state == state)
    await held.close()
    await other.close()
    await until { device.counts.closed == device.counts.open }
  }

  @Test("a live source can't be rewound")
  func rewinding() async {
    let source = LiveSource(ScriptedDevice(.picture(1)))
    #expect(throws: SourceError.self) { try source.rewind() }
    await source.close()
  }
}
