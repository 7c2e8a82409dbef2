// One renderer for all sessions: opened when it is needed, replaced when its context is lost, closed behind the last user.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Shared renderers", .timeLimit(.minutes(15)))
struct SharedRendererTests {
  /// Opens renderers, and keeps them to be looked at.
  private final class Opener: Sendable {
    let opened = Mutex<[GLRenderer]>([])

    func renderers() -> SharedRenderers {
      SharedRenderers(keepsFor: .seconds(3600)) { choice in
        let renderer = try await GLRenderer.open(choice)
        self.opened.withLock { $0.append(renderer) }
        return renderer
      }
    }
  }

  /// How far several sessions have come.
  private final class Progress: Sendable {
    let drawn = Atomic<Int>(0)
    let lost = Atomic<Int>(0)
    let isOver = Atomic<Bool>(false)
  }

  private static func session(
    _ script: SourceScript, _ renderers: SharedRenderers, on choice: GPUDevice.Choice = .llvmpipe
  ) throws -> (SessionCore, Preview) {
    var options = PreviewSession.Options(gpu: choice, linger: .zero)
    options.renderers = renderers
    let core = try SessionCore([script.source()], options)
    let view = ViewConfiguration(width: 4, height: 3)
    return (core, try core.add("main", PreviewConfiguration(.view(view, of: "camera"))))
  }

  @Test("three sessions share one renderer")
  func shared() async throws {
    let opener = Opener()
    let renderers = opener.renderers()
    var cores: [SessionCore] = []

    for code: UInt8 in 1...3 {
      let script = SourceScript()
      let (core, preview) = try Self.session(script, renderers)
      cores.append(core)
      script.give(code)
      #expect(try await preview.pictures.first?.code == code)
    }

    #expect(opener.opened.withLock { $0.count } == 1)
    for core in cores { await core.close() }
    await renderers.closeUnused()
  }

  @Test("a lost GL context is recreated, and the preview continues without missing a picture")
  func lost() async throws {
    let opener = Opener()
    let renderers = opener.renderers()
    let script = SourceScript()
    let (core, preview) = try Self.session(script, renderers)
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    #expect(try await frames.next()?.code == 1)

    await opener.opened.withLock { $0[0] }.loseContext()
    for code: UInt8 in 2...4 {
      script.give(code)
      #expect(try await frames.next()?.code == code)
    }
    #expect(opener.opened.withLock { $0.count } == 2)
    await core.close()
    await renderers.closeUnused()
  }

  @Test("a lost context is replaced when the GPU's reset is over, and no picture is missing")
  func reset() async throws {
    let polls = Atomic(0)
    let opener = Opener()
    let opened = Atomic(0)
    let renderers = SharedRenderers(keepsFor: .seconds(3600)) { _ in
      if opened.add(1, ordering: .relaxed).oldValue > 0 { #expect(polls.load(ordering: .relaxed) == 4) }
      let renderer = try await GLRenderer.open(.llvmpipe)
      opener.opened.withLock { $0.append(renderer) }
      return renderer
    }
    let script = SourceScript()
    let (core, preview) = try Self.session(script, renderers)
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    #expect(try await frames.next()?.code == 1)

    await opener.opened.withLock { $0[0] }.loseContext(
      to: GLReset { polls.add(1, ordering: .relaxed).newValue < 4 })
    script.give(2)
    #expect(try await frames.next()?.code == 2)
    #expect(opener.opened.withLock { $0.count } == 2)
    await core.close()
    await renderers.closeUnused()
  }

  @Test("previews and snapshots of three sessions continue while the GL context is lost repeatedly")
  func lostOften() async throws {
    let opener = Opener()
    let renderers = opener.renderers()
    let progress = Progress()
    let losing = Task {
      while true {
        // Something is drawn in between, or it would never end.
        let before = progress.drawn.load(ordering: .relaxed)
        await until {
          progress.drawn.load(ordering: .relaxed) > before + 5 || progress.isOver.load(ordering: .relaxed)
        }
        if progress.isOver.load(ordering: .relaxed) { return }
        await opener.opened.withLock { $0.last }?.loseContext()
        progress.lost.add(1, ordering: .relaxed)
      }
    }

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          let script = SourceScript()
          let (core, preview) = try Self.session(script, renderers)
          let scene = try core.add(
            "scene",
            PreviewConfiguration(.scene(Scene(size: Size(width: 8, height: 6), tiles: [Tile("camera")]))))
          var frames = preview.pictures.makeAsyncIterator()
          var number = 0
          while number < 40 || progress.lost.load(ordering: .relaxed) < 4 {
            number += 1
            let code = UInt8(number % 250 + 1)
            script.give(code)
            #expect(try await frames.next()?.code == code)
            progress.drawn.add(1, ordering: .relaxed)
            guard number % 5 == 0 else { continue }
            let request = SnapshotRequest.patient(.newest(maxAge: allTheTimeThereIs), of: ["main"])
            #expect(try await core.snapshot(request).sequence == number - 1)
            #expect(try await scene.pictures.first != nil)
          }
          await core.close()
        }
      }
      try await group.waitForAll()
    }

    progress.isOver.store(true, ordering: .relaxed)
    await losing.value
    #expect(opener.opened.withLock { $0.count } > 3)
    await renderers.closeUnused()
  }

  @Test("the CPU draws while a GPU is lost, without a missing picture, until the GPU works again")
  func standsIn() async throws {
    // llvmpipe stands for the GPU, which can be taken away.
    let opener = Opener()
    let isThere = Mutex(true)
    let renderers = SharedRenderers(keepsFor: .seconds(3600)) { _ in
      guard isThere.withLock({ $0 }) else { return CPUDrawing() }
      let renderer = try await GLRenderer.open(.llvmpipe)
      opener.opened.withLock { $0.append(renderer) }
      return renderer
    }
    let script = SourceScript()
    let (core, preview) = try Self.session(script, renderers, on: .automatic)
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    #expect(try await frames.next()?.code == 1)
    #expect(await core.drawing.deviceFailure == nil)

    isThere.withLock { $0 = false }
    await opener.opened.withLock { $0[0] }.loseContext()
    for code: UInt8 in 2...4 {
      script.give(code)
      #expect(try await frames.next()?.code == code)
    }
    #expect(try await core.drawing.device == .cpu)
    #expect(await core.drawing.deviceFailure?.isEmpty == false)

    isThere.withLock { $0 = true }
    await until { await core.drawing.deviceFailure == nil }
    #expect(try await core.drawing.device != .cpu)
    script.give(5)
    #expect(try await frames.next()?.code == 5)
    #expect(opener.opened.withLock { $0.count } == 2)

    await core.close()
    await renderers.closeUnused()
  }

  @Test("a GPU that is required is not replaced by the CPU")
  func requiredHardware() async throws {
    let tries = Atomic(0)
    let renderers = SharedRenderers(keepsFor: .seconds(3600)) { _ in
      tries.add(1, ordering: .relaxed)
      let renderer = try await GLRenderer.open(.llvmpipe)
      await renderer.loseContext()
      return renderer
    }
    let lease = RendererLease(.hardware, of: renderers)
    let frame = try #require(SourceScript.frame(0, Size(width: 8, height: 6), 0))
    await #expect(throws: RenderError.self) {
      try await lease.withRenderer { renderer in
        let plan = try RenderPlanner(tuning: renderer.tuning).plan(
          frame.format, [ViewRequest(ViewConfiguration(), as: .rgba)])
        return try await renderer.render(frame, plan)
      }
    }
    #expect(tries.load(ordering: .relaxed) > 1)
    #expect(await lease.standInReason == nil)
    await lease.giveBack()
    await renderers.closeUnused()
  }

  @Test("a plan for other frames is refused without taking the GPU for lost")
  func otherFrames() async throws {
    let renderers = SharedRenderers(keepsFor: .seconds(3600)) { _ in try await GLRenderer.open(.llvmpipe) }
    let lease = RendererLease(.automatic, of: renderers)
    let frame = try #require(SourceScript.frame(0, Size(width: 8, height: 6), 0))
    let other = try #require(SourceScript.frame(0, Size(width: 16, height: 6), 0))
    await #expect(throws: RenderError.self) {
      try await lease.withRenderer { renderer in
        let plan = try RenderPlanner(tuning: renderer.tuning).plan(
          other.format, [ViewRequest(ViewConfiguration(), as: .rgba)])
        return try await renderer.render(frame, plan)
      }
    }
    #expect(await lease.standInReason == nil)
    await lease.giveBack()
    await renderers.closeUnused()
  }

  @Test("a returned renderer lease throws CancellationError and opens no renderer")
  func closedSession() async throws {
    let opener = Opener()
    let lease = RendererLease(.llvmpipe, of: opener.renderers())
    await lease.giveBack()
    await #expect(throws: CancellationError.self) { try await lease.withRenderer { _ in } }
    #expect(opener.opened.withLock { $0.isEmpty })
  }

  @Test("an unused renderer is closed, and the next session opens a new one")
  func closed() async throws {
    let opener = Opener()
    let renderers = opener.renderers()

    for code: UInt8 in 1...2 {
      let script = SourceScript()
      let (core, preview) = try Self.session(script, renderers)
      script.give(code)
      #expect(try await preview.pictures.first?.code == code)

      await core.close()
      await renderers.closeUnused()
      let renderer = try #require(opener.opened.withLock { $0.last })
      let frame = try #require(SourceScript.frame(0, Size(width: 8, height: 6), 0))
      let plan = try RenderPlanner().plan(frame.format, [])
      await #expect(throws: RenderError.self) { try await renderer.render(frame, plan) }
    }

    #expect(opener.opened.withLock { $0.count } == 2)
  }
}
