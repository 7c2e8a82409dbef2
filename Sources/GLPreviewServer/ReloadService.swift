// Reloads the configuration on SIGHUP.
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Waits for SIGHUP while the service runs.
struct ReloadService: Service, CustomStringConvertible {
  /// The name in logs, without the content.
  var description: String { "ReloadService" }

  private let parts: ServiceParts
  private let reload: (@Sendable () async throws -> ValidatedConfiguration)?

  init(_ parts: ServiceParts, _ reload: (@Sendable () async throws -> ValidatedConfiguration)?) {
    self.parts = parts
    self.reload = reload
  }

  /// The minimum time between reloads, against storms of signals.
  private static let pause = Duration.milliseconds(250)

  func run() async throws {
    // Any number of signals during a reload cause one more reload.
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

  /// An invalid configuration changes nothing.
  private func reloadNow() async {
    guard let reload else {
      return parts.logger.notice("SIGHUP ignored: the service has no configuration file")
    }
    SystemdNotifier().reloading()
    do {
      try await parts.apply(try await reload())
      parts.logger.notice("configuration reloaded")
    } catch is CancellationError where Task.isCancelled {
      // The service is shutting down.
      return
    } catch {
      parts.logger.error("configuration not reloaded", metadata: ["reason": "\(error)"])
    }
    SystemdNotifier().ready()
  }
}
