// The certificates that are accepted over TLS. Most cameras have self-signed certificates that rarely name
// their host.

/// The certificates that are accepted from a camera over TLS (`https://`, `rtsps://`).
///
/// ```swift
/// var options = SourceOptions()
/// options.certificate = try CertificateTrust(parsing: "certs/door.pem")
/// ```
public enum CertificateTrust: Sendable, Hashable, CustomStringConvertible {
  /// A certificate for the camera's host, signed by an authority that this machine trusts. The authorities
  /// are those of `SSL_CERT_FILE` and `SSL_CERT_DIR` if either is set, otherwise those in `/etc/ssl/certs`.
  case system
  /// Any certificate. The connection is encrypted, but a machine between here and the camera can impersonate
  /// the camera.
  case any
  /// The certificate with this fingerprint, even if it names other hosts or has expired.
  case fingerprint(CertificateFingerprint)
  /// The certificates of a PEM file at this path, instead of the system's authorities. A certificate that is
  /// in the file itself is accepted like one with a matching fingerprint. A certificate signed by an
  /// authority in the file must be valid and name the camera's host.
  case file(String)

  /// Parses `system`, `any`, 64 hexadecimal digits, or a path. The file is not opened.
  ///
  /// - Throws: `ParameterError` for a fingerprint of the wrong length, and for an empty text.
  public init(parsing text: String) throws(ParameterError) {
    switch text {
    case "system": self = .system
    case "any": self = .any
    case "": throw ParameterError("is empty: use system, any, a SHA-256 fingerprint or a file")
    default:
      self =
        CertificateFingerprint.isMeant(by: text) ? .fingerprint(try .init(parsing: text)) : .file(text)
    }
  }

  /// The text that `init(parsing:)` accepts.
  public var description: String {
    switch self {
    case .system: "system"
    case .any: "any"
    case .fingerprint(let fingerprint): "\(fingerprint)"
    case .file(let path): path
    }
  }
}

/// The SHA-256 of a certificate's DER bytes, as `openssl x509 -noout -fingerprint -sha256` prints it.
public struct CertificateFingerprint: Sendable, Hashable, CustomStringConvertible {
  /// 64 hexadecimal digits in lower case.
  public let description: String

  private static let digitCount = 64

  /// Parses hexadecimal digits in either case, with or without colons.
  ///
  /// - Throws: `ParameterError` unless there are 64.
  public init(parsing text: String) throws(ParameterError) {
    let digits = text.lowercased().filter { $0 != ":" }
    guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw ParameterError("'\(text)' is not a fingerprint, which has hexadecimal digits and colons")
    }
    guard digits.count == Self.digitCount else {
      throw ParameterError(
        "a fingerprint has \(Self.digitCount) hexadecimal digits (SHA-256), not \(digits.count)")
    }
    description = digits
  }

  /// Computes the fingerprint of a certificate in DER.
  package init(of der: [UInt8]) { description = Hexadecimal.text(of: SHA256.sum(of: der)) }

  /// Returns whether a text is meant as a fingerprint, possibly of a wrong length, rather than as a path.
  fileprivate static func isMeant(by text: String) -> Bool {
    text.allSatisfy { $0 == ":" || $0.isASCII && $0.isHexDigit } && (text.contains(":") || text.count >= 32)
  }
}
