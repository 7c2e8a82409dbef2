// Hashes and HMACs, held against the answers of their RFCs.
import Testing

@testable import Cryptography

@Suite("Hash functions")
struct HashFunctionTests {
  @Test(
    "SHA-1 and SHA-256 match the test vectors of RFC 3174 (7.3) and RFC 6234 (8.5)",
    arguments: [
      (
        "abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      ),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
      ),
      (
        "01234567", 80, "dea356a2cddd90c7a7ecedc5ebb563934f460452",
        "594847328451bdfa85056225462cc1d867d877fb388df0ce35f25ab5562bfbb5"
      ),
      (
        "", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
      ),
    ])
  func hashes(text: String, count: Int, sha1: String, sha256: String) throws {
    let message = Array(String(repeating: text, count: count).utf8)
    #expect(try HashFunction.sha1.hash(of: message) == [UInt8](sha1))
    #expect(try HashFunction.sha256.hash(of: message) == [UInt8](sha256))
  }

  private static let longMessage =
    "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
    + "hashed before being used by the HMAC algorithm."

  /// A byte of a message or a key, and how often it stands there.
  private static func repeated(_ byte: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: byte, count: count)
  }

  @Test(
    "HMAC-SHA1 matches the test vectors of RFC 2202 (3)",
    arguments: [
      (repeated(0x0b, 20), Array("Hi There".utf8), "b617318655057264e28bc0b6fb378c8ef146be00"),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
      ),
      (repeated(0xaa, 20), repeated(0xdd, 50), "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
      (Array(1...25), repeated(0xcd, 50), "4c9007f4026250c6bc8414f9bf50c86c2d7235da"),
      (
        repeated(0xaa, 80), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "aa4ae5e15272d00e95705637ce8a3b55ed402112"
      ),
      // Not of the RFC: by Python's hmac.
      ([], [], "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d"),
    ] as [([UInt8], [UInt8], String)])
  func hmacSHA1(key: [UInt8], message: [UInt8], code: String) throws {
    #expect(try HashFunction.sha1.authenticationCode(of: message, key: key) == [UInt8](code))
  }

  @Test(
    "HMAC-SHA256 matches the test vectors of RFC 4231 (4)",
    arguments: [
      (
        repeated(0x0b, 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        repeated(0xaa, 20), repeated(0xdd, 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        Array(1...25), repeated(0xcd, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
      ),
      (
        repeated(0xaa, 131), Array(longMessage.utf8),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
      ),
    ] as [([UInt8], [UInt8], String)])
  func hmacSHA256(key: [UInt8], message: [UInt8], code: String) throws {
    #expect(try HashFunction.sha256.authenticationCode(of: message, key: key) == [UInt8](code))
  }

  @Test("an algorithm that OpenSSL rejects throws an error with its name, and later hashes work")
  func refusal() throws {
    let unknown = HashFunction(name: "NONE-256")
    let refused = "OpenSSL refuses NONE-256 (unsupported); openssl.cnf may forbid it"
    #expect(#expect(throws: CryptographyError.self) { try unknown.hash(of: []) }?.description == refused)
    #expect(throws: CryptographyError.self) { try unknown.authenticationCode(of: [], key: [1]) }

    #expect(try HashFunction.sha1.hash(of: []).count == 20)
  }

  @Test("`isEqualInConstantTime` compares the length and every byte")
  func equality() {
    #expect([1, 2, 3].isEqualInConstantTime(to: [1, 2, 3]) && [].isEqualInConstantTime(to: []))
    #expect(
      ![1, 2, 3].isEqualInConstantTime(to: [1, 2, 4]) && ![0, 2, 3].isEqualInConstantTime(to: [1, 2, 3]))
    #expect(![1, 2, 3].isEqualInConstantTime(to: [1, 2]) && ![].isEqualInConstantTime(to: [1]))
  }
}
