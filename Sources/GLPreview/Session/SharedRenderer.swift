// One renderer for each GPU, whoever asks: sessions are many and come and go, contexts are dear.
internal import PreviewCore
internal import Synchronization

/// The renderers of this process, by what was asked for. Each is opened at its first use, and closed a while after its last
/// user has gone.
actor SharedRenderers {
  static let ofThisProcess = SharedRenderers()

  /// How long a renderer that nobody uses is kept: who closes one session and opens the next pays for no context.
  private let keepsFor: Duration
  private let open: @Sendable (GPUChoice) async throws -> GLRenderer
  private var entries: [GPUChoice: Entry] = [:]
  private var generation = 0

  private struct Entry {
    var users = 0
    /// Which opening it is: who finds one lost names it, so that it is replaced once, not by each who finds that.
    var generation = 0
    var renderer: Task<GLRenderer, any Error>?
    var closing: Task<Void, Never>?
  }

  init(
    keepsFor: Duration = .seconds(2),
    open: @escaping @Sendable (GPUChoice) async throws -> GLRenderer = { try await GLRenderer.open($0) }
  ) {
    self.keepsFor = keepsFor
    self.open = open
  }

  /// A renderer, and which opening it is.
  typealias Opened = (renderer: GLRenderer, generation: Int)

  /// Counts a user.
  func enter(_ choice: GPUChoice) {
    entries[choice, default: Entry()].users += 1
    entries[choice]?.closing?.cancel()
    entries[choice]?.closing = nil
  }

  /// Counts a user less; the last one's renderer is closed after a while.
  func leave(_ choice: GPUChoice) {
    guard var entry = entries[choice] else { return }
    entry.users -= 1
    entries[choice] = entry
    guard entry.users == 0 else { return }
    entries[choice]?.closing = Task { [keepsFor] in
      try? await pause(keepsFor)
      if !Task.isCancelled { await self.close(choice) }
    }
  }

  /// Closes what nobody uses, now.
  func closeUnused() async {
    for choice in entries.keys {
      entries[choice]?.closing?.cancel()
      await close(choice)
    }
  }

  private func close(_ choice: GPUChoice) async {
    guard let entry = entries[choice], entry.users == 0 else { return }
    entries[choice] = nil
    if let renderer = try? await entry.renderer?.value { await renderer.close() }
  }

  /// The renderer of `choice`, opened if it is not.
  ///
  /// - Throws: `DeviceError`, `RenderError`; the next call tries again. `CancellationError` where nobody has entered: what
  ///   was opened then nobody would close.
  func renderer(_ choice: GPUChoice) async throws -> Opened {
    guard let users = entries[choice]?.users, users > 0 else { throw CancellationError() }
    if entries[choice]?.renderer == nil {
      generation += 1
      entries[choice]?.generation = generation
      entries[choice]?.renderer = Task { [open] in try await open(choice) }
    }
    guard let entry = entries[choice], let task = entry.renderer else { throw CancellationError() }
    do {
      return (try await task.value, entry.generation)
    } catch {
      forget(choice, entry.generation)
      throw error
    }
  }

  /// Ends a renderer whose context is lost; the next call opens another one.
  func replace(_ choice: GPUChoice, _ generation: Int) async {
    guard let lost = forget(choice, generation) else { return }
    if let renderer = try? await lost.value { await renderer.close() }
  }

  @discardableResult
  private func forget(_ choice: GPUChoice, _ generation: Int) -> Task<GLRenderer, any Error>? {
    guard entries[choice]?.generation == generation else { return nil }
    defer { entries[choice]?.renderer = nil }
    return entries[choice]?.renderer
  }
}

/// A session's share of a renderer; given back when the last reference to it goes.
final class RendererLease: Sendable {
  private let choice: GPUChoice
  private let renderers: SharedRenderers
  /// Entering may still be on its way when the lease ends.
  private let entering: Task<Void, Never>
  private let isReturned = Mutex(false)

  init(_ choice: GPUChoice, of renderers: SharedRenderers = .ofThisProcess) {
    self.choice = choice
    self.renderers = renderers
    entering = Task { await renderers.enter(choice) }
  }

  deinit {
    guard !isReturned.withLock({ $0 }) else { return }
    Task { [renderers, choice, entering] in
      await entering.value
      await renderers.leave(choice)
    }
  }

  /// Gives it back.
  func giveBack() async {
    let isFirst = isReturned.withLock { isReturned in
      defer { isReturned = true }
      return !isReturned
    }
    guard isFirst else { return }
    await entering.value
    await renderers.leave(choice)
  }

  /// A GPU that is reset more often while one picture is drawn has something else to do.
  private static let mostLosses = 3

  /// The renderer, and where its context turns out to be lost, again with a new one.
  func withRenderer<Result: Sendable>(
    _ work: @Sendable (GLRenderer) async throws -> Result
  ) async throws -> Result {
    await entering.value
    for _ in 0..<Self.mostLosses {
      let opened = try await renderers.renderer(choice)
      do {
        return try await work(opened.renderer)
      } catch let error as RenderError where error.isContextLost {
        await renderers.replace(choice, opened.generation)
      }
    }
    return try await work(renderers.renderer(choice).renderer)
  }
}
