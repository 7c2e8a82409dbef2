// A linked program in a driver's own form, and the file that it is kept in.

/// What `glGetProgramBinary` gives and `glProgramBinary` takes.
struct ProgramBinary: Sendable, Equatable {
  /// The driver's number for the form of `bytes`.
  let format: UInt32
  let bytes: [UInt8]
}

/// What a program is known by: a sum over its sources, its driver and the form of our files.
struct ProgramBinaryKey: Sendable, Hashable {
  /// Of another number, nothing that is on a disk is known any more.
  private static let version = "glpreview program 1"

  /// 32 of them.
  let bytes: [UInt8]

  /// `sources` are as they are compiled; `driver` is whatever its programs depend on.
  init(sources: [String], driver: [String]) {
    // Each with its length before it: no two lists run together into the same bytes.
    bytes = SHA256.sum(
      of: ([Self.version] + driver + sources).flatMap { text in
        ProgramBinaryFile.bytes(of: UInt64(text.utf8.count)) + Array(text.utf8)
      })
  }

  /// In letters that are safe in a file's name.
  var name: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// The file's bytes: "GLPVPROG", key, format (4 bytes, lowest first), sum over all others, the driver's bytes.
///
/// A driver takes what it is given for its own: some crash on bytes that are not. So what was cut, has been changed or is
/// another program's never comes to it.
enum ProgramBinaryFile {
  private static let magic = Array("GLPVPROG".utf8)
  private static let headerLength = 8 + 32 + 4 + 32

  static func encode(_ binary: ProgramBinary, for key: ProgramBinaryKey) -> [UInt8] {
    let head = magic + key.bytes + bytes(of: binary.format)
    return head + SHA256.sum(of: head + binary.bytes) + binary.bytes
  }

  /// Nil for everything that `encode` did not make for the same key.
  static func decode(_ file: [UInt8], for key: ProgramBinaryKey) -> ProgramBinary? {
    guard file.count > headerLength, file.starts(with: magic + key.bytes) else { return nil }
    let (head, sum, bytes) = (file[..<44], file[44..<headerLength], Array(file[headerLength...]))
    guard SHA256.sum(of: head + bytes).elementsEqual(sum) else { return nil }
    let format = head.suffix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    return ProgramBinary(format: format, bytes: bytes)
  }

  /// The lowest first.
  fileprivate static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
