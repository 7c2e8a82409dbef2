// A file that is in memory alone, for parsers that read files.
import Glibc

/// An unnamed file of given bytes.
final class MemoryFile {
  private let descriptor: CInt

  /// nil where there is no room for it.
  init?(_ bytes: [UInt8]) {
    var name = Array("/dev/shm/glpreview-fuzz-XXXXXX\0".utf8CString)
    descriptor = unsafe mkstemp(&name)
    guard descriptor >= 0 else { return nil }
    _ = unsafe unlink(name)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
  }

  deinit { close(descriptor) }

  /// As long as this is.
  var path: String { "/proc/self/fd/\(descriptor)" }
}
