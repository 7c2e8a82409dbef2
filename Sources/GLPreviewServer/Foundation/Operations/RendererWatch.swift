// Opens the renderer when the service starts, and retries if that fails.
package import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Monitors the renderer. It is opened in the background, so that the server can start in the meantime.
package final class RendererWatch: Service {
  package enum State: Sendable {
    /// The renderer is being opened for the first time.
    case opening
    /// Nothing has to be drawn, so that no driver is loaded, which would take tens of megabytes.
    case notNeeded
    case works(GPUDevice)
    /// The CPU draws in place of a GPU that has failed, until it works again.
    case standsIn(GPUDevice, reason: String)
    /// The renderer can't be opened, or the configuration does not allow it. All pictures are refused.
    case fails(String)

    /// The reason why pictures can't be rendered; nil if they can.
    package var failure: String? {
      switch self {
      case .opening: "the renderer is opening"
      case .notNeeded, .works, .standsIn: nil
      case .fails(let reason): reason
      }
    }

    /// The reason for a failure; nil while the renderer is being opened for the first time.
    package var problem: String? {
      switch self {
      case .opening, .notNeeded, .works: nil
      case .fails(let reason): reason
      case .standsIn(_, let reason): "the CPU draws until the GPU works again: \(reason)"
      }
    }

    package var device: GPUDevice? {
      switch self {
      case .opening, .notNeeded, .fails: nil
      case .works(let device), .standsIn(let device, _): device
      }
    }

    /// The name of the state's event: "renderer-works", "renderer-stands-in" or "renderer-fails".
    package var event: String {
      switch self {
      case .standsIn: "renderer-stands-in"
      case .opening, .fails: "renderer-fails"
      case .notNeeded, .works: "renderer-works"
      }
    }
  }

  private let requiresHardware: Bool
  private let logger: Logger
  private let device: @Sendable () async throws -> GPUDevice
  private let deviceFailure: @Sendable () async -> String?
  private let isNeeded: @Sendable () -> Bool
  private let onChange: @Sendable (State) -> Void
  private let now = Mutex(State.opening)

  /// The interval at which a working renderer is checked. After the loss of its context, it may have failed
  /// to reopen.
  private static let pollInterval = Duration.seconds(5)

  /// `device` opens the renderer if necessary; it is called once `isNeeded` returns true, or at once if
  /// hardware is required. `deviceFailure` returns why the CPU draws in place of a GPU, if it does. `onChange`
  /// is called when the renderer starts or stops working, or is replaced by the CPU.
  package init(
    requiresHardware: Bool, logger: Logger, device: @escaping @Sendable () async throws -> GPUDevice,
    deviceFailure: @escaping @Sendable () async -> String? = { nil },
    isNeeded: @escaping @Sendable () -> Bool, onChange: @escaping @Sendable (State) -> Void
  ) {
    self.isNeeded = isNeeded
    self.requiresHardware = requiresHardware
    self.logger = logger
    self.device = device
    self.deviceFailure = deviceFailure
    self.onChange = onChange
  }

  package var state: State { now.withLock { $0 } }

  package func run() async throws {
    await cancelWhenGracefulShutdown {
      var failures = 0
      while !Task.isCancelled {
        let state = await self.check()
        guard !Task.isCancelled else { return }
        self.take(state)
        failures = state.failure == nil ? 0 : failures + 1
        try? await Task.sleep(for: failures == 0 ? Self.pollInterval : Self.pause(after: failures))
      }
    }
  }

  private static func pause(after failures: Int) -> Duration {
    Backoff.pause(failures - 1, first: .seconds(1), longest: .seconds(15), jitter: .random(in: 0..<1))
  }

  private func check() async -> State {
    guard requiresHardware || isNeeded() else {
      switch state {
      case .works, .standsIn: return state
      case .opening, .notNeeded, .fails: return .notNeeded
      }
    }
    do {
      let device = try await device()
      guard !requiresHardware || !device.isSoftware else {
        return .fails(SoftwareRendererRefused(device: device).description)
      }
      if let reason = await deviceFailure() { return .standsIn(device, reason: reason) }
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
    guard before.problem != state.problem || before.failure != state.failure else { return }
    switch state {
    case .opening, .notNeeded: return
    case .works(let device):
      let words: Logger.Message =
        before.problem == nil ? "renderer available" : "renderer available again"
      var metadata: Logger.Metadata = ["renderer": "\(device.name)"]
      metadata["passed_over"] = device.passedOver.map { "\($0)" }
      metadata["shaders"] = device.passes.map { "\($0.rawValue)" }
      metadata["jpeg"] = device.jpegProcessor.map { "\($0.rawValue)" }
      logger.notice(words, metadata: metadata)
      if device.isUntried {
        logger.notice(
          """
          the fastest way to draw is not known: its trial needs a cache folder that can be written, and waits for those of \
          other processes
          """)
      }
    case .standsIn(let device, let reason):
      logger.warning(
        "renderer failed: the CPU draws until it works again, which is tried",
        metadata: ["renderer": "\(device.name)", "reason": "\(reason)"])
    case .fails(let reason):
      logger.error(
        """
        renderer failed: every picture is refused until a renderer can be opened, which is retried; \
        `glpreview devices` lists the devices
        """, metadata: ["reason": "\(reason)"])
    }
    onChange(state)
  }
}

/// The error for a software renderer if hardware is required.
package struct SoftwareRendererRefused: Error, CustomStringConvertible {
  package let device: GPUDevice

  package init(device: GPUDevice) {
    self.device = device
  }

  /// The problem and the remedy.
  package var description: String {
    "hardware is required, but \(device.driver?.renderer ?? "the only device") is software; "
      + "`glpreview devices` shows why"
  }
}
