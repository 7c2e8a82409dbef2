// Ed25519, by OpenSSL.
internal import CCrypto

/// Signatures with a key that is derived from a seed of 32 bytes (RFC 8032, 5.1). All functions throw for a
/// seed of another length.
package enum Ed25519 {
  /// Returns the public key, 32 bytes.
  package static func publicKey(seed: [UInt8]) throws(CryptographyError) -> [UInt8] {
    try unsafe withKey(seed) { key in
      var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
      return unsafe EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 ? bytes : nil
    }
  }

  /// Returns the signature, 64 bytes.
  package static func signature(of message: [UInt8], seed: [UInt8]) throws(CryptographyError) -> [UInt8] {
    try unsafe withKey(seed) { key in
      let context = unsafe EVP_MD_CTX_new()
      defer { unsafe EVP_MD_CTX_free(context) }
      var (bytes, count) = ([UInt8](repeating: 0, count: 64), 64)
      let isSigned =
        unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1
        && EVP_DigestSign(context, &bytes, &count, message, message.count) == 1
      return isSigned ? bytes : nil
    }
  }

  /// Returns the result of `body`, which gets OpenSSL's key; throws if it is nil.
  private static func withKey(
    _ seed: [UInt8], _ body: (OpaquePointer) -> [UInt8]?
  ) throws(CryptographyError) -> [UInt8] {
    let key = unsafe EVP_PKEY_new_raw_private_key_ex(nil, "ED25519", nil, seed, seed.count)
    defer { unsafe EVP_PKEY_free(key) }
    guard let key = unsafe key, let result = unsafe body(key) else { throw CryptographyError("Ed25519") }
    return result
  }
}
