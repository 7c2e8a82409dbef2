// Scenes while everything about them changes: readers that come late, sources that end, names that are not there.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Changes to scenes", .timeLimit(.minutes(15)))
struct SceneChangeTests {
  private static let size = Size(width: 32, height: 18)

  private static func session(_ scripts: [String: SourceScript], isLive: Bool = true) throws -> PreviewSession
  {
    try PreviewSession(
      scripts.sorted { $0.key < $1.key }.map { $1.source(named: $0, isLive: isLive) },
      options: .tested(linger: .zero))
  }

  /// The first pictures that show `code` in the middle.
  private func show(_ code: UInt8, _ frames: inout PreviewPictures.Iterator) async throws {
    while let frame = try await frames.next() {
      if frame.picture.bytes[4 * (9 * 32 + 16)] == code { return }
    }
    Issue.record("it ended before \(code) was seen")
  }

  @Test("a new reader of an idle scene gets the current picture in its format, without more draws")
  func late() async throws {
    let script = SourceScript()
    let session = try Self.session(["one": script])
    let preview = try session.addScene(Scene(size: Self.size, tiles: [Tile("one")]))
    var frames = preview.pictures.makeAsyncIterator()
    script.give(60)
    try await show(60, &frames)

    var others = preview.pictures.makeAsyncIterator()
    try await show(60, &others)
    #expect(try await preview.pictures(for: .jpeg).first?.picture.size == Self.size)

    // Nothing is drawn again and again for that.
    let renders = session.statistics.renders
    await letOthersGoOn()
    #expect(session.statistics.renders == renders)
    await session.close()
  }

  @Test("a reader that joins just after another has left gets a picture")
  func oneAfterAnother() async throws {
    let script = SourceScript()
    let session = try Self.session(["one": script])
    let preview = try session.addScene(Scene(size: Self.size, tiles: [Tile("one")]))
    for code: UInt8 in 1...30 {
      script.give(code)
      #expect(try await preview.pictures.first != nil)
    }
    await session.close()
  }

  @Test("a scene shows that an ended source was disabled and enabled again")
  func stillSwitchedOff() async throws {
    let script = SourceScript()
    let session = try Self.session(["one": script], isLive: false)
    let preview = try session.addScene(
      Scene(
        size: Self.size, tiles: [Tile("one")],
        labels: [Label(.time(), font: Label.Font(size: 4), margin: 0)]))
    script.give(60)
    script.give(.success(nil))
    var frames = preview.pictures.makeAsyncIterator()
    try await show(60, &frames)

    await session["one"]?.setEnabled(false)
    while let frame = try await frames.next() {
      if frame.picture.bytes[4 * (9 * 32 + 16)] != 60 { break }
    }

    script.give(70)
    script.give(.success(nil))
    await session["one"]?.setEnabled(true)
    try await show(70, &frames)
    await session.close()
  }

  @Test("a clock label does not limit a scene to one picture a second")
  func clock() async throws {
    let script = SourceScript()
    let session = try Self.session(["one": script])
    let preview = try session.addScene(
      Scene(
        size: Self.size, tiles: [Tile("one")], labels: [Label(.time(), font: Label.Font(size: 4), margin: 0)])
    )
    var frames = preview.pictures.makeAsyncIterator()

    // A picture a second would take longer than this test may.
    for code: UInt8 in 1...70 {
      script.give(code)
      try await show(code, &frames)
    }
    await session.close()
  }

  @Test("a scene shows a source that failed to open once it can be opened")
  func openedLater() async throws {
    let script = SourceScript()
    script.refuse(SourceError(.notFound, path: "one", reason: "is not there"))
    let session = try Self.session(["one": script])
    let preview = try session.addScene(Scene(size: Self.size, tiles: [Tile("one")]))
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next() != nil)
    await until { script.refusals > 0 }

    script.refuse(nil)
    script.give(80)
    try await show(80, &frames)
    await session.close()
  }

  @Test("a scene with unknown sources throws ParameterError, and works again once they are removed")
  func unknownNames() async throws {
    let script = SourceScript()
    let session = try Self.session(["one": script])
    let preview = try session.addScene(Scene(size: Self.size, tiles: [Tile("one")]))
    script.give(60)
    #expect(try await preview.pictures.first != nil)

    preview.update { $0.tiles.append(Tile("nobody")) }
    await #expect(throws: ParameterError.self) { try await preview.pictures.first }

    preview.update { $0.tiles = [Tile("nobody")] }
    await #expect(throws: ParameterError.self) { try await preview.pictures.first }

    preview.update { $0.background = .blur(source: "nobody") }
    await #expect(throws: ParameterError.self) {
      try await session.snapshot(SnapshotRequest.patient(.newest, of: ["scene"]))
    }

    preview.scene = Scene(size: Self.size, tiles: [Tile("one")])
    script.give(70)
    var frames = preview.pictures.makeAsyncIterator()
    try await show(70, &frames)
    await session.close()
  }

  @Test("a view keeps its preview's name when it is replaced")
  func names() async throws {
    let session = try Self.session(["one": SourceScript()])
    let preview = try session.addPreview(ViewConfiguration(name: "door"))
    preview.view = ViewConfiguration(width: 4, height: 3)
    #expect(preview.view.name == "door")
    await session.close()
  }
}
