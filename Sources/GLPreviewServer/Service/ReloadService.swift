// Reloads the configuration on SIGHUP.
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Loads the configuration again at each SIGHUP after the creation of this value.
package struct ConfigurationReload: Sendable {
  fileprivate let signals: UnixSignalsSequence
  fileprivate let load: @Sendable () async throws -> ValidatedConfiguration

  /// - Parameter load: loads the configuration. If it throws, the current configuration remains.
  package init(_ load: @escaping @Sendable () async throws -> ValidatedConfiguration) async {
    signals = await UnixSignalsSequence(trapping: .sighup)
    self.load = load
  }
}

/// Waits for SIGHUP while the service runs.
struct ReloadService: Service, CustomStringConvertible {
  let parts: ServiceParts
  let reload: ConfigurationReload

  /// The minimum interval between reloads, against bursts of signals.
  private static let pause = Duration.milliseconds(250)

  func run() async throws {
    // Any number of signals during a reload cause one more reload.
    let (requests, request) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await cancelWhenGracefulShutdown {
      await withTaskGroup { group in
        group.addTask {
          for await _ in reload.signals { request.yield() }
          request.finish()
        }
        for await _ in requests {
          await reloadNow()
          try? await Task.sleep(for: Self.pause)
        }
        group.cancelAll()
      }
    }
  }

  /// Reloads the configuration. An invalid one changes nothing.
  private func reloadNow() async {
    SystemdNotifier().reloading()
    do {
      try await parts.apply(try await reload.load())
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
