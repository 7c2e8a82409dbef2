// A cache of files that can be recreated, in a folder that no other user can write to.
internal import Glibc

/// A folder of small files. Failures are silent: a file that can't be read counts as missing.
struct CacheFolder: Sendable, Equatable {
  /// The suffix of all files in the folder.
  static let suffix = ".bin"

  /// The cache folder of this process. The environment is read once, at first use.
  static let ofThisProcess: CacheFolder? = CacheBase.ofThisProcess.map { CacheFolder(base: $0) }

  private let base: CacheBase
  private let path: String

  /// The folder `glpreview` in `base`; created on the first write.
  init(base: CacheBase) {
    self.base = base
    path = base.path + "/glpreview"
  }

  /// A file's bytes; nil if it is longer than `limit`, not a regular file, or writable by other users.
  func read(_ name: String, limit: Int) -> [UInt8]? {
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return nil }
    // O_NONBLOCK, because opening a FIFO would wait for a writer.
    guard let file = folder.file(name, O_RDONLY | O_NONBLOCK), file.isOurs(S_IFREG) else {
      return nil
    }
    return file.contents(limit: limit)
  }

  /// Replaces a file atomically: readers see either the old or the new bytes.
  ///
  /// It is not synced to disk, so readers must detect files truncated by a power failure.
  func write(_ bytes: [UInt8], to name: String) {
    base.make()
    if base.isOurs { unsafe mkdir(path, 0o700) }
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return }
    let temporary = "\(getpid())-\(UInt64.random(in: 0...(.max)))\(Self.suffix)"
    guard let file = folder.file(temporary, O_WRONLY | O_CREAT | O_EXCL) else { return }
    guard file.write(bytes), unsafe renameat(folder.number, temporary, folder.number, name) == 0 else {
      unsafe unlinkat(folder.number, temporary, 0)
      return
    }
  }

  /// Removes files, oldest first, until they take at most `size` bytes.
  func trim(to size: Int) {
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return }
    let files = folder.files(endingIn: Self.suffix)
    var excess = files.reduce(0) { $0 + $1.size } - size
    for file in files.sorted(by: { $0.time < $1.time }) where excess > 0 {
      unsafe unlinkat(folder.number, file.name, 0)
      excess -= file.size
    }
  }
}

/// The folder that holds a cache folder per program.
struct CacheBase: Sendable, Equatable {
  /// An absolute path.
  let path: String

  /// The user's cache folder, by the environment at first use. Nil if there is none, if `GLPREVIEW_SHADER_CACHE` is
  /// `off`, or if the environment may be another user's (setuid).
  static let ofThisProcess = getuid() == geteuid() ? CacheBase { unsafe String(lent: getenv($0)) } : nil

  /// `XDG_CACHE_HOME` (XDG Base Directory Specification), otherwise the folder that systemd gives a service
  /// (systemd.exec, `CacheDirectory=`), otherwise `.cache` in the home folder. Paths that are not absolute are
  /// ignored.
  init?(_ variable: (String) -> String?) {
    func path(_ name: String) -> String? {
      // systemd separates several folders with colons.
      let first = variable(name)?.split(separator: ":", omittingEmptySubsequences: false).first.map(
        String.init)
      let path = name == "CACHE_DIRECTORY" ? first : variable(name)
      return path?.hasPrefix("/") == true ? path : nil
    }
    guard variable("GLPREVIEW_SHADER_CACHE") != "off",
      let path = path("XDG_CACHE_HOME") ?? path("CACHE_DIRECTORY") ?? path("HOME").map({ $0 + "/.cache" })
    else { return nil }
    self.path = path
  }

  /// Creates the folder, but only in an existing folder of this user: under sudo the home may be another user's.
  func make() {
    guard unsafe access(path, F_OK) != 0, let end = path.lastIndex(of: "/") else { return }
    guard OpenFile(String(path[...end]), O_RDONLY | O_DIRECTORY)?.isOurs(S_IFDIR) == true else { return }
    unsafe mkdir(path, 0o700)
  }

  /// Whether the folder exists, belongs to this user and is writable by no other.
  var isOurs: Bool { OpenFile(path, O_RDONLY | O_DIRECTORY)?.isOurs(S_IFDIR) == true }
}
