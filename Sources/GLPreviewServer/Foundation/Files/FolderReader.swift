// Reads the snapshots of a camera in a folder that `FolderStore` writes.
internal import Glibc

/// The snapshots of one camera in a folder. Access goes through the descriptor of the camera's subfolder, and
/// links are not followed, so that moved or linked entries can't redirect it.
package final class FolderReader: Sendable {
  private let folder: CInt
  private let camera: String

  /// Opens the subfolder of a camera, as `StampedFileName` names it; nil if there is none.
  ///
  /// - Throws: `FolderError` if it can't be opened.
  package init?(_ path: String, camera: String) throws(FolderError) {
    let root = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else {
      if errno == ENOENT { return nil }
      throw FolderError(path)
    }
    defer { close(root) }
    let folder = unsafe openat(root, camera, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else {
      if errno == ENOENT { return nil }
      throw FolderError("\(path)/\(camera)")
    }
    (self.folder, self.camera) = (folder, camera)
  }

  deinit { close(folder) }

  /// Calls `body` with the name of each file that has the form of this service's names, in no particular
  /// order.
  package func forEachName(_ body: (StampedFileName) -> Void) {
    SystemFiles.forEachName(in: folder) { file in
      if let name = StampedFileName(camera: camera, file: file) { body(name) }
    }
  }

  /// Returns the size of a regular file in bytes; nil for anything else.
  package func size(of name: StampedFileName) -> Int? { SystemFiles.size(ofFile: name.file, in: folder) }

  /// Reads a regular file of at most `limit` bytes; nil if it can't be read, or is larger.
  package func read(_ name: StampedFileName, atMost limit: Int) -> [UInt8]? {
    let file = unsafe openat(folder, name.file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= limit
    else { return nil }
    return DiskFile.read(file, 0, Int(status.st_size))
  }
}
