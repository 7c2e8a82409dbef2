// Text forms of configuration values, without their secrets. They appear wherever a configuration, or a value that
// contains one, is printed, for example by libraries at log level `debug`.
internal import GLPreview

extension AccessConfiguration.Token: CustomStringConvertible {
  /// Without the secret.
  package var description: String { "*** (\(role.rawValue))" }
}

extension AccessConfiguration.User: CustomStringConvertible {
  /// Without the password.
  package var description: String { "\(name):*** (\(role.rawValue))" }
}

extension CameraConfiguration: CustomStringConvertible {
  /// The name, and the source without its secrets.
  package var description: String { "\(name): \(SourceLocator(source))" }
}

extension WebhookConfiguration: CustomStringConvertible {
  /// The address without its secrets.
  package var description: String { Redaction.source(url) }
}
