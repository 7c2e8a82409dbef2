// The error of OpenSSL.
internal import CCrypto

/// The error when OpenSSL refuses an operation, usually because its configuration forbids it (openssl.cnf; a
/// policy such as FIPS).
package struct CryptographyError: Error, Equatable, CustomStringConvertible {
  package let description: String

  /// Creates an error with the reason from this thread's OpenSSL error queue, and clears the queue.
  init(_ algorithm: String) {
    let reason = unsafe ERR_reason_error_string(ERR_get_error()).map { unsafe String(cString: $0) }
    ERR_clear_error()
    description = "OpenSSL refuses \(algorithm) (\(reason ?? "unknown reason")); openssl.cnf may forbid it"
  }
}
