// A linked program in the driver's binary format, and its cache file.

/// The result of `glGetProgramBinary` and the input of `glProgramBinary`.
struct ProgramBinary: Sendable, Equatable {
  /// The driver's number for the format of `bytes`.
  let format: UInt32
  let bytes: [UInt8]
}

/// The cache key of a program: a hash of its sources, its driver and our file format.
struct ProgramBinaryKey: Sendable, Hashable {
  /// The version of the file format; changing it invalidates all cached files.
  private static let version = "glpreview program 1"

  /// 32 bytes.
  let bytes: [UInt8]

  /// `sources` are the texts as compiled; `driver` is everything that its programs depend on.
  init(sources: [String], driver: [String]) {
    // Each string is preceded by its length, so that different lists never give the same bytes.
    bytes = SHA256.sum(
      of: ([Self.version] + driver + sources).flatMap { text in
        ProgramBinaryFile.bytes(of: UInt64(text.utf8.count)) + Array(text.utf8)
      })
  }

  /// The key in characters that are safe in a file name.
  var name: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// The file's bytes: "GLPVPROG", key, format (4 bytes, little-endian), checksum of all other bytes, the driver's
/// bytes.
///
/// Drivers trust their input, and some crash on foreign bytes. The checksum keeps truncated, changed and foreign
/// files from them.
enum ProgramBinaryFile {
  private static let magic = Array("GLPVPROG".utf8)
  private static let headerLength = 8 + 32 + 4 + 32

  static func encode(_ binary: ProgramBinary, for key: ProgramBinaryKey) -> [UInt8] {
    let head = magic + key.bytes + bytes(of: binary.format)
    return head + SHA256.sum(of: head + binary.bytes) + binary.bytes
  }

  /// Nil unless `encode` made the file for the same key.
  static func decode(_ file: [UInt8], for key: ProgramBinaryKey) -> ProgramBinary? {
    guard file.count > headerLength, file.starts(with: magic + key.bytes) else { return nil }
    let (head, sum, bytes) = (file[..<44], file[44..<headerLength], Array(file[headerLength...]))
    guard SHA256.sum(of: head + bytes).elementsEqual(sum) else { return nil }
    let format = head.suffix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    return ProgramBinary(format: format, bytes: bytes)
  }

  /// Little-endian.
  fileprivate static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
