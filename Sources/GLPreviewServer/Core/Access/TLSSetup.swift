// Loads certificates and keys, and reports their problems before a client connects.
internal import Glibc
package import NIOSSL

/// The TLS configuration of a service, for version 1.2 or later.
package struct TLSSetup: Sendable {
  package let configuration: TLSConfiguration
  /// Problems that do not prevent the start, such as an expired certificate.
  package let warnings: [String]

  /// Loads PEM files. `now` is in seconds since 1970.
  ///
  /// - Throws: `TLSError` if a file can't be read, contains something else, or the key does not belong to the
  ///   certificate.
  package init(_ files: TLSFiles, now: Int = time(nil)) throws(TLSError) {
    try Self.checkReadable(files.certificateChain)
    try Self.checkReadable(files.privateKey)
    let chain: [NIOSSLCertificate]
    do {
      chain = try NIOSSLCertificate.fromPEMFile(files.certificateChain)
    } catch {
      throw TLSError("\(files.certificateChain): is not a PEM certificate (\(error))")
    }
    guard let certificate = chain.first else {
      throw TLSError("\(files.certificateChain): contains no certificate")
    }
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(file: files.privateKey, format: .pem)
    } catch {
      throw TLSError("\(files.privateKey): is not a PEM private key, or has a passphrase (\(error))")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    // For TLS 1.2, only cipher suites with forward secrecy and authenticated encryption; all of TLS 1.3's are
    // of this kind.
    configuration.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
    configuration.applicationProtocols = ["http/1.1"]
    do {
      // Checks that key and certificate match, as the server does.
      _ = try NIOSSLContext(configuration: configuration)
    } catch {
      throw TLSError(
        "\(files.privateKey): is not the key of the certificate in \(files.certificateChain) (\(error))")
    }
    self.configuration = configuration
    warnings = Self.warnings(of: certificate, files.certificateChain, now)
  }

  private static func checkReadable(_ path: String) throws(TLSError) {
    guard unsafe access(path, R_OK) == 0 else {
      throw TLSError("\(path): \(String(errno: errno))")
    }
  }

  private static func warnings(of certificate: NIOSSLCertificate, _ path: String, _ now: Int) -> [String] {
    let days = (certificate.notValidAfter - now) / 86400
    if certificate.notValidAfter < now { return ["\(path): the certificate has expired"] }
    if certificate.notValidBefore > now { return ["\(path): the certificate is not valid yet"] }
    return days < 14 ? ["\(path): the certificate expires in \(days) days"] : []
  }
}

/// A problem with a certificate or its key.
package struct TLSError: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
