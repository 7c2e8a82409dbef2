// Digests, which replace secrets wherever these are stored or compared.
internal import Cryptography

/// The SHA-256 of a secret. Comparisons take constant time.
package struct SecretDigest: Sendable, Hashable {
  private let bytes: [UInt8]

  package init(of secret: String) { bytes = SHA256.sum(of: Array(secret.utf8)) }

  /// Creates a digest of both together, so that one user's name with another's password never matches, and
  /// colons cause no ambiguity.
  package init(of user: String, password: String) {
    bytes = SHA256.sum(of: SecretDigest(of: user).bytes + SecretDigest(of: password).bytes)
  }

  package static func == (one: Self, other: Self) -> Bool { one.bytes.isEqualInConstantTime(to: other.bytes) }
}
