// Scenes of a running session: all their sources in one picture, whatever each of them does.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Scenes in a session", .timeLimit(.minutes(15)))
struct SceneFeedTests {
  private static let size = Size(width: 64, height: 36)

  private static func scene(_ names: String...) -> Scene {
    Scene(size: size, layout: .grid, tiles: names.map { Tile($0) })
  }

  @Test("a scene shows the newest frame of each source")
  func grid() async throws {
    let (left, right) = (SourceScript(), SourceScript())
    let session = try PreviewSession(scripted: left.source(named: "left"), right.source(named: "right"))
    let preview = try session.addScene(
      Scene(
        size: Self.size, layout: .free,
        tiles: [
          Tile("left", rectangle: Rectangle(x: 0, y: 0, width: 32, height: 36)),
          Tile("right", rectangle: Rectangle(x: 32, y: 0, width: 32, height: 36)),
        ]))
    var frames = preview.pictures.makeAsyncIterator()

    left.give(50)
    right.give(200)
    var codes: [UInt8] = []
    while codes != [50, 200] {
      let frame = try #require(try await frames.next())
      #expect(frame.picture.size == Self.size)
      codes = [frame.picture.bytes[4 * 5], frame.picture.bytes[4 * 60]]
    }

    left.give(90)
    while codes != [90, 200] {
      let frame = try #require(try await frames.next())
      codes = [frame.picture.bytes[4 * 5], frame.picture.bytes[4 * 60]]
    }

    await session.close()
    #expect(!left.isOpen && !right.isOpen)
  }

  @Test("a scene opens its source only for a reader, and closes it when the reader has left")
  func unread() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(named: "one"))
    let preview = try session.addScene(Self.scene("one"))
    #expect(script.opens.isEmpty)
    script.give(3)
    _ = try await preview.pictures.first
    await until { !script.isOpen }
    await session.close()
  }

  @Test("a scene snapshot without readers shows the live source beside a disabled one")
  func off() async throws {
    let (on, off) = (SourceScript(), SourceScript())
    let session = try PreviewSession(scripted: on.source(named: "on"), off.source(named: "off"))
    _ = try session.addScene(Self.scene("on", "off"), name: "call")
    await session["off"]?.setEnabled(false)
    on.give(120)

    let snapshot = try await session.snapshot(SnapshotRequest.patient(.newest, of: ["call"], as: .rgba))
    let picture = try #require(snapshot["call"]?.picture)

    #expect(picture.bytes[4 * (18 * 64 + 10)] == 120)
    #expect(off.opens.isEmpty)
    await session.close()
  }

  @Test("a scene shows its working source while another one can't be opened")
  func refused() async throws {
    let (fine, broken) = (SourceScript(), SourceScript())
    broken.refuse(SourceError(.notFound, path: "broken", reason: "is not there"))
    let session = try PreviewSession(scripted: fine.source(named: "fine"), broken.source(named: "broken"))
    let preview = try session.addScene(Self.scene("fine", "broken"))

    fine.give(120)
    var frames = preview.pictures.makeAsyncIterator()
    var code: UInt8 = 0
    while code != 120 {
      let frame = try #require(try await frames.next())
      code = frame.picture.bytes[4 * (18 * 64 + 10)]
    }
    await session.close()
  }

  @Test("FrameHistory returns the newest frame at a given time, or the oldest that it still has")
  func history() throws {
    let history = FrameHistory()
    history.keep(for: .seconds(2))
    for second in 0...5 {
      let frame = try #require(SourceScript.frame(UInt8(second), Size(width: 2, height: 2), second))
      history.add(frame.with(timestamp: .second(second)))
    }

    #expect(history.frame(at: .second(5))?.bytes[0] == 5)
    #expect(history.frame(at: .millisecond(3500))?.bytes[0] == 3)
    #expect(history.frame(at: .second(3))?.bytes[0] == 3)
    // What is older is not kept: the oldest stands in for it.
    #expect(history.frame(at: .second(1))?.bytes[0] == 3)

    history.keep(for: .zero)
    let frame = try #require(SourceScript.frame(9, Size(width: 2, height: 2), 9))
    history.add(frame)
    #expect(history.frame(at: .second(9)) == nil)
  }
}
