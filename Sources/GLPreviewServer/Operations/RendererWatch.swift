// Whether pictures can be drawn: the renderer is opened when the service starts, and tried again for as long as none works.
package import GLPreview
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Looks after the renderer. It is opened beside the start of the server, which does not wait for it.
final class RendererWatch: Service {
  /// How the renderer is.
  enum State: Sendable {
    /// It is being opened for the first time.
    case opening
    case works(GPUDevice)
    /// Every picture is refused, or is none that the configuration allows.
    case fails(String)

    /// Why no picture can be drawn; nil where one can.
    var failure: String? {
      switch self {
      case .opening: "the renderer is being opened"
      case .works: nil
      case .fails(let reason): reason
      }
    }

    /// What went wrong; nil while it is being opened for the first time.
    var problem: String? { if case .fails(let reason) = self { reason } else { nil } }

    var device: GPUDevice? { if case .works(let device) = self { device } else { nil } }
  }

  private let requiresHardware: Bool
  private let logger: Logger
  private let device: @Sendable () async throws -> GPUDevice
  private let onChange: @Sendable (State) -> Void
  private let now = Mutex(State.opening)

  /// A renderer that works is looked at so often: one whose context was lost may not have opened again.
  private static let looksEvery = Duration.seconds(5)
  private static let retries = RetrySchedule(first: .seconds(1), longest: .seconds(15))

  /// - Parameters:
  ///   - requiresHardware: whether a software renderer counts as none.
  ///   - logger: is told when the renderer begins or ceases to work.
  ///   - device: opens the renderer, where it is not open.
  ///   - onChange: is told the same.
  init(
    requiresHardware: Bool, logger: Logger, device: @escaping @Sendable () async throws -> GPUDevice,
    onChange: @escaping @Sendable (State) -> Void
  ) {
    self.requiresHardware = requiresHardware
    self.logger = logger
    self.device = device
    self.onChange = onChange
  }

  /// How it was a moment ago.
  var state: State { now.withLock { $0 } }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var failures = 0
      while !Task.isCancelled {
        let state = await self.look()
        guard !Task.isCancelled else { return }
        self.take(state)
        failures = state.failure == nil ? 0 : failures + 1
        let wait = failures == 0 ? Self.looksEvery : Self.retries.wait(after: failures)
        try? await Task.sleep(for: wait)
      }
    }
  }

  private func look() async -> State {
    do {
      let device = try await device()
      guard !requiresHardware || !device.isSoftware else {
        return .fails(SoftwareRendererRefused(device: device).description)
      }
      return .works(device)
    } catch {
      return .fails((error as? DeviceError)?.description ?? "\(error)")
    }
  }

  private func take(_ state: State) {
    let before = now.withLock { now in
      defer { now = state }
      return now
    }
    guard before.failure != state.failure else { return }
    switch state {
    case .opening: return
    case .works(let device):
      let name = device.driver?.renderer ?? device.kind.rawValue
      let words: Logger.Message =
        if case .fails = before { "the renderer works again" } else { "the renderer works" }
      logger.notice(words, metadata: ["renderer": "\(name)"])
    case .fails(let reason):
      logger.error(
        """
        nothing can be drawn: every picture is refused until a renderer works; it is tried again. \
        `glpreview devices` says what there is
        """, metadata: ["reason": "\(reason)"])
    }
    onChange(state)
  }
}

/// A software renderer where hardware is required.
package struct SoftwareRendererRefused: Error, CustomStringConvertible {
  /// What would have been taken.
  package let device: GPUDevice

  /// What to do.
  package var description: String {
    "hardware is required, and \(device.driver?.renderer ?? "what there is") is software; "
      + "`glpreview devices` tells why"
  }
}
