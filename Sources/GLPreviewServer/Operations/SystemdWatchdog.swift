// Notifies systemd's watchdog while the service is healthy, so that a hanging service is restarted; reports the stop
// at the end.
internal import ServiceLifecycle

/// A part of the service that reports its health until the service ends.
package struct SystemdWatchdog: Service {
  private let notifier: SystemdNotifier
  private let isHealthy: @Sendable () async -> Bool

  /// Notifies through `notifier`; without a watchdog, only waits for the end.
  ///
  /// - Parameters:
  ///   - notifier: the receiver, and the interval.
  ///   - isHealthy: called each time; if it returns false or hangs, nothing is sent.
  package init(_ notifier: SystemdNotifier, isHealthy: @escaping @Sendable () async -> Bool) {
    self.notifier = notifier
    self.isHealthy = isHealthy
  }

  /// Runs until the service ends, then reports that it is stopping.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  package func run() async throws {
    try await withGracefulShutdownHandler {
      try await feed()
    } onGracefulShutdown: {
      notifier.stopping()
    }
  }

  private func feed() async throws {
    guard let interval = notifier.watchdogInterval else { return try await gracefulShutdown() }
    do {
      try await cancelWhenGracefulShutdown {
        while true {
          if await isHealthy() { notifier.alive() }
          try await Task.sleep(for: interval)
        }
      }
    } catch is CancellationError where Task.isShuttingDownGracefully {
      return
    }
  }
}
