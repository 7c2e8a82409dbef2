// Values of a configuration that have secrets in them, as text. Whoever prints a configuration, or anything that holds one,
// as libraries do at the log's level `debug`, prints these.
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
  /// Its name and its source, without the secrets in that.
  package var description: String { "\(name): \(SourceLocator(source))" }
}

extension WebhookConfiguration: CustomStringConvertible {
  /// Its address, without the secrets in that.
  package var description: String { Redaction.source(url) }
}
