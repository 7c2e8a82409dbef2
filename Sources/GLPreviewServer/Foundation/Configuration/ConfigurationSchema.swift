// All keys that a configuration may have: for reading it, for its documentation, and for what a reload can't change.

/// The keys of a service in the order of docs/configuration.md: the core's, and those of its features. `make api` writes their
/// documentation.
package struct ConfigurationSchema: Sendable {
  let service: [ConfigurationKey<ServerConfiguration>]

  package init(_ service: [ConfigurationKey<ServerConfiguration>]) { self.service = service }

  /// The keys that differ from those at the start and wait for the next one, such as `mqtt.server`.
  package func waitingForRestart(_ start: ValidatedConfiguration, _ now: ValidatedConfiguration) -> [String] {
    service.flatMap { $0.differences(start.configuration, now.configuration) }
      .filter(\.waitsForRestart).map { $0.path.joined(separator: ".") }
  }
}
