// A checked configuration. Services accept no other, so that none is open to everyone by accident.

/// A configuration without faults.
///
/// Names are valid in URLs and file names, and unique among cameras and scenes. Scenes show cameras that exist. On an
/// address that other machines can reach, the service requires credentials, unless `access.isInsecure` is true.
///
/// ```swift
/// var configuration = ServerConfiguration(cameras: [CameraConfiguration(name: "door", source: "/dev/video0")])
/// configuration.bind = .host("0.0.0.0", port: 8080)
/// configuration.access.tokens = [.init(secret: secret, role: .read)]
/// let server = PreviewServer(try ValidatedConfiguration(configuration), logger: logger)
/// ```
@dynamicMemberLookup
package struct ValidatedConfiguration: Sendable, Hashable {
  /// The checked configuration.
  package let configuration: ServerConfiguration

  /// Checks `configuration`.
  ///
  /// - Throws: `ConfigurationError` with all problems.
  package init(_ configuration: ServerConfiguration) throws(ConfigurationError) {
    let problems = configuration.faults.map {
      ConfigurationProblem(key: $0.path.joined(separator: "."), $0.reason)
    }
    guard problems.isEmpty else { throw ConfigurationError(problems) }
    self.configuration = configuration
  }

  /// Returns a value of `configuration`.
  package subscript<Value>(dynamicMember key: KeyPath<ServerConfiguration, Value>) -> Value {
    configuration[keyPath: key]
  }
}
