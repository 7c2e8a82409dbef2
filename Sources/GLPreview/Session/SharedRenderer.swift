// One renderer for each GPU, shared by all sessions: sessions come and go, and contexts are expensive.
internal import Synchronization

/// The renderers of this process, by the requested GPU. Each is opened at its first use, and closed some time
/// after its last user has left.
actor SharedRenderers {
  static let ofThisProcess = SharedRenderers()

  /// How long an unused renderer is kept, so that closing one session and opening the next makes no new
  /// context.
  private let keepsFor: Duration
  private let open: @Sendable (GPUDevice.Choice) async throws -> any DeviceRenderer
  private var entries: [GPUDevice.Choice: Entry] = [:]
  private var generation = 0
  /// The pauses between attempts to open a GPU again: the first, doubled up to the longest.
  private static let pauses = (first: Duration.milliseconds(250), longest: Duration.seconds(30))
  /// A GPU that fails this soon after its return has not recovered: attempts begin later each time.
  private static let relapsesWithin = Duration.seconds(60)

  private struct Entry {
    var users = 0
    /// The number of this opening. A user that finds the context lost passes it, so that the renderer is only
    /// replaced once.
    var generation = 0
    var renderer: Task<any DeviceRenderer, any Error>?
    var closing: Task<Void, Never>?
    /// Why the CPU draws in place of a GPU, and the task that opens the GPU again.
    var standIn: (reason: String, returning: Task<Void, Never>)?
    /// The number of failures of a GPU that had returned shortly before, and the time of its last return.
    var relapses = 0
    var returned: ContinuousClock.Instant?
  }

  init(
    keepsFor: Duration = .seconds(2),
    open: @escaping @Sendable (GPUDevice.Choice) async throws -> any DeviceRenderer = {
      try await Renderers.open($0)
    }
  ) {
    self.keepsFor = keepsFor
    self.open = open
  }

  /// A renderer and the number of its opening.
  typealias Opened = (renderer: any DeviceRenderer, generation: Int)

  /// Adds a user.
  func enter(_ choice: GPUDevice.Choice) {
    entries[choice, default: Entry()].users += 1
    entries[choice]?.closing?.cancel()
    entries[choice]?.closing = nil
  }

  /// Removes a user; after the last one, the renderer is closed some time later.
  func leave(_ choice: GPUDevice.Choice) {
    guard var entry = entries[choice] else { return }
    entry.users -= 1
    entries[choice] = entry
    guard entry.users == 0 else { return }
    entries[choice]?.closing = Task { [keepsFor] in
      try? await pause(keepsFor)
      if !Task.isCancelled { await self.close(choice) }
    }
  }

  /// Closes unused renderers now.
  func closeUnused() async {
    for choice in entries.keys {
      entries[choice]?.closing?.cancel()
      await close(choice)
    }
  }

  private func close(_ choice: GPUDevice.Choice) async {
    guard let entry = entries[choice], entry.users == 0 else { return }
    entries[choice] = nil
    entry.standIn?.returning.cancel()
    if let renderer = try? await entry.renderer?.value { await renderer.close() }
  }

  /// The renderer of `choice`; opens it if necessary.
  ///
  /// - Throws: `DeviceError`, `RenderError`; the next call tries again. `CancellationError` without a user,
  ///   because then no one would close the renderer.
  func renderer(_ choice: GPUDevice.Choice) async throws -> Opened {
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

  /// Replaces a renderer whose context is lost. Another one is opened when it is closed, and so not while the GPU is being reset.
  func replace(_ choice: GPUDevice.Choice, _ generation: Int) {
    guard let lost = forget(choice, generation) else { return }
    self.generation += 1
    entries[choice]?.generation = self.generation
    entries[choice]?.renderer = Task { [open] in
      if let renderer = try? await lost.value { await renderer.close() }
      return try await open(choice)
    }
  }

  // MARK: The CPU in place of a GPU

  /// The reason why the CPU draws in place of a GPU; nil if it does not.
  func standInReason(_ choice: GPUDevice.Choice) -> String? { entries[choice]?.standIn?.reason }

  /// Has the CPU draw in place of a GPU that has failed, until the GPU works again.
  func standIn(_ choice: GPUDevice.Choice, _ generation: Int, because reason: String) {
    guard let lost = forget(choice, generation) else { return }
    self.generation += 1
    entries[choice]?.generation = self.generation
    entries[choice]?.renderer = Task { CPUDrawing() }
    let isRelapse = entries[choice]?.returned.map { .now - $0 < Self.relapsesWithin } ?? false
    let relapses = isRelapse ? (entries[choice]?.relapses ?? 0) + 1 : 0
    entries[choice]?.relapses = relapses
    let standIn = self.generation
    let returning = Task { [weak self, open] in
      // A driver that hangs must not hold up anything else.
      if let renderer = try? await lost.value { await renderer.close() }
      var attempt = relapses
      while !Task.isCancelled {
        if attempt > 0 {
          let pause = Backoff.pause(
            attempt - 1, first: Self.pauses.first, longest: Self.pauses.longest, jitter: 1)
          try? await GLPreview.pause(pause)
          guard !Task.isCancelled else { return }
        }
        attempt += 1
        if let renderer = try? await open(choice), renderer.device.kind != .cpu {
          await self?.giveBack(choice, standIn, renderer)
          return
        }
      }
    }
    entries[choice]?.standIn = (reason, returning)
  }

  /// Replaces the CPU by a GPU that works again.
  private func giveBack(
    _ choice: GPUDevice.Choice, _ generation: Int, _ renderer: any DeviceRenderer
  ) async {
    guard entries[choice]?.generation == generation else { return await renderer.close() }
    self.generation += 1
    entries[choice]?.generation = self.generation
    entries[choice]?.renderer = Task { renderer }
    entries[choice]?.standIn = nil
    entries[choice]?.returned = .now
  }

  @discardableResult
  private func forget(_ choice: GPUDevice.Choice, _ generation: Int) -> Task<any DeviceRenderer, any Error>? {
    guard entries[choice]?.generation == generation else { return nil }
    defer { entries[choice]?.renderer = nil }
    return entries[choice]?.renderer
  }
}

/// A session's share of a renderer; returned when the last reference goes.
final class RendererLease: Sendable {
  private let choice: GPUDevice.Choice
  private let renderers: SharedRenderers
  /// Registers the session as a user; may still be running when the lease ends.
  private let entering: Task<Void, Never>
  private let isReturned = Mutex(false)

  init(_ choice: GPUDevice.Choice, of renderers: SharedRenderers) {
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

  func giveBack() async {
    let isFirst = isReturned.withLock { isReturned in
      defer { isReturned = true }
      return !isReturned
    }
    guard isFirst else { return }
    await entering.value
    await renderers.leave(choice)
  }

  /// The most lost contexts in one call that are replaced; a GPU that is reset more often has another
  /// problem.
  private static let mostLosses = 3

  /// The reason why the CPU draws in place of a GPU that has failed; nil if it does not.
  var standInReason: String? { get async { await renderers.standInReason(choice) } }

  /// Passes the renderer to `work`. If it fails, calls `work` again: with the CPU where the choice allows that,
  /// otherwise with a new renderer if the context is lost.
  func withRenderer<Result: Sendable>(
    _ work: @Sendable (any DeviceRenderer) async throws -> Result
  ) async throws -> Result {
    await entering.value
    for _ in 0..<Self.mostLosses {
      let opened = try await renderers.renderer(choice)
      do {
        return try await work(opened.renderer)
      } catch let error as RenderError
        where choice == .automatic && error.isOfDevice && error.shortage == nil
      {
        await renderers.standIn(choice, opened.generation, because: "\(error)")
      } catch let error as RenderError where error.isContextLost {
        await renderers.replace(choice, opened.generation)
      }
    }
    return try await work(renderers.renderer(choice).renderer)
  }
}
