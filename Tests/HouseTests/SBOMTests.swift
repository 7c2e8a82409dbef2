// What the command is made of, as `make sbom` says it.
import Foundation
import Testing

@Suite("Software bill of materials (SBOM)")
struct SBOMTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private struct Document: Decodable {
    let spdxVersion: String
    let packages: [Package]
  }

  private struct Package: Decodable {
    let name: String
    let versionInfo: String
    let externalRefs: [Reference]
  }

  private struct Reference: Decodable {
    let referenceLocator: String
  }

  /// Runs `scripts/sbom`: its exit status, and what it said.
  private static func sbom(_ arguments: String...) throws -> (status: Int32, text: String) {
    let process = Process()
    process.executableURL = root.appending(path: "scripts/sbom")
    process.currentDirectoryURL = root
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  /// A file that is gone with the test.
  private static func withFile<Result>(_ work: (URL) throws -> Result) throws -> Result {
    let file = FileManager.default.temporaryDirectory.appending(
      path: "glpreview-sbom-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    return try work(file)
  }

  @Test("the SBOM lists Swift packages and linked libraries with versions and package URLs")
  func contents() throws {
    try Self.withFile { file in
      // The command lies beside the tests.
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let command = URL(filePath: tests).deletingLastPathComponent().appending(path: "glpreview").path
      let (status, text) = try Self.sbom("--command", command, "-o", file.path)

      try #require(status == 0, "\(text)")
      let document = try JSONDecoder().decode(Document.self, from: Data(contentsOf: file))
      #expect(document.spdxVersion == "SPDX-2.3")
      for (name, kind) in [
        ("swift-nio", "pkg:swift/"), ("hummingbird", "pkg:swift/"), ("libpng16-16", "pkg:deb/"),
      ] {
        // Debian 13 has renamed packages for times of 64 bits.
        let package = try #require(
          document.packages.first { [name, name + "t64"].contains($0.name) }, "\(name) is not there")
        #expect(!package.versionInfo.isEmpty)
        #expect(package.externalRefs.first?.referenceLocator.hasPrefix(kind) == true)
      }
      // A dependency of a dependency, of which nothing is built.
      #expect(!document.packages.contains { $0.name == "swift-certificates" })
    }
  }

  @Test("an invalid SPDX document is rejected with a message for each fault")
  func faults() throws {
    try Self.withFile { file in
      let document = #"""
        {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "x",
         "creationInfo": {"created": "yesterday", "creators": ["me"]}, "packages": [{"name": "p", "SPDXID": "p q"}],
         "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "CONTAINS", "relatedSpdxElement": "none"}]}
        """#
      try Data(document.utf8).write(to: file)

      let (status, text) = try Self.sbom("--check", file.path)

      #expect(status == 1)
      for fault in [
        "the document has no documentNamespace", "'created' is not a time", "a creator is of no kind",
        "p has no versionInfo",
        "p q is there twice, or is not a name", "relates what is not there", "it describes nothing",
      ] {
        #expect(text.contains(fault), "\(fault) is not said: \(text)")
      }
    }
  }
}
