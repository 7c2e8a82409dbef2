// All keys of a configuration: for reading, for the documentation, and for the changes that need a restart.

/// The keys of a service in the order of docs/configuration.md: the core's, and those of its features. `make
/// api` writes their documentation.
package struct ConfigurationSchema: Sendable {
  let service: [ConfigurationKey<ServerConfiguration>]

  package init(_ service: [ConfigurationKey<ServerConfiguration>]) { self.service = service }

  /// Returns the keys that differ from those at the start and take effect at the next start only, such as
  /// `mqtt.server`.
  package func waitingForRestart(_ start: ValidatedConfiguration, _ now: ValidatedConfiguration) -> [String] {
    service.flatMap { $0.differences(start.configuration, now.configuration) }
      .filter(\.waitsForRestart).map { $0.path.joined(separator: ".") }
  }
}
