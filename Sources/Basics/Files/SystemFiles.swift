// Reads the system's folders and small files (/dev, /sys, /proc), and text as C gives it.
package import Glibc

package enum SystemFiles {
  /// A file's first line; nil if it can't be read.
  package static func line(_ path: String) -> String? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(file, &bytes, bytes.count)
    guard count >= 0 else { return nil }
    return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }, as: UTF8.self)
  }

  /// The names in a folder except `.` and `..`, sorted; empty if it can't be read.
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

  /// Calls `body` with each name in an open folder except `.` and `..`, in no order: a folder may have millions, of which none is kept.
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

  /// The bytes of a regular file in an open folder; nil for anything else, links included.
  package static func size(ofFile name: String, in folder: CInt) -> Int? {
    var status = stat()
    guard unsafe fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int(status.st_size)
  }

  /// The name of a folder's entry, read in place: an entry is shorter than its type says.
  static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
    unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// The path with its links resolved; nil if nothing is there.
  package static func resolved(_ path: String) -> String? {
    guard let result = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(result) }
    return unsafe String(cString: result)
  }

  /// A file's status; nil if the file does not exist or can't be accessed.
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

  /// A C array of characters, up to its end or to a zero.
  package init<Characters>(tuple characters: Characters) {
    self = unsafe withUnsafeBytes(of: characters) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// The characters that a C function has written, up to their end or to a zero.
  package init(written characters: some Sequence<CChar>) {
    self.init(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The system's message for an `errno`.
  package init(errno code: CInt) { self = unsafe String(cString: strerror(code)) }
}
