// A folder of kept files on a real disk, with all that may be wrong there.
import Foundation
import Testing

@testable import Basics
@testable import GLPreview

/// A base of its own for one test; gone when the test is over.
final class TestCache: Sendable {
  let base: String
  let folder: CacheFolder
  var path: String { base + "/glpreview" }

  init() throws {
    base = FileManager.default.temporaryDirectory.appending(path: "glpreview-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(
      atPath: base, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    folder = CacheFolder(base: try #require(Self.base(at: base)))
  }

  deinit { try? FileManager.default.removeItem(atPath: base) }

  static func base(at path: String) -> CacheBase? { CacheBase { $0 == "XDG_CACHE_HOME" ? path : nil } }

  func read(_ name: String = "a.bin") -> [UInt8]? { folder.read(name, limit: 1000) }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  func attributes(_ path: String) throws -> (owner: Int?, mode: Int?) {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return (
      (attributes[.ownerAccountID] as? NSNumber)?.intValue,
      (attributes[.posixPermissions] as? NSNumber)?.intValue
    )
  }
}

@Suite struct CacheFolderTests {
  private let cache: TestCache
  private var folder: CacheFolder { cache.folder }

  init() throws { cache = try TestCache() }

  @Test("a written file is read back, and a later write replaces it")
  func keeps() throws {
    #expect(cache.read() == nil)
    folder.write([1, 2, 3], to: "a.bin")
    #expect(cache.read() == [1, 2, 3])
    folder.write([4], to: "a.bin")
    #expect(cache.read() == [4])
    #expect(cache.read("b.bin") == nil)
    #expect(try cache.names == ["a.bin"])
  }

  @Test("the cache folder has mode 700 and its files have mode 600")
  func modes() throws {
    folder.write([1], to: "a.bin")
    #expect(try cache.attributes(cache.path).mode == 0o700)
    #expect(try cache.attributes(cache.path + "/a.bin").mode == 0o600)
  }

  @Test("reading and trimming an empty cache creates no folder")
  func untouched() throws {
    #expect(cache.read() == nil)
    folder.trim(to: 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: cache.base) == [])
  }

  @Test("a missing base folder is created if its parent exists")
  func missingBase() throws {
    let base = try #require(TestCache.base(at: cache.base + "/base"))
    let folder = CacheFolder(base: base)
    folder.write([1], to: "a.bin")
    #expect(folder.read("a.bin", limit: 10) == [1])
    #expect(try cache.attributes(base.path).mode == 0o700)
    let deeper = CacheFolder(base: try #require(TestCache.base(at: cache.base + "/no/where")))
    deeper.write([1], to: "a.bin")
    #expect(deeper.read("a.bin", limit: 10) == nil)
  }

  @Test(
    "a file that others may write to is not read, and is replaced by the next write",
    arguments: [0o620, 0o602, 0o666])
  func writableFile(mode: Int) throws {
    folder.write([1], to: "a.bin")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: cache.path + "/a.bin")
    #expect(cache.read() == nil)
    // It is replaced by one that is ours.
    folder.write([2], to: "a.bin")
    #expect(cache.read() == [2])
  }

  @Test("a folder that others may write to is neither read nor changed", arguments: [0o770, 0o707, 0o777])
  func writableFolder(mode: Int) throws {
    folder.write([1], to: "a.bin")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: cache.path)
    #expect(cache.read() == nil)
    folder.write([2], to: "b.bin")
    folder.trim(to: 0)
    #expect(try cache.names == ["a.bin"])
  }

  @Test("no cache folder is created in a base that others may write to")
  func writableBase() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: cache.base)
    folder.write([1], to: "a.bin")
    #expect(try FileManager.default.contentsOfDirectory(atPath: cache.base) == [])
  }

  @Test(
    "a file or folder owned by another user is not read",
    .enabled(if: geteuid() == 0, "only root gives files away"))
  func foreign() throws {
    folder.write([1], to: "a.bin")
    try #require(unsafe chown(cache.path + "/a.bin", 65534, 65534) == 0)
    #expect(cache.read() == nil)

    try #require(unsafe chown(cache.path + "/a.bin", 0, 0) == 0)
    #expect(cache.read() == [1])

    try #require(unsafe chown(cache.path, 65534, 65534) == 0)
    #expect(cache.read() == nil)

    folder.write([2], to: "a.bin")
    try #require(unsafe chown(cache.path, 0, 0) == 0)
    #expect(cache.read() == [1])
  }

  @Test("symbolic links to files and folders are not followed, and a write replaces a link")
  func links() throws {
    let files = FileManager.default
    folder.write([1], to: "a.bin")
    try files.createSymbolicLink(atPath: cache.path + "/b.bin", withDestinationPath: cache.path + "/a.bin")
    #expect(cache.read("b.bin") == nil)

    // What is kept takes the link's place; what it led to stays.
    folder.write([2], to: "b.bin")
    #expect(cache.read("b.bin") == [2])
    #expect(cache.read("a.bin") == [1])

    try files.moveItem(atPath: cache.path, toPath: cache.base + "/elsewhere")
    try files.createSymbolicLink(atPath: cache.path, withDestinationPath: cache.base + "/elsewhere")
    #expect(cache.read("a.bin") == nil)
  }

  @Test("a FIFO or a folder in place of a file is not read, does not block and stays")
  func oddFiles() throws {
    folder.write([1], to: "a.bin")
    try #require(unsafe mkfifo(cache.path + "/fifo.bin", 0o600) == 0)
    #expect(cache.read("fifo.bin") == nil)

    try FileManager.default.createDirectory(
      atPath: cache.path + "/folder.bin", withIntermediateDirectories: false)
    #expect(cache.read("folder.bin") == nil)

    folder.write([1], to: "folder.bin")
    #expect(cache.read("folder.bin") == nil)

    #expect(try cache.names == ["a.bin", "fifo.bin", "folder.bin"])
  }

  @Test("a file in place of the cache folder stays, and nothing is cached")
  func fileForFolder() throws {
    try Data([7]).write(to: URL(filePath: cache.path))
    folder.write([1], to: "a.bin")
    #expect(cache.read() == nil)
    #expect(try Data(contentsOf: URL(filePath: cache.path)) == Data([7]))
  }

  @Test("an empty file is read as empty, and a file above the size limit is not read")
  func sizes() throws {
    folder.write([], to: "a.bin")
    #expect(cache.read() == [])

    folder.write([UInt8](repeating: 1, count: 1000), to: "a.bin")
    #expect(cache.read()?.count == 1000)

    folder.write([UInt8](repeating: 1, count: 1001), to: "a.bin")
    #expect(cache.read() == nil)

    // A hole of a terabyte takes no memory.
    try #require(unsafe truncate(cache.path + "/a.bin", 1 << 40) == 0)
    #expect(cache.read() == nil)
  }

  @Test("trimming removes only as many of the oldest files as needed and no foreign files")
  func trim() throws {
    for (age, name) in ["c.bin", "a.bin", "d.bin", "b.bin"].enumerated() {
      folder.write([UInt8](repeating: 1, count: 100), to: name)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000 + Double(age))],
        ofItemAtPath: cache.path + "/" + name)
    }
    try Data(count: 5000).write(to: URL(filePath: cache.path + "/other.txt"))

    folder.trim(to: 400)
    #expect(try cache.names == ["a.bin", "b.bin", "c.bin", "d.bin", "other.txt"])
    folder.trim(to: 299)
    #expect(try cache.names == ["b.bin", "d.bin", "other.txt"])
    folder.trim(to: 0)
    #expect(try cache.names == ["other.txt"])
  }

  @Test("readers during concurrent writes always get one complete file")
  func crowd() async throws {
    let cache = cache
    await withTaskGroup { group in
      for writer in 0..<6 {
        group.addTask {
          for _ in 0..<60 {
            cache.folder.write([UInt8](repeating: UInt8(writer), count: 1 + 150 * writer), to: "a.bin")
            guard let bytes = cache.read() else {
              Issue.record("nothing is there after a write")
              continue
            }
            #expect(bytes.count == 1 + 150 * Int(bytes[0]) && Set(bytes).count == 1)
          }
        }
      }
    }

    #expect(try cache.names == ["a.bin"])
  }

  @Test("the base is the first absolute path of XDG_CACHE_HOME, CACHE_DIRECTORY and HOME")
  func variables() {
    func base(_ variables: [String: String]) -> String? { CacheBase { variables[$0] }?.path }
    let all = ["XDG_CACHE_HOME": "/x", "CACHE_DIRECTORY": "/c:/d", "HOME": "/h"]

    #expect(base(all) == "/x")
    #expect(base(all.merging(["XDG_CACHE_HOME": "x"]) { $1 }) == "/c")
    #expect(base(["XDG_CACHE_HOME": "", "CACHE_DIRECTORY": "", "HOME": "/h"]) == "/h/.cache")
    #expect(base(["HOME": ""]) == nil)
    #expect(base([:]) == nil)
    #expect(base(all.merging(["GLPREVIEW_SHADER_CACHE": "off"]) { $1 }) == nil)
    #expect(base(all.merging(["GLPREVIEW_SHADER_CACHE": "on"]) { $1 }) == "/x")
  }
}
