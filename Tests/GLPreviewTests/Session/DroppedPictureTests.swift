// What counts as dropped: what somebody would have shown.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Dropped pictures", .timeLimit(.minutes(15)))
struct DroppedPictureTests {
  private let device = ScriptedDevice(.picture(0))
  private let session: PreviewSession

  init() throws {
    let device = device
    var source = SessionSource(
      name: "camera",
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
    source.opensWithin = allTheTimeThereIs
    source.options.live = .patient()
    source.replay = Replay(.seconds(3600), maximumBytes: 1 << 20)
    session = try PreviewSession([source], options: .tested(linger: .zero))
  }

  /// Plays pictures until there are `count`, the last of which is delivered, and returns how many were dropped.
  private func dropped(of count: Int, already: Int = 1) async throws -> Int {
    for code in already..<count { device.playWhenOpen(.picture(UInt8(code))) }
    await device.requested(count + 1)
    await until { await session.sources.first?.status?.counters.received == count }
    return try #require(await session.sources.first?.status).counters.dropped
  }

  @Test("a camera that only fills its replay buffer drops no pictures")
  func kept() async throws {
    _ = try session.addPreview()

    #expect(try await dropped(of: 10) == 0)

    #expect(session["camera"]?.replayStatus?.pictureCount ?? 0 > 0)
    await session.close()
  }

  @Test("replaced pictures count as dropped only while a reader reads every picture")
  func read() async throws {
    var frames: PreviewPictures.Iterator? = try session.addPreview().pictures.makeAsyncIterator()
    #expect(try await frames?.next()?.sequence == 0)
    // The last one is there to be read.
    #expect(try await dropped(of: 5) == 3)

    frames = nil

    #expect(try await dropped(of: 9, already: 5) == 3)
    await session.close()
  }

  @Test("a reader with an update interval causes no dropped pictures")
  func paced() async throws {
    let preview = try session.addPreview(updateEvery: allTheTimeThereIs)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next()?.sequence == 0)
    #expect(try await dropped(of: 5) == 0)
    await session.close()
  }
}
