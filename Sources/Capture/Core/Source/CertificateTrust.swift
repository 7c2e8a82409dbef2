// Which certificates of cameras are accepted over TLS. Most cameras have signed their own, and it rarely names their host.

/// Which certificate a camera may show over TLS (`https://`, `rtsps://`).
///
/// ```swift
/// var options = SourceOptions()
/// options.certificate = try CertificateTrust(parsing: "certs/door.pem")
/// ```
public enum CertificateTrust: Sendable, Hashable, CustomStringConvertible {
  /// A certificate for the camera's host that an authority of this machine has signed: one of `SSL_CERT_FILE` and
  /// `SSL_CERT_DIR` if either is set, otherwise of `/etc/ssl/certs`.
  case system
  /// Any certificate: the connection is encrypted, but anything on the way can pretend to be the camera.
  case any
  /// The certificate with this fingerprint, whatever hosts it names, and also after it has expired.
  case fingerprint(CertificateFingerprint)
  /// The path of a PEM file, in place of the system's authorities. A certificate of the file itself is accepted as by
  /// its fingerprint. One that an authority of the file has signed must name the camera's host, and be valid.
  case file(String)

  /// Parses `system`, `any`, 64 hexadecimal digits, or a path. The file is not opened.
  ///
  /// - Throws: `WordError` for a fingerprint of another length, and for an empty text.
  public init(parsing text: String) throws(WordError) {
    switch text {
    case "system": self = .system
    case "any": self = .any
    case "": throw WordError("is empty; there are system, any, a fingerprint and a file")
    default:
      self =
        CertificateFingerprint.isMeant(by: text) ? .fingerprint(try .init(parsing: text)) : .file(text)
    }
  }

  /// The text that `init(parsing:)` takes.
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
  /// - Throws: `WordError` unless there are 64.
  public init(parsing text: String) throws(WordError) {
    let digits = text.lowercased().filter { $0 != ":" }
    guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw WordError("'\(text)' is not a fingerprint, which has hexadecimal digits and colons")
    }
    guard digits.count == Self.digitCount else {
      throw WordError(
        "a fingerprint has \(Self.digitCount) hexadecimal digits (SHA-256), not \(digits.count)")
    }
    description = digits
  }

  /// The fingerprint of a certificate in DER.
  package init(of der: [UInt8]) { description = Hexadecimal.text(of: SHA256.sum(of: der)) }

  /// Whether a text is a fingerprint, perhaps of a wrong length, and not a path.
  fileprivate static func isMeant(by text: String) -> Bool {
    text.allSatisfy { $0 == ":" || $0.isASCII && $0.isHexDigit } && (text.contains(":") || text.count >= 32)
  }
}
