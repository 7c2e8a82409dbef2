// The house's walls: who may import what, where unsafe code may stand, and that arrows never run back up.
import Foundation
import Testing

@Suite("Walls")
struct WallTests {
  private static let server = "Sources/GLPreviewServer/"
  private static let http = ["Sources/GLPreview/Capture/HTTP/", server]

  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Every Swift file below a folder of the package: path from the root, and lines.
  private static func sources(_ folder: String = "Sources") throws -> [(path: String, lines: [Substring])] {
    let base = root.appending(path: folder)
    let names = try #require(FileManager.default.enumerator(atPath: base.path))
    return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
      let text = try String(contentsOf: base.appending(path: name), encoding: .utf8)
      return ("\(folder)/\(name)", text.split(separator: "\n", omittingEmptySubsequences: false))
    }
  }

  /// The modules that a file imports.
  private static func imports(_ lines: [Substring]) -> [Substring] {
    lines.compactMap { line in
      let words = line.split(separator: " ")
      guard let index = words.firstIndex(of: "import"), index <= 2, words.count > index + 1,
        !line.hasPrefix("//")
      else { return nil }
      return words[index + 1]
    }
  }

  @Test(
    "a C library is imported behind its wall alone",
    arguments: [
      ("CGLES", ["Sources/GLPreview/GLES/"]), ("CEGL", ["Sources/GLPreview/Device/"]),
      ("CGBM", ["Sources/GLPreview/Device/"]), ("CTurboJPEG", ["Sources/GLPreview/Codecs/"]),
      ("CPNG", ["Sources/GLPreview/Codecs/"]), ("CShaders", ["Sources/Shaders/"]),
      ("CV4L2", ["Sources/GLPreview/Capture/V4L2/"]),
      ("CAV", ["Sources/GLPreview/Capture/FFmpeg/"]), ("CPango", ["Sources/GLPreview/Text/"]),
      ("CProcess", ["Sources/GLPreview/Capture/Pipes/"]),
      ("CWeb", ["Sources/GLPreviewServer/HTTP/"]), ("CMemory", ["Sources/GLPreviewServer/Operations/"]),
      ("Hummingbird", [server]),
      ("Yams", ["Sources/GLPreviewServer/Configuration/"]),
      ("Configuration", ["Sources/GLPreviewServer/Configuration/"]),
      ("AsyncHTTPClient", http), ("NIOCore", http), ("NIOHTTP1", http), ("NIOHTTPCompression", http),
      ("NIOPosix", http), ("NIOSSL", http), ("NIOTLS", http),
    ])
  func libraries(module: String, rooms: [String]) throws {
    for (path, lines) in try WallTests.sources() where WallTests.imports(lines).contains(Substring(module)) {
      #expect(rooms.contains { path.hasPrefix($0) }, "\(path) imports \(module)")
    }
  }

  @Test(
    "no arrow runs back up",
    arguments: [
      ("Sources/PreviewCore/", ["Glibc", "Synchronization"]), ("Sources/ReferenceRenderer/", ["PreviewCore"]),
      ("Sources/Shaders/", ["CShaders"]),
      ("Sources/Conformance/", ["PreviewCore", "ReferenceRenderer", "GLPreview"]),
      (
        "Sources/GLPreview/",
        [
          "PreviewCore", "Shaders", "CEGL", "CGLES", "CGBM", "CTurboJPEG", "CPNG", "CPango", "CProcess",
          "CV4L2",
          "CAV",
          "Glibc",
          "Dispatch",
          "Synchronization", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "NIOHTTPCompression", "NIOPosix",
          "NIOSSL", "NIOTLS",
        ]
      ),
    ])
  func arrows(room: String, allowed: [String]) throws {
    for (path, lines) in try WallTests.sources() where path.hasPrefix(room) {
      for module in WallTests.imports(lines) {
        #expect(allowed.contains(String(module)), "\(path) imports \(module)")
      }
    }
  }

  @Test("values and semantics need no unsafe code")
  func safeRooms() throws {
    let rooms = [
      "Sources/PreviewCore/", "Sources/ReferenceRenderer/", "Sources/Conformance/", "Sources/glpreview-cli/",
    ]
    for (path, lines) in try WallTests.sources() where rooms.contains(where: { path.hasPrefix($0) }) {
      for (number, line) in lines.enumerated() {
        #expect(!line.contains("unsafe "), "\(path):\(number + 1)")
      }
    }
  }

  @Test("nothing that input or a driver can cause traps")
  func noTraps() throws {
    for (path, lines) in try WallTests.sources() {
      for (number, line) in lines.enumerated() where !line.contains("//") {
        for word in ["try!", "fatalError(", " as! ", "@unchecked Sendable"] {
          #expect(!line.contains(word), "\(path):\(number + 1)")
        }
      }
    }
  }

  @Test("a file opens with what it is for, and fits a few screens")
  func files() throws {
    for (path, lines) in try WallTests.sources() {
      #expect(lines.first?.hasPrefix("// ") == true || lines.count < 3, "\(path) does not say what it is for")
      #expect(lines.count <= 350, "\(path) has \(lines.count) lines")
    }
  }

  @Test("GLSL is in Resources/shaders, but for the probe that tries a device out")
  func noShadersInSwift() throws {
    for (path, lines) in try WallTests.sources() where !path.hasSuffix("Device/ProbePixel.swift") {
      #expect(!lines.contains { $0.contains("#version 3") }, "\(path)")
    }
  }

  @Test("the sources are formatted as .swift-format says")
  func format() throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.currentDirectoryURL = WallTests.root
    process.arguments = [
      "swift", "format", "lint", "--strict", "--recursive", "--parallel", "Package.swift", "Sources", "Tests",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "make format mends it:\n\(text)")
  }
}
