// What is closed or let go is gone: nothing holds a session's parts that nobody has in hand.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Lifetimes of sessions and their parts", .timeLimit(.minutes(15)))
struct SessionLifetimeTests {
  /// Knows objects without holding them.
  private final class Watch: Sendable {
    private let state = Mutex<[(name: String, object: Weak)]>([])

    private struct Weak: Sendable { weak var object: (any AnyObject & Sendable)? }

    func add(_ name: String, _ object: (any AnyObject & Sendable)?) {
      state.withLock { $0.append((name, Weak(object: object))) }
    }

    /// Those that are still there.
    var names: [String] { state.withLock { $0.filter { $0.object.object != nil }.map(\.name) } }
  }

  /// What is done to a session before it ends.
  enum Use: CaseIterable { case nothing, reading, waiting, scene, still, off, failing, opening, snapshots }

  private func use(_ use: Use, _ session: PreviewSession, _ script: SourceScript) async throws -> [Task<
    Void, Never
  >] {
    let view = try session.addPreview(ViewConfiguration(width: 4, height: 3))
    let scene = try session.addScene(Scene(size: Size(width: 8, height: 8), tiles: [Tile("camera")]))
    switch use {
    case .nothing: return []
    case .reading:
      script.give(1)
      _ = try await view.pictures.first
    case .waiting, .opening:
      let reader = Task { _ = try? await view.pictures.first }
      await until { await session.waitingCount == 1 }
      return [reader]
    case .scene:
      _ = try await scene.pictures.first
      let reader = Task {
        var frames = scene.pictures.makeAsyncIterator()
        while (try? await frames.next()) ?? nil != nil {}
      }
      return [reader]
    case .still:
      script.give(1)
      _ = try await session.snapshot(SnapshotRequest.patient(.still, of: ["main"]))
    case .off:
      await session.sources.first?.setEnabled(false)
      _ = try await view.pictures.first
    case .failing:
      script.give(.failure(SourceError(.unavailable, path: "script", reason: "is gone")))
      _ = try await view.pictures.first
    case .snapshots:
      let trigger = SnapshotTrigger()
      session.attach(trigger, SnapshotRequest.patient(.next))
      trigger.capture()
      await until { await session.waitingCount > 0 }
    }
    return []
  }

  private func check(_ way: Use, ends: (consuming PreviewSession) async -> Void) async throws {
    let script = SourceScript()
    let watch = Watch()
    var tasks: [Task<Void, Never>] = []
    do {
      let gate = OpeningGate()
      let source = script.source(hasSizes: way == .still)
      let session = try PreviewSession(scripted: way == .opening ? source.opening(through: gate) : source)
      tasks = try await use(way, session, script)
      watch.add("session", session)
      watch.add("feed", session.firstFeed)
      watch.add("memory", session.firstFeed?.drawing.memory)
      for preview in session.allPreviews { watch.add("preview \(preview.name)", preview) }
      for object in session.parts { watch.add("\(type(of: object))", object) }
      await ends(session)
    }
    for task in tasks { await task.value }
    await until { watch.names.isEmpty && !script.isOpen }
    #expect(watch.names.isEmpty, "\(way)")
    #expect(!script.isOpen)
  }

  @Test("closing a session frees all its objects and closes its camera", arguments: Use.allCases)
  func closed(use: Use) async throws {
    try await check(use) { await $0.close() }
  }

  @Test(
    "releasing a session without closing it frees all its objects and closes its camera",
    arguments: Use.allCases)
  func dropped(use: Use) async throws {
    try await check(use) { _ in }
  }

  @Test("a source handle outlives its session without keeping the camera open")
  func held() async throws {
    let script = SourceScript()
    let watch = Watch()
    var source: PreviewSession.Source?
    do {
      let session = try PreviewSession(scripted: script.source())
      watch.add("session", session)
      for object in session.parts { watch.add("\(type(of: object))", object) }
      let view = try session.addPreview(ViewConfiguration(width: 4, height: 3))
      script.give(1)
      _ = try await view.pictures.first
      source = session["camera"]
      #expect(session["other"] == nil)
      #expect(session.sources.map(\.name) == ["camera"])
      #expect(source?.size == script.size)
    }
    await until { !script.isOpen && !watch.names.contains("session") }
    await source?.setEnabled(true)
    #expect(await source?.status == nil)
    #expect(!script.isOpen)
  }

  @Test("20 concurrent calls close a session, and later calls on its parts are harmless")
  func closedByMany() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(ViewConfiguration(width: 4, height: 3))
    script.give(1)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next()?.code == 1)

    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 {
        group.addTask {
          await session.close()
          return script.isOpen
        }
      }
      for await isOpen in group { #expect(!isOpen) }
    }

    #expect(try await frames.next() == nil)
    #expect(await session.sources.first?.status == nil)
    await session.sources.first?.setEnabled(false)
    await session.sources.first?.setEnabled(true)
    session.remove(preview)
  }

  @Test(
    "a pending still fails when its session closes, and returns .off when its source is disabled",
    arguments: [true, false])
  func stillEnds(isClosed: Bool) async throws {
    let script = SourceScript()
    let session = try PreviewSession(
      scripted: script.source(hasSizes: true).wrapped { GatedStill(source: $0, gate: OpeningGate()) })
    _ = try session.addPreview(ViewConfiguration(width: 4, height: 3))
    script.give(1)
    let still = Task { try await session.snapshot(SnapshotRequest.patient(.still, as: .rgba)) }
    await until { script.opens.last?.minimumSize?.width == 65535 }

    if isClosed { await session.close() } else { await session.sources.first?.setEnabled(false) }

    #expect(!script.isOpen)
    if isClosed {
      await #expect(throws: SessionError.self) { try await still.value }
    } else {
      #expect(try await still.value.sourceState == .off)
    }
    await session.close()
  }

  @Test("one of two concurrent stills is rejected, even before the first frame")
  func twoStills() async throws {
    let (script, gate) = (SourceScript(), OpeningGate())
    let session = try PreviewSession(
      scripted: script.source(hasSizes: true).wrapped { GatedStill(source: $0, gate: gate) })
    _ = try session.addPreview(ViewConfiguration(width: 4, height: 3))
    let request = SnapshotRequest.patient(.still, as: .rgba)

    await withTaskGroup(of: Bool.self) { stills in
      for _ in 0..<2 { stills.addTask { (try? await session.snapshot(request)) != nil } }
      await until { await session.waitingCount == 2 }
      script.give(1)
      #expect(await stills.next() == false)
      gate.open()
      #expect(await stills.next() == true)
    }

    #expect(script.opens.filter { $0.minimumSize?.width == 65535 }.count == 1)
    await session.close()
  }
}

/// Lets stills through when its gate opens, and usual frames at once.
private struct GatedStill: FrameSource {
  let source: any FrameSource
  let gate: OpeningGate
  var name: String { source.name }

  func nextFrame() async throws -> Frame? {
    let frame = try await source.nextFrame()
    // Usual frames are 8 pixels wide.
    if let frame, frame.format.size.width > 8 { try await gate.pass() }
    return frame
  }

  func rewind() async throws { try await source.rewind() }
  func close() async { await source.close() }
}
