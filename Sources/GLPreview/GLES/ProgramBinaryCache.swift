// Programs of earlier runs, in the driver's own form, so that they are compiled once for a driver.
internal import CGLES

/// What the current context's driver may take of a folder.
///
/// Mesa keeps programs too, by their sources, yet sets up its GLSL compiler before it looks there: 5 ms and more of a start
/// that takes 60 (Mesa 22.3). It also keeps the machine code that llvmpipe makes, which no program binary holds: neither
/// takes the other's place, and `DriverEnvironment` sees to it that Mesa finds a folder.
final class ProgramBinaryCache {
  private let folder: CacheFolder
  private let driver: [String]
  private let formats: Set<UInt32>
  /// Nil before something is kept.
  private var bytesSinceTrim: Int?

  /// Half a megabyte is a large program.
  private static let maximumFileSize = 4 << 20
  private static let maximumFolderSize = 16 << 20

  /// Asks the current context. Nil where the driver has no form of its own, and where there is no folder.
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

  /// As for a context whose driver calls itself `driver` and has these forms.
  init(_ folder: CacheFolder, driver: [String], formats: Set<UInt32>) {
    self.folder = folder
    self.driver = driver
    self.formats = formats
  }

  /// What a program is kept by.
  func key(for sources: [String]) -> ProgramBinaryKey { ProgramBinaryKey(sources: sources, driver: driver) }

  /// What was kept; nil where nothing was, or nothing that can be trusted and that the driver may know.
  func binary(for key: ProgramBinaryKey) -> ProgramBinary? {
    guard let file = folder.read(fileName(key), limit: Self.maximumFileSize),
      let binary = ProgramBinaryFile.decode(file, for: key), formats.contains(binary.format)
    else { return nil }
    return binary
  }

  /// Keeps a program for later runs, in place of what was kept. Where that fails, later runs compile.
  func keep(_ binary: ProgramBinary, for key: ProgramBinaryKey) {
    let file = ProgramBinaryFile.encode(binary, for: key)
    guard file.count <= Self.maximumFileSize else { return }
    folder.write(file, to: fileName(key))
    // A list of the folder is dearer than a file in it: at first, and then for each megabyte.
    bytesSinceTrim = bytesSinceTrim.map { $0 + file.count }
    guard bytesSinceTrim ?? .max > 1 << 20 else { return }
    folder.trim(to: Self.maximumFolderSize)
    bytesSinceTrim = 0
  }

  private func fileName(_ key: ProgramBinaryKey) -> String { key.name + CacheFolder.suffix }
}
