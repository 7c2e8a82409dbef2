// Where this program keeps what it can make anew: a folder that no other user can write to, or none.
internal import Glibc

/// A folder of small files. Whatever fails reads as a file that is not there, and nothing is said of it.
struct CacheFolder: Sendable, Equatable {
  /// What all files in it end in.
  static let suffix = ".bin"

  /// By the environment as it is when this is first asked for.
  static let ofThisProcess: CacheFolder? = CacheBase.ofThisProcess.map { CacheFolder(base: $0) }

  private let base: CacheBase
  private let path: String

  /// The folder `glpreview` in `base`; it is made when something is to be kept.
  init(base: CacheBase) {
    self.base = base
    path = base.path + "/glpreview"
  }

  /// All of a file; nil where it is longer than `limit`, or not a plain file that is this user's to write alone.
  func read(_ name: String, limit: Int) -> [UInt8]? {
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return nil }
    // A FIFO would wait for a writer.
    guard let file = folder.file(name, O_RDONLY | O_NONBLOCK), file.isOurs(S_IFREG) else {
      return nil
    }
    return file.contents(limit: limit)
  }

  /// Puts `bytes` in place of what was there, at once: who reads meanwhile has the one or the other.
  ///
  /// Nothing waits for the disk: what a power cut leaves in halves is found out by whoever reads it.
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

  /// Removes files, the oldest first, until they take no more than `size` bytes.
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

/// The folder in which programs have a folder each.
struct CacheBase: Sendable, Equatable {
  /// Absolute.
  let path: String

  /// The user's, by the environment as it is when this is first asked for; nil where there is none, or
  /// `GLPREVIEW_SHADER_CACHE` is `off`, or where the environment is another user's (setuid).
  static let ofThisProcess = getuid() == geteuid() ? CacheBase { unsafe String(lent: getenv($0)) } : nil

  /// The XDG Base Directory Specification's `XDG_CACHE_HOME`; else what systemd gives a service (systemd.exec,
  /// `CacheDirectory=`); else the folder `.cache` of the home. Paths that are not absolute are as if they were not set.
  init?(_ variable: (String) -> String?) {
    func path(_ name: String) -> String? {
      // systemd puts several folders with colons in between.
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

  /// Makes it where only it is missing, in a folder of this user: not in another's home, as under sudo.
  func make() {
    guard unsafe access(path, F_OK) != 0, let end = path.lastIndex(of: "/") else { return }
    guard OpenFile(String(path[...end]), O_RDONLY | O_DIRECTORY)?.isOurs(S_IFDIR) == true else { return }
    unsafe mkdir(path, 0o700)
  }

  /// Whether it is there, and this user's to write alone.
  var isOurs: Bool { OpenFile(path, O_RDONLY | O_DIRECTORY)?.isOurs(S_IFDIR) == true }
}
