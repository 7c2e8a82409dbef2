// SIGHUP: the configuration is read again, and what has changed in it is taken over.
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Waits for SIGHUP for as long as the service runs.
struct ReloadService: Service, CustomStringConvertible {
  /// For the log; not all that it holds.
  var description: String { "ReloadService" }

  private let parts: ServiceParts
  private let reload: (@Sendable () async throws -> ValidatedConfiguration)?

  init(_ parts: ServiceParts, _ reload: (@Sendable () async throws -> ValidatedConfiguration)?) {
    self.parts = parts
    self.reload = reload
  }

  /// From the end of a reload to the next: more signals than that are a storm.
  private static let pause = Duration.milliseconds(250)

  func run() async throws {
    // However many signals come while one reload is under way, one more follows.
    let (wishes, wish) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await cancelWhenGracefulShutdown {
      await withTaskGroup { group in
        group.addTask {
          for await _ in await UnixSignalsSequence(trapping: .sighup) { wish.yield() }
          wish.finish()
        }
        for await _ in wishes {
          await reloadNow()
          try? await Task.sleep(for: Self.pause)
        }
        group.cancelAll()
      }
    }
  }

  /// A configuration with mistakes changes nothing.
  private func reloadNow() async {
    guard let reload else { return parts.logger.notice("SIGHUP: there is no file to read again") }
    SystemdNotifier().reloading()
    do {
      try await parts.apply(try await reload())
      parts.logger.notice("the configuration was read again")
    } catch is CancellationError where Task.isCancelled {
      // The service ends.
      return
    } catch {
      parts.logger.error("the configuration stays as it was", metadata: ["reason": "\(error)"])
    }
    SystemdNotifier().ready()
  }
}
