// Hashes, HMAC and comparisons in constant time, by OpenSSL.
internal import CCrypto

/// A hash function (FIPS 180-4) and its HMAC (RFC 2104).
package struct HashFunction: Sendable {
  /// 20 bytes. Not for signatures; only for protocols that prescribe it.
  package static let sha1 = HashFunction(name: "SHA1")
  /// 32 bytes.
  package static let sha256 = HashFunction(name: "SHA256")

  /// OpenSSL's name of the function.
  let name: String

  package func hash(of message: [UInt8]) throws(CryptographyError) -> [UInt8] {
    var (hash, count) = ([UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE)), 0)
    guard unsafe EVP_Q_digest(nil, name, nil, message, message.count, &hash, &count) == 1 else {
      throw CryptographyError(name)
    }
    return Array(hash[..<count])
  }

  /// Returns the HMAC of a message; the key may have any length.
  package func authenticationCode(of message: [UInt8], key: [UInt8]) throws(CryptographyError) -> [UInt8] {
    var (code, count) = ([UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE)), 0)
    let result = unsafe EVP_Q_mac(
      nil, "HMAC", nil, name, nil, key, key.count, message, message.count, &code, code.count, &count)
    guard unsafe result != nil else { throw CryptographyError("HMAC-\(name)") }
    return Array(code[..<count])
  }
}

extension [UInt8] {
  /// Returns whether both are equal, in a time that depends only on their lengths.
  package func isEqualInConstantTime(to other: [UInt8]) -> Bool {
    unsafe count == other.count && CRYPTO_memcmp(self, other, count) == 0
  }
}
