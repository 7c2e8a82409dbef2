// What readers see of a camera that goes away and comes back: a fallback at once, and then the camera again.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Fallbacks of lost and disabled cameras", .timeLimit(.minutes(15)))
struct FallbackSessionTests {
  private static func source(_ device: ScriptedDevice, named name: String = "camera") -> SessionSource {
    var source = SessionSource(
      name: name,
      SessionSource.Origin(isLive: true, hasSizes: false) { _ in LiveSource(device) })
    source.opensWithin = allTheTimeThereIs
    return source
  }

  private static let view = ViewConfiguration(width: 32, height: 18)

  @Test("a lost camera is replaced by its fallback, and is shown again once it reconnects")
  func lost() async throws {
    let device = ScriptedDevice([.success([.picture(50)]), .success([])])
    let session = try PreviewSession(scripted: Self.source(device))
    let preview = try session.addPreview(Self.view)
    var frames = preview.pictures.makeAsyncIterator()

    let live = try #require(try await frames.next())
    #expect(live.sourceState == .live)
    #expect(live.code == 50)

    // It is lost once that has been seen: before, its fallback may be what is seen first.
    device.play(.lost("unplugged"))
    let fallback = try #require(try await frames.next())
    #expect(fallback.sourceState == .lost)
    #expect(fallback.picture.size == Size(width: 32, height: 18))
    #expect(fallback.picture != live.picture)

    // Two connections have asked for three pictures when the second one waits for its first.
    await device.requested(3)
    device.play(.picture(90))
    let back = try #require(try await frames.next())
    #expect(back.sourceState == .live)
    #expect(back.code == 90)
    #expect(back.sequence > live.sequence)
    await session.close()
  }

  @Test(
    "a lost camera that is closed for another size is opened again by the next request, which gets its fallback"
  )
  func resized() async throws {
    let devices = [ScriptedDevice(.picture(50)), ScriptedDevice(.picture(90))]
    let opens = Mutex(0)
    var source = SessionSource(
      name: "camera",
      SessionSource.Origin(isLive: true, hasSizes: true) { _ in
        LiveSource(
          devices[
            opens.withLock { count in
              count += 1
              return min(count, devices.count) - 1
            }])
      })
    source.opensWithin = allTheTimeThereIs
    let session = try PreviewSession(scripted: source)
    let small = try session.addPreview(Self.view)
    let large = try session.addPreview(ViewConfiguration(name: "large", width: 64, height: 36))
    var frames = small.pictures.makeAsyncIterator()
    _ = try await frames.next()
    devices[0].play(.lost("unplugged"))
    #expect(try await frames.next()?.sourceState == .lost)

    var others = large.pictures.makeAsyncIterator()
    #expect(try await others.next()?.sourceState == .lost)
    await until { session.statistics.closes == 1 }
    // Both have what is shown, and do not ask for more.
    #expect(try await small.pictures.first?.sourceState == .lost)
    try await until { try await small.pictures.first?.code == 90 }
    await session.close()
  }

  @Test("a camera lost before its last picture is drawn is eventually shown as lost")
  func lostBefore() async throws {
    let device = ScriptedDevice(.picture(50), .lost("unplugged"))
    // Its picture waits to be taken when it is lost.
    let source = SessionSource(
      name: "camera",
      SessionSource.Origin(isLive: true, hasSizes: false) { _ in
        let live = LiveSource(device)
        _ = await live.status { $0.state == .lost }
        return live
      })
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.view)
    var frames = preview.pictures.makeAsyncIterator()

    while session.statistics.frames == 0 { _ = try await frames.next() }
    try await until { try await preview.pictures.first?.sourceState == .lost }
    await session.close()
  }

  @Test("a fallback is drawn once, and again when the view changes")
  func once() async throws {
    let device = ScriptedDevice(.picture(50))
    let session = try PreviewSession(scripted: Self.source(device))
    let preview = try session.addPreview(Self.view)
    var frames = preview.pictures.makeAsyncIterator()
    _ = try await frames.next()

    device.play(.lost("unplugged"))
    #expect(try await frames.next()?.sourceState == .lost)

    let renders = session.statistics.renders
    async let next = frames.next()
    await until { await session.waitingCount > 0 }
    #expect(session.statistics.renders == renders)

    preview.preferredSize = Size(width: 16, height: 16)
    let changed = try #require(try await next)
    #expect(changed.sourceState == .lost)
    #expect(changed.picture.size == Size(width: 16, height: 16))
    await session.close()
  }

  @Test("a snapshot of a lost camera has its fallback and the state .lost, or throws if unwanted")
  func snapshot() async throws {
    let device = ScriptedDevice(.picture(50))
    let session = try PreviewSession(scripted: Self.source(device))
    let preview = try session.addPreview(Self.view)
    var frames = preview.pictures.makeAsyncIterator()
    _ = try await frames.next()
    device.play(.lost("unplugged"))
    _ = try await frames.next()

    let snapshot = try await session.snapshot(SnapshotRequest.patient(.next, as: .rgba))
    #expect(snapshot.sourceState == .lost)

    let refused = SnapshotRequest.patient(.next, as: .rgba, fallback: .error)
    await #expect(throws: SourceError.self) { try await session.snapshot(refused) }
    await session.close()
  }

  @Test("a scene keeps updating its live sources beside a lost camera's fallback")
  func scene() async throws {
    let device = ScriptedDevice([.success([.picture(50), .lost("unplugged")])])
    let fine = SourceScript()
    let session = try PreviewSession(
      scripted: Self.source(device, named: "lost"), fine.source(named: "fine"))
    let preview = try session.addScene(
      Scene(
        size: Size(width: 64, height: 36), layout: .free,
        tiles: [
          Tile("lost", rectangle: Rectangle(x: 0, y: 0, width: 32, height: 36)),
          Tile("fine", rectangle: Rectangle(x: 32, y: 0, width: 32, height: 36)),
        ]))
    var frames = preview.pictures.makeAsyncIterator()

    fine.give(120)
    // NO SIGNAL's bars begin where there was the lost camera's grey.
    var left: UInt8 = 50
    var right: UInt8 = 0
    while left == 50 || right != 120 {
      let frame = try #require(try await frames.next())
      left = frame.picture.bytes[4 * 2]
      right = frame.picture.bytes[4 * 60]
      if right != 120 { fine.give(120) }
    }
    await session.close()
  }

  @Test("a disabled camera is replaced by its avatar, and is shown again once enabled")
  func avatar() async throws {
    let script = SourceScript()
    var source = script.source()
    let image = StillImage(try #require(SourceScript.frame(200, Size(width: 8, height: 8), 0)))
    source.fallback = Fallback(avatar: image)
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.view)
    var frames = preview.pictures.makeAsyncIterator()

    script.give(10)
    #expect(try await frames.next()?.code == 10)

    await session.sources.first?.setEnabled(false)
    let off = try #require(try await frames.next())
    #expect(off.sourceState == .off)
    // The circle in the middle is the avatar itself.
    #expect(off.picture.bytes[4 * (9 * 32 + 16)] == 200)
    #expect(!script.isOpen)

    await session.sources.first?.setEnabled(true)
    script.give(20)
    #expect(try await frames.next()?.code == 20)
    await session.close()
  }
}
