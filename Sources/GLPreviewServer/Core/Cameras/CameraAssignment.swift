// Selects the cameras of the configuration that this node serves: its fixed cameras, and those whose leases
// it holds. Changes of the configuration and of leases are applied one after the other.
internal import Logging

package final class CameraAssignment: Sendable {
  private let registry: CameraRegistry
  private let logger: Logger
  private let state: Watched<State>

  private struct State {
    var configuration: ServerConfiguration
    var name: String
    var held: Set<String> = []
    var isBusy = false

    var served: ServerConfiguration { configuration.served(at: name, holding: held) }
  }

  /// `name` is the name of this node.
  init(_ configuration: ServerConfiguration, name: String, _ registry: CameraRegistry, logger: Logger) {
    (self.registry, self.logger) = (registry, logger)
    state = Watched(State(configuration: configuration, name: name))
  }

  /// Switches to another configuration. `swapping` is called at the moment of the switch.
  ///
  /// - Throws: the errors of `CameraRegistry.apply`; nothing is changed then.
  package func apply(_ configuration: ServerConfiguration, name: String, swapping: () -> Void) async throws {
    try await alone { state in
      (state.configuration, state.name) = (configuration, name)
    } then: {
      try await registry.apply($0, swapping: swapping)
    }
  }

  /// Serves the cameras whose leases this node holds, and removes those whose leases it no longer holds. If a
  /// camera can't be added, because its `avatar` picture is missing, the error is logged and nothing is
  /// changed.
  package func hold(_ cameras: Set<String>) async {
    do {
      try await alone {
        $0.held = cameras
      } then: {
        try await registry.apply($0)
      }
    } catch is CancellationError {
    } catch {
      logger.error("camera not served", metadata: ["reason": "\(error)"])
    }
  }

  /// The configuration of a camera, whether this node serves it or not; nil if there is none.
  package func camera(_ name: String) -> CameraConfiguration? {
    state.withLock { $0.configuration.cameras.first { $0.name == name } }
  }

  /// The configuration of a scene, whether this node serves it or not; nil if there is none.
  func scene(_ name: String) -> SceneConfiguration? {
    state.withLock { $0.configuration.scenes.first { $0.name == name } }
  }

  private func alone(
    _ change: (inout State) -> Void, then apply: (ServerConfiguration) async throws -> Void
  ) async throws {
    _ = try await state.first { state -> Bool? in
      guard !state.isBusy else { return nil }
      state.isBusy = true
      return true
    }
    defer { state.update { $0.isBusy = false } }
    var next = state.value
    change(&next)
    try await apply(next.served)
    state.update { ($0.configuration, $0.name, $0.held) = (next.configuration, next.name, next.held) }
  }
}
