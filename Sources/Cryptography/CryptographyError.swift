// Why OpenSSL fails.
internal import CCrypto

/// OpenSSL refuses to do something, usually because its configuration forbids it (openssl.cnf; a policy such as FIPS).
package struct CryptographyError: Error, Equatable, CustomStringConvertible {
  package let description: String

  /// Takes the reason from this thread's list of OpenSSL's errors, and clears the list.
  init(_ algorithm: String) {
    let reason = unsafe ERR_reason_error_string(ERR_get_error()).map { unsafe String(cString: $0) }
    ERR_clear_error()
    description = "OpenSSL refuses \(algorithm) (\(reason ?? "unknown reason")); openssl.cnf may forbid it"
  }
}
