import Foundation
import Testing

@testable import GLPreview

@Suite("RootFolder")
struct RootFolderTests {
  private let url: URL
  private let root: RootFolder

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "glpreview-root-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: url.appending(path: "root"), withIntermediateDirectories: true)
    root = try #require(RootFolder(url.appending(path: "root").path))
  }

  private func remove() { try? FileManager.default.removeItem(at: url) }

  private func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: url.appending(path: name).path, withDestinationPath: target)
  }

  private func text(_ name: String) -> String? {
    try? String(contentsOf: url.appending(path: name), encoding: .utf8)
  }

  @Test("a write creates parent folders, replaces the file and leaves no other files")
  func writes() throws {
    defer { remove() }
    try root.write(Array("one".utf8), to: "a/b/c")
    try root.write(Array("two".utf8), to: "a/b/c")

    #expect(text("root/a/b/c") == "two")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted() == ["a", "a/b", "a/b/c"])
    #expect(try root.file("a/b/c") == root.path + "/a/b/c")
  }

  @Test(
    "an absolute, empty or malformed path, or one that leaves the root, is rejected",
    arguments: ["../x", "a/../../x", "/x", "", ".", "a//x", "a/", "x\0y"])
  func paths(path: String) {
    defer { remove() }
    #expect(throws: WriteError.self) { try root.write([1], to: path) }
    #expect(throws: RootFolder.Refusal.self) { try root.file(path) }
    #expect(text("x") == nil)
  }

  @Test("a write does not follow symbolic links in its path, and replaces one at the file itself")
  func links() throws {
    defer { remove() }
    try link("root/way", to: "..")
    try link("root/place", to: "../outside")

    #expect(throws: WriteError.self) { try root.write([1], to: "way/outside") }
    try root.write(Array("in".utf8), to: "place")

    #expect(text("outside") == nil)
    #expect(text("root/place") == "in")
  }

  @Test("symbolic links inside the root are readable; outside links, folders and missing files throw")
  func reading() throws {
    defer { remove() }
    try root.write([1], to: "a/file")
    try Data([2]).write(to: url.appending(path: "secret"))
    try link("root/inside", to: "a/file")
    try link("root/outside", to: "../secret")

    #expect(try root.file("inside") == root.path + "/a/file")
    for name in ["outside", "a", "missing"] {
      #expect(throws: RootFolder.Refusal.self, "\(name)") { try root.file(name) }
    }
  }
}
