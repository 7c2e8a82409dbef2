// Credentials of a client.
internal import Cryptography
internal import FoundationEssentials

/// Credentials. Descriptions and dumps contain no secrets.
package enum NATSAuthentication: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  /// No credentials, or only a client certificate (`NATSConfiguration.TLS`).
  case none
  /// The token that all clients share.
  case token(String)
  /// A name and a password.
  case user(String, password: String)
  /// A key pair. The server knows its public key.
  case nkey(NKey)

  package var description: String {
    switch self {
    case .none: "none"
    case .token: "token"
    case .user(let name, _): "user \(name)"
    case .nkey(let key): "nkey \(key.publicKey)"
    }
  }

  /// The user's name, or instead the public key, if it is a valid subject token.
  var name: String? {
    let name: String? =
      switch self {
      case .user(let name, _): name
      case .nkey(let key): key.publicKey
      case .none, .token: nil
      }
    return name.flatMap { NATSSubject.isToken($0) ? $0 : nil }
  }

  package var customMirror: Mirror { Mirror(self, children: [("authentication", description)]) }
}

/// A user's Ed25519 key, from the seed that `nk -gen user` prints ("SU...").
package struct NKey: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  /// The key to list in the server's configuration, "U...".
  package let publicKey: String
  private let seed: [UInt8]

  /// Prefixes are the upper five bits of the first byte, so that base32 shows them as a letter: U and S.
  private static let userPrefix: UInt8 = 20 << 3
  private static let seedPrefix: UInt8 = 18 << 3

  /// - Throws: `NATSError.invalidConfiguration` if the text is not a user's seed, or OpenSSL refuses Ed25519.
  package init(seed text: String) throws(NATSError) {
    let damaged = NATSError.invalidConfiguration("an nkey seed is 58 letters and digits that begin with SU")
    guard text.utf8.count == 58, let bytes = Self.decoded(text) else { throw damaged }
    let checksum = UInt16(bytes[34]) | UInt16(bytes[35]) << 8
    let kind = (bytes[0] & 7) << 5 | bytes[1] >> 3
    guard Self.crc16(bytes[..<34]) == checksum, bytes[0] & 0xF8 == Self.seedPrefix, kind == Self.userPrefix
    else { throw damaged }
    seed = Array(bytes[2..<34])
    do throws(CryptographyError) {
      publicKey = Self.encoded([Self.userPrefix] + (try Ed25519.publicKey(seed: seed)))
    } catch { throw .invalidConfiguration("\(error)") }
  }

  /// Returns the signature of a server's nonce, as base64url without padding.
  func signature(of nonce: String) throws(NATSError) -> String {
    do throws(CryptographyError) {
      let signature = try Data(Ed25519.signature(of: Array(nonce.utf8), seed: seed)).base64EncodedString()
      return signature.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    } catch { throw .invalidConfiguration("\(error)") }
  }

  package var description: String { publicKey }
  package var customMirror: Mirror { Mirror(self, children: [("publicKey", publicKey)]) }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// Decodes base32 (RFC 4648) without padding.
  private static func decoded(_ text: String) -> [UInt8]? {
    var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
    for letter in text.utf8 {
      guard let value = alphabet.firstIndex(of: letter) else { return nil }
      bits = bits << 5 | UInt32(value)
      count += 5
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }

  /// Encodes the bytes and their checksum in base32.
  private static func encoded(_ bytes: [UInt8]) -> String {
    let checksum = crc16(bytes[...])
    var (text, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
    for byte in bytes + [UInt8(checksum & 0xFF), UInt8(checksum >> 8)] {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 5 {
        count -= 5
        text.append(alphabet[Int(bits >> UInt32(count) & 31)])
      }
    }
    if count > 0 { text.append(alphabet[Int(bits << UInt32(5 - count) & 31)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Computes CRC-16/XMODEM: polynomial 0x1021, initial value 0.
  private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    bytes.reduce(UInt16(0)) { sum, byte in
      (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
    }
  }
}
