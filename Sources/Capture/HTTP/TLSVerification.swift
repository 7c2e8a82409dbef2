// The certificates that TLS accepts from a server, and the reason why one is refused.
internal import Dispatch
internal import Glibc
internal import NIOCore
internal import NIOSSL

/// A certificate rule for one handshake. BoringSSL either verifies certificates itself or not at all, so
/// `CertificateTrust.file` has two rules: the certificates in the file, and those signed by them. Each is
/// tried with a separate handshake.
struct TLSVerification: Sendable {
  private let context: NIOSSLContext
  /// The only certificates that are accepted; nil if BoringSSL verifies.
  private let pins: Set<CertificateFingerprint>?
  private let trust: CertificateTrust

  /// Returns the rules for `trust`, in the order in which to try them. `additional` is the path of more
  /// authorities. Reads files, on a thread that may wait for the disk.
  static func rules(
    for trust: CertificateTrust, additional: String? = nil, protocols: [String] = []
  ) async throws -> [TLSVerification] {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "glpreview.roots").async {
        continuation.resume(
          with: Result {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.applicationProtocols = protocols
            return try rules(trust, additional, configuration)
          })
      }
    }
  }

  private static func rules(
    _ trust: CertificateTrust, _ additional: String?, _ usual: TLSConfiguration
  ) throws -> [TLSVerification] {
    var usual = usual
    func rule(pins: Set<CertificateFingerprint>? = nil) throws -> TLSVerification {
      TLSVerification(context: try NIOSSLContext(configuration: usual), pins: pins, trust: trust)
    }
    func pinned(_ pins: Set<CertificateFingerprint>) throws -> TLSVerification {
      // The callback in `handler(for:)` replaces BoringSSL's verification, which would first load the
      // system's authorities.
      usual.certificateVerification = .noHostnameVerification
      usual.trustRoots = .certificates([])
      return try rule(pins: pins)
    }
    switch trust {
    case .any:
      usual.certificateVerification = .none
      return [try rule()]
    case .system:
      (usual.trustRoots, usual.additionalTrustRoots) = try systemRoots()
      if let additional { usual.additionalTrustRoots.append(.file(additional)) }
      return [try rule()]
    case .fingerprint(let fingerprint): return [try pinned([fingerprint])]
    case .file(let path):
      let certificates = try certificates(in: path)
      usual.trustRoots = .certificates(certificates)
      let signed = try rule()
      return [
        try pinned(Set(certificates.map { try CertificateFingerprint(of: $0.toDERBytes()) })), signed,
      ]
    }
  }

  /// Returns the certificates of a PEM file.
  fileprivate static func certificates(in path: String) throws(ParameterError) -> [NIOSSLCertificate] {
    // A pipe would block, and yields nothing the second time.
    if let status = SystemFiles.status(path), status.st_mode & S_IFMT != S_IFREG {
      throw ParameterError("'\(path)' is not a file")
    }
    guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
      switch unsafe access(path, R_OK) == 0 ? 0 : errno {
      case 0: throw ParameterError("'\(path)' has no certificate (PEM)")
      case ENOENT: throw ParameterError("'\(path)': no such file")
      default: throw ParameterError("'\(path)' can't be read")
      }
    }
    return certificates
  }

  /// Returns the system's authorities. As with OpenSSL and curl, environment variables can replace them.
  private static func systemRoots() throws(ParameterError) -> (NIOSSLTrustRoots, [NIOSSLAdditionalTrustRoots])
  {
    let file = unsafe String(lent: getenv("SSL_CERT_FILE")).flatMap { $0.isEmpty ? nil : $0 }
    let folder = unsafe String(lent: getenv("SSL_CERT_DIR")).flatMap { $0.isEmpty ? nil : $0 }
    guard let first = folder ?? file else { return (.default, []) }
    for path in [file, folder].compactMap(\.self) where unsafe access(path, R_OK) != 0 {
      throw ParameterError("'\(path)', which SSL_CERT_\(path == file ? "FILE" : "DIR") names, can't be read")
    }
    return (.file(first), folder == nil ? [] : file.map { [.file($0)] } ?? [])
  }

  /// Returns a handler for one connection to `host`.
  func handler(for host: String?) throws -> NIOSSLClientHandler {
    guard let pins else { return try NIOSSLClientHandler(context: context, serverHostname: host) }
    return try NIOSSLClientHandler(context: context, serverHostname: host) { chain, verdict in
      let fingerprint = chain.first.flatMap { try? CertificateFingerprint(of: $0.toDERBytes()) }
      verdict.succeed(fingerprint.map(pins.contains) == true ? .certificateVerified : .failed)
    }
  }

  // MARK: Reasons for refusal

  /// Returns the failure if `error` means that the server's certificate is refused; otherwise nil.
  func failure(_ error: any Error, showing certificate: NIOSSLCertificate?, by host: String)
    -> CertificateFailure?
  {
    guard let certificate, let der = try? certificate.toDERBytes() else { return nil }
    let reason: String
    switch error {
    case NIOSSLError.handshakeFailed(let cause) where "\(cause)".contains("CERTIFICATE_VERIFY_FAILED"):
      if case .fingerprint = trust {
        reason = "does not have the configured fingerprint"
      } else {
        reason = untrustedReason(of: certificate)
      }
    case let error as NIOSSLExtraError
    where error == .failedToValidateHostname || error == .serverHostnameImpossibleToMatch:
      reason = "does not name \(host)"
    default: return nil
    }
    return CertificateFailure(reason: reason, fingerprint: CertificateFingerprint(of: der))
  }

  /// Finds the reason in the certificate, because BoringSSL reports only that it does not trust it.
  private func untrustedReason(of certificate: NIOSSLCertificate) -> String {
    let now = Int(WallClockTime.now().secondsSince1970)
    var reasons: [String] = []
    if certificate.subjectName == certificate.issuerName { reasons.append("is self-signed") }
    if now > certificate.notValidAfter { reasons.append("expired on \(day(certificate.notValidAfter))") }
    if now < certificate.notValidBefore {
      reasons.append("is not valid before \(day(certificate.notValidBefore)) by this machine's clock")
    }
    guard reasons.isEmpty else { return reasons.joined(separator: " and ") }
    guard case .file = trust else { return "is not signed by an authority that this machine trusts" }
    return "is not in the file of certificate, and is not signed by an authority in it"
  }

  private func day(_ secondsSince1970: Int) -> String {
    let time = WallClockTime(secondsSince1970: Double(secondsSince1970))
    return String(Label.TimeFormat.iso8601.text(of: time).prefix { $0 != "T" })
  }
}

/// The error of a refused server certificate.
struct CertificateFailure: Error, CustomStringConvertible {
  /// The reason, worded to follow "its certificate".
  let reason: String
  let fingerprint: CertificateFingerprint

  var description: String {
    "TLS fails: its certificate \(reason); if it is the right one, set certificate (--certificate) to its SHA-256 "
      + "fingerprint: \(fingerprint)"
  }
}

extension CertificateTrust {
  /// Checks that the file has certificates.
  ///
  /// - Throws: `ParameterError`.
  package func checkFile() throws(ParameterError) {
    if case .file(let path) = self { _ = try TLSVerification.certificates(in: path) }
  }
}
