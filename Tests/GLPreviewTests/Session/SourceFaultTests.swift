// Sources of a session that go wrong: who is told, and what of; and scenes in which nothing happens any more.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Source failures", .timeLimit(.minutes(15)))
struct SourceFaultTests {
  private static let damage = SourceError(.badData, path: "clip", reason: "is damaged")

  @Test("a source's failure is reported while a scene goes on, and is cleared by the next frame")
  func told() async throws {
    let (fine, broken) = (SourceScript(), SourceScript())
    broken.refuse(SourceError(.notFound, path: "broken", reason: "is not there"))
    let session = try PreviewSession(scripted: fine.source(named: "fine"), broken.source(named: "broken"))
    _ = try session.addScene(
      Scene(size: Size(width: 64, height: 36), tiles: [Tile("fine"), Tile("broken")]), name: "call")
    let preview = try session.addPreview(of: "broken")
    #expect(await session["broken"]?.failure == nil)

    fine.give(120)
    _ = try await session.snapshot(.patient(of: ["call"], as: .rgba))
    #expect((await session["broken"]?.failure as? SourceError)?.kind == .notFound)
    #expect(await session["fine"]?.failure == nil)

    broken.refuse(nil)
    broken.give(7)
    // An attempt that began before may still fail, and this reader then gets its error.
    await until { (try? await preview.pictures.first)?.code == 7 }
    #expect(await session["broken"]?.failure == nil)
    await session.close()
  }

  @Test("a file with no frames, damaged or empty, throws badData instead of ending")
  func noFrames() async throws {
    for results: [Result<Frame?, any Error>] in [[.failure(Self.damage), .success(nil)], [.success(nil)]] {
      let script = SourceScript()
      let session = try PreviewSession(scripted: script.source())
      let preview = try session.addPreview()
      for result in results { script.give(result) }

      await #expect {
        try await preview.pictures.first
      } throws: { error in
        (error as? SourceError)?.kind == .badData
      }
      await session.close()
    }
  }

  @Test("a snapshot of a file that has no frames when it is reopened throws badData")
  func emptied() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(isLive: false))
    _ = try session.addPreview()
    script.give(1)
    #expect(try await session.snapshot(.patient(.next)).sequence == 0)
    await until { !script.isOpen }

    script.give(.failure(Self.damage))
    script.give(.success(nil))
    await #expect {
      try await session.snapshot(.patient(.next))
    } throws: { error in
      (error as? SourceError)?.kind == .badData
    }
    await session.close()
  }

  @Test("a snapshot of a file that has no frames when it restarts throws an error")
  func emptiedMeanwhile() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(isLive: false), linger: allTheTimeThereIs)
    _ = try session.addPreview()
    for code in 1...2 {
      script.give(UInt8(code))
      _ = try await session.snapshot(.patient(.next))
    }

    // The file's end, and what follows when it is read from its beginning, which is tried ten times and once more.
    for _ in 1...22 { script.give(.success(nil)) }
    await #expect {
      try await session.snapshot(.patient(.next, fallback: .error))
    } throws: { error in
      (error as? SourceError)?.reason.contains("has no frames any more") == true
    }
    await session.close()
  }

  @Test("a new reader of an unchanged scene gets the current picture without another render")
  func still() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(named: "one"))
    let preview = try session.addScene(Scene(size: Size(width: 64, height: 36), tiles: [Tile("one")]))
    var first = preview.pictures.makeAsyncIterator()
    script.give(90)
    while try #require(try await first.next()).code != 90 {}
    #expect(try await preview.pictures.first?.code == 90)

    // How often it is drawn is another thing than what is seen: nothing is drawn anew for that.
    let renders = session.statistics.renders
    preview.updateEvery = .milliseconds(1)
    #expect(try await preview.pictures.first?.code == 90)
    #expect(session.statistics.renders == renders)

    script.give(91)
    #expect(try await first.next()?.code == 91)
    await session.close()
  }
}
