// Certificates and keys from their files, with what is wrong with them said before anybody connects.
internal import GLPreview
internal import Glibc
internal import NIOSSL

/// TLS as a service speaks it: 1.2 at least.
struct TLSSetup: Sendable {
  /// For the server.
  let configuration: TLSConfiguration
  /// What works, but not for everybody or not for long.
  let warnings: [String]

  /// Reads `files`.
  ///
  /// - Parameters:
  ///   - files: PEM.
  ///   - now: seconds since 1970.
  /// - Throws: `TLSError` where one can't be read, holds something else, or the key is another certificate's.
  init(_ files: TLSFiles, now: Int = time(nil)) throws(TLSError) {
    try Self.checkReadable(files.certificateChain)
    try Self.checkReadable(files.privateKey)
    let chain: [NIOSSLCertificate]
    do {
      chain = try NIOSSLCertificate.fromPEMFile(files.certificateChain)
    } catch {
      throw TLSError("\(files.certificateChain): is no certificate in PEM (\(error))")
    }
    guard let certificate = chain.first else {
      throw TLSError("\(files.certificateChain): holds no certificate")
    }
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(file: files.privateKey, format: .pem)
    } catch {
      throw TLSError("\(files.privateKey): is no private key in PEM, or has a passphrase (\(error))")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    // Of TLS 1.2 what is forward secret and authenticates what it encrypts; all of TLS 1.3 is so.
    configuration.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
    configuration.applicationProtocols = ["http/1.1"]
    do {
      // As the server will; this compares the two.
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
      throw TLSError("\(path): \(unsafe String(cString: strerror(errno)))")
    }
  }

  private static func warnings(of certificate: NIOSSLCertificate, _ path: String, _ now: Int) -> [String] {
    let days = (certificate.notValidAfter - now) / 86400
    if certificate.notValidAfter < now { return ["\(path): the certificate has expired"] }
    if certificate.notValidBefore > now { return ["\(path): the certificate is not valid yet"] }
    return days < 14 ? ["\(path): the certificate expires in \(days) days"] : []
  }
}

/// What is wrong with a certificate or its key.
struct TLSError: Error, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
