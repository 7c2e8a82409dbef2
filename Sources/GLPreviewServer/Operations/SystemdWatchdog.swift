// Feeds systemd's watchdog as long as the service is well: one that hangs is started anew. At the end says that it ends.
internal import ServiceLifecycle

/// A part of the service that says now and then that all is well, until the service ends.
package struct SystemdWatchdog: Service {
  private let notifier: SystemdNotifier
  private let isHealthy: @Sendable () async -> Bool

  /// Feeds by `notifier`; where systemd asks for nothing, it only waits for the end.
  ///
  /// - Parameters:
  ///   - notifier: to whom, and how often.
  ///   - isHealthy: asked each time; where it is false, or does not come back, nothing is sent.
  package init(_ notifier: SystemdNotifier, isHealthy: @escaping @Sendable () async -> Bool) {
    self.notifier = notifier
    self.isHealthy = isHealthy
  }

  /// Ends when the service does, and says so.
  ///
  /// - Throws: `CancellationError` where the task is cancelled.
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
