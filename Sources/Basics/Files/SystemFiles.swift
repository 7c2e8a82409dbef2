// Reads the system's folders and small files (/dev, /sys, /proc), and converts text from C.
package import Glibc

package enum SystemFiles {
  /// Returns a file's first line; nil if it can't be read.
  package static func line(_ path: String) -> String? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(file, &bytes, bytes.count)
    guard count >= 0 else { return nil }
    return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }, as: UTF8.self)
  }

  /// Returns the names in a folder except `.` and `..`, sorted; empty if it can't be read.
  package static func names(in folder: String) -> [String] {
    guard let stream = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe Self.name(of: entry)
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Calls `body` with each name in an open folder except `.` and `..`, in no particular order. The names are
  /// not collected, because a folder may have millions of them.
  package static func forEachName(in folder: CInt, _ body: (String) -> Void) {
    let copy = unsafe openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return }
    guard let stream = unsafe fdopendir(copy) else {
      close(copy)
      return
    }
    defer { unsafe closedir(stream) }
    while let entry = unsafe readdir(stream) {
      let name = unsafe Self.name(of: entry)
      if name != "." && name != ".." { body(name) }
    }
  }

  /// Returns the size in bytes of a regular file in an open folder; nil for anything else, including links.
  package static func size(ofFile name: String, in folder: CInt) -> Int? {
    var status = stat()
    guard unsafe fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int(status.st_size)
  }

  /// Returns the name of a folder's entry, read in place, because an entry is shorter than its type.
  static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
    unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Returns the path with its links resolved; nil if it does not exist.
  package static func resolved(_ path: String) -> String? {
    guard let result = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(result) }
    return unsafe String(cString: result)
  }

  /// Returns a file's status; nil if the file does not exist or can't be accessed.
  package static func status(_ path: String) -> stat? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status : nil
  }
}

extension String {
  /// Copies a C string; nil for a null pointer.
  @unsafe package init?(lent text: UnsafePointer<CChar>?) {
    guard let text = unsafe text else { return nil }
    self = unsafe String(cString: text)
  }

  /// Creates a string from a C array of characters, up to its end or to a zero.
  package init<Characters>(tuple characters: Characters) {
    self = unsafe withUnsafeBytes(of: characters) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Creates a string from the characters that a C function has written, up to their end or to a zero.
  package init(written characters: some Sequence<CChar>) {
    self.init(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Creates a string with the system's message for an `errno`.
  package init(errno code: CInt) { self = unsafe String(cString: strerror(code)) }
}
