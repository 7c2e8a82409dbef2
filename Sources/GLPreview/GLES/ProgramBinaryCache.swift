// Caches linked programs on disk in the driver's format, so that each is compiled once per driver.
internal import CGLES

/// The cached programs that the current context's driver accepts.
///
/// Mesa also caches programs by their sources, but initialises its GLSL compiler first: 5 ms or more of a start that
/// takes 60 ms (Mesa 22.3). It also caches llvmpipe's machine code, which program binaries do not contain. Neither
/// cache replaces the other; `DriverEnvironment` ensures that Mesa finds a folder.
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
    var count: GLint = 0
    unsafe glGetIntegerv(GLenum(GL_NUM_PROGRAM_BINARY_FORMATS), &count)
    guard let folder, count > 0 else { return nil }
    var formats = [GLint](repeating: 0, count: Int(count))
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

  /// The cache key of a program.
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
