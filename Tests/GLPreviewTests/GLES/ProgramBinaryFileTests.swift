// What a kept program is known by, and what is found out about its file.
import Testing

@testable import GLPreview

@Suite struct ProgramBinaryFileTests {
  private let key = ProgramBinaryKey(sources: ["vertex", "fragment"], driver: ["Vendor", "Renderer", "3.2"])
  private let binary = ProgramBinary(format: 0x8_7654_321, bytes: (0..<90).map { UInt8($0) })

  @Test("a program survives encoding to a file and decoding")
  func roundTrip() {
    let file = ProgramBinaryFile.encode(binary, for: key)
    #expect(ProgramBinaryFile.decode(file, for: key) == binary)
  }

  @Test("a program file with any bit flipped is not decoded")
  func flippedBits() {
    let file = ProgramBinaryFile.encode(binary, for: key)
    for index in file.indices {
      for bit in 0..<8 {
        var changed = file
        changed[index] ^= 1 << UInt8(bit)
        #expect(ProgramBinaryFile.decode(changed, for: key) == nil, "bit \(bit) of byte \(index)")
      }
    }
  }

  @Test("a truncated or extended program file is not decoded")
  func cut() {
    let file = ProgramBinaryFile.encode(binary, for: key)
    for length in 0..<file.count {
      #expect(ProgramBinaryFile.decode(Array(file.prefix(length)), for: key) == nil, "\(length) bytes")
    }
    #expect(ProgramBinaryFile.decode(file + [0], for: key) == nil)
    #expect(ProgramBinaryFile.decode(file + file, for: key) == nil)
  }

  @Test("a program file with the key of another program is not decoded")
  func otherKey() {
    let other = ProgramBinaryKey(sources: ["vertex", "other"], driver: ["Vendor", "Renderer", "3.2"])
    #expect(ProgramBinaryFile.decode(ProgramBinaryFile.encode(binary, for: other), for: key) == nil)
  }

  @Test("keys differ for any difference in sources or driver, also if the joined text is equal")
  func keys() {
    let keys = [
      (["ab", "c"], ["d"]), (["a", "bc"], ["d"]), (["abc"], ["d"]), (["ab", "c", ""], ["d"]),
      (["c"], ["ab"]), (["ab", "c"], ["e"]), (["b", "c"], ["d", "a"]), (["ab", "c"], ["d", ""]),
    ].map { ProgramBinaryKey(sources: $0, driver: $1) }
    #expect(Set(keys).count == keys.count)
    #expect(Set(keys.map(\.name)).count == keys.count)
    #expect(keys[0].name.count == 64 && keys[0].name.allSatisfy(\.isHexDigit))
    #expect(ProgramBinaryKey(sources: ["ab", "c"], driver: ["d"]) == keys[0])
  }

  /// By Python's hashlib, of bytes that count from 0 to 250 over and over; the lengths are those at which blocks end.
  @Test(
    "SHA-256 sums match reference values at block boundaries",
    arguments: [
      (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (3, "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc"),
      (55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59"),
      (56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562"),
      (63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488"),
      (64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"),
      (65, "4bfd2c8b6f1eec7a2afeb48b934ee4b2694182027e6d0fc075074f2fabb31781"),
      (119, "da18797ed7c3a777f0847f429724a2d8cd5138e6ed2895c3fa1a6d39d18f7ec6"),
      (120, "f52b23db1fbb6ded89ef42a23ce0c8922c45f25c50b568a93bf1c075420bbb7c"),
      (1000, "4e4c294b331f7a2099a379bec34b9f9fc03dc46ab465d998f4d683da53487e6d"),
    ])
  func sums(length: Int, sum: String) {
    let bytes = SHA256.sum(of: (0..<length).map { UInt8($0 % 251) })
    let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    #expect(digits.joined() == sum)
  }
}
