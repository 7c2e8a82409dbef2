// A configuration that was checked: the only kind that a service takes, so that none starts open by accident.

/// A configuration without faults.
///
/// Names are words that URLs and files take, all different among cameras and scenes; scenes show cameras that exist. On an
/// address that other machines reach, the service asks for credentials, or `access.isInsecure` says that it need not.
///
/// ```swift
/// var configuration = ServerConfiguration(cameras: [CameraConfiguration(name: "door", source: "/dev/video0")])
/// configuration.bind = .host("0.0.0.0", port: 8080)
/// configuration.access.tokens = [.init(secret: secret, role: .read)]
/// let server = PreviewServer(try ValidatedConfiguration(configuration), logger: logger)
/// ```
@dynamicMemberLookup
package struct ValidatedConfiguration: Sendable, Hashable {
  /// What was checked.
  package let configuration: ServerConfiguration

  /// Checks `configuration`.
  ///
  /// - Throws: `ConfigurationError` with everything that is wrong.
  package init(_ configuration: ServerConfiguration) throws(ConfigurationError) {
    let problems = configuration.faults.map {
      ConfigurationProblem(key: $0.path.joined(separator: "."), $0.reason)
    }
    guard problems.isEmpty else { throw ConfigurationError(problems) }
    self.configuration = configuration
  }

  /// A value of `configuration`.
  package subscript<Value>(dynamicMember key: KeyPath<ServerConfiguration, Value>) -> Value {
    configuration[keyPath: key]
  }
}
