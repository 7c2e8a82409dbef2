// Caches linked programs on disk in the driver's format, so that each is compiled once per driver.
internal import CGLES

/// The cached programs that the current context's driver accepts.
///
/// Mesa also caches programs by their sources, but initialises its GLSL compiler first: 5 ms or more of a
/// start that takes 60 ms (Mesa 22.3). It also caches llvmpipe's machine code, which program binaries do not
/// contain. Neither cache replaces the other; `DriverEnvironment` ensures that Mesa finds a folder.
final class ProgramBinaryCache {
  private let folder: CacheFolder
  private let driver: [String]
  private let formats: Set<UInt32>
  /// Nil before the first write.
  private var bytesSinceTrim: Int?

  /// Half a megabyte is already a large program.
  private static let maximumFileSize = 4 << 20
  private static let maximumFolderSize = 16 << 20

  /// Queries the current context. Nil if the driver has no binary format or there is no folder.
  convenience init?(_ folder: CacheFolder?) {
    let count = GLCapabilities.integer(GL_NUM_PROGRAM_BINARY_FORMATS)
    guard let folder, count > 0 else { return nil }
    var formats = [GLint](repeating: 0, count: count)
    unsafe glGetIntegerv(GLenum(GL_PROGRAM_BINARY_FORMATS), &formats)
    let driver = [GL_VENDOR, GL_RENDERER, GL_VERSION].map {
      unsafe GLCapabilities.text(glGetString(GLenum($0)))
    }
    self.init(folder, driver: driver, formats: Set(formats.map { UInt32(bitPattern: $0) }))
  }

  /// For tests: a context whose driver is `driver` and supports `formats`.
  init(_ folder: CacheFolder, driver: [String], formats: Set<UInt32>) {
    self.folder = folder
    self.driver = driver
    self.formats = formats
  }

  func key(for sources: [String]) -> ProgramBinaryKey { ProgramBinaryKey(sources: sources, driver: driver) }

  /// The cached program; nil if there is none that is valid and in a format known to the driver.
  func binary(for key: ProgramBinaryKey) -> ProgramBinary? {
    guard let file = folder.read(fileName(key), limit: Self.maximumFileSize),
      let binary = ProgramBinaryFile.decode(file, for: key), formats.contains(binary.format)
    else { return nil }
    return binary
  }

  /// Stores a program for later runs. If that fails, later runs compile it again.
  func keep(_ binary: ProgramBinary, for key: ProgramBinaryKey) {
    let file = ProgramBinaryFile.encode(binary, for: key)
    guard file.count <= Self.maximumFileSize else { return }
    folder.write(file, to: fileName(key))
    // Listing the folder costs more than writing a file, so it is done first and then once per megabyte.
    bytesSinceTrim = bytesSinceTrim.map { $0 + file.count }
    guard bytesSinceTrim ?? .max > 1 << 20 else { return }
    folder.trim(to: Self.maximumFolderSize)
    bytesSinceTrim = 0
  }

  private func fileName(_ key: ProgramBinaryKey) -> String { key.name + CacheFolder.suffix }
}

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
  var name: String { Hexadecimal.text(of: bytes) }
}

/// The file's bytes: "GLPVPROG", key, format (4 bytes, little-endian), checksum of all other bytes, the
/// driver's bytes.
///
/// Drivers trust their input, and some crash on foreign bytes. The checksum keeps truncated, changed and
/// foreign files from them.
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
