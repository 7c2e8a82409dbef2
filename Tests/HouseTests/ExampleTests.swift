// The examples' sources against the library as it is: `make examples` builds them in a package of their own, which takes minutes.
import Foundation
import Testing

@Suite("Examples")
struct ExampleTests {
  private static let folders: [String] = {
    let root = SourceFile.root.appending(path: "Examples").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return names.filter { FileManager.default.fileExists(atPath: "\(root)/\($0)/main.swift") }.sorted()
  }()

  @Test(
    "each is understood by the compiler, with the library's public declarations alone", arguments: folders)
  func types(name: String) throws {
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
      ["swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors"]
      + ["-I", products.appending(path: "Modules").path]
      + maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
      + [SourceFile.root.appending(path: "Examples/\(name)/main.swift").path]
    let (status, text) = try process.outcome()

    #expect(status == 0, "Examples/\(name):\n\(text)")
  }
}
