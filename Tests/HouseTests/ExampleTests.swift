// The examples' sources, and the code in pages, against the library as it is: `make examples` builds the examples in packages of their
// own, which takes minutes.
import Foundation
import TestSupport
import Testing

@Suite("Examples")
struct ExampleTests {
  private static let folders: [String] = {
    let root = SourceFile.root.appending(path: "Examples").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return names.filter { FileManager.default.fileExists(atPath: "\(root)/\($0)/main.swift") }.sorted()
  }()

  @Test(
    "each example compiles with the library's public declarations alone", arguments: folders)
  func types(name: String) throws {
    let file = SourceFile.root.appending(path: "Examples/\(name)/main.swift")
    let (status, text) = try Self.typecheck(file, "-warnings-as-errors")

    #expect(status == 0, "Examples/\(name):\n\(text)")
  }

  @Test("the Swift code blocks of each page compile in their order")
  func pages() throws {
    var text = """
      import GLPreview
      let trigger = SnapshotTrigger()
      func show(_ jpeg: [UInt8]) async throws {}
      func send(_ text: String) async throws {}

      """
    var count = 0
    for page in try Page.current() {
      let blocks = page.blocks.filter { $0.language == "swift" }
      guard !blocks.isEmpty else { continue }
      count += blocks.count
      text += "func page\(count)() async throws {\n"
      for block in blocks {
        let lines = block.lines.filter { !$0.hasPrefix("import ") && $0 != "..." }
        let file = block.place.split(separator: ":")
        text += "#sourceLocation(file: \"\(file[0])\", line: \(file[1]))\n"
        text += lines.joined(separator: "\n").replacing("{ ... }", with: "{}") + "\n"
      }
      text += "#sourceLocation()\n}\n"
    }
    let file = FileManager.default.temporaryDirectory.appending(path: "pages-\(UUID().uuidString).swift")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(text.utf8).write(to: file)
    let (status, errors) = try Self.typecheck(file, "-suppress-warnings", "-parse-as-library")

    #expect(status == 0 && count > 25 && Self.folders.count >= 7, "\(errors)")
  }

  /// Runs the compiler on a file, with the modules of this build.
  private static func typecheck(_ file: URL, _ options: String...) throws -> (status: Int32, text: String) {
    let files = FileManager.default
    // The build of these tests: its modules, and the maps of C modules that they name.
    let build = try files.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let products = URL(filePath: build).deletingLastPathComponent()
    let scratch = products.deletingLastPathComponent().deletingLastPathComponent()
    var folders = try files.contentsOfDirectory(at: products, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "build" }
    let packages = try files.contentsOfDirectory(
      at: scratch.appending(path: "checkouts"), includingPropertiesForKeys: nil)
    for package in packages + [SourceFile.root] {
      let sources = package.appending(path: "Sources")
      let targets = (try? files.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)) ?? []
      folders += targets + targets.map { $0.appending(path: "include") }
    }
    let maps = folders.map { $0.appending(path: "module.modulemap").path }.filter(files.fileExists)

    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["swiftc", "-typecheck", "-swift-version", "6", "-I", products.appending(path: "Modules").path]
      + options + maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] } + [file.path]
    return try process.outcome()
  }
}
