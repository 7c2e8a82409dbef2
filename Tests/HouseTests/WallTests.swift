// The house's walls: who may import what, where unsafe code may stand, and that arrows never run back up.
import Foundation
import Testing

@Suite("Source code rules")
struct WallTests {
  private static let server = "Sources/GLPreviewServer/"
  private static let http = ["Sources/Capture/HTTP/", server]
  private static let nats = "Sources/NATS/"
  private static let jobs = "Sources/glpreview-cli/Jobs/"
  private static let clients = [server, jobs]
  private static let nio = http + [nats, jobs]
  private static let httpWords = http + [jobs]

  @Test(
    "a library module is imported only in its permitted folders",
    arguments: [
      ("CGLES", ["Sources/GLPreview/GLES/"]), ("CEGL", ["Sources/GLPreview/Device/"]),
      ("CDMABuffer", ["Sources/Basics/Memory/"]), ("CGBM", ["Sources/GLPreview/Device/"]),
      ("CTurboJPEG", ["Sources/Codecs/"]),
      ("CPNG", ["Sources/Codecs/"]), ("CWebP", ["Sources/Codecs/"]),
      ("CShaders", ["Sources/Shaders/"]),
      ("CJPEGBaseline", ["Sources/Bench/"]),
      ("CV4L2", ["Sources/Capture/V4L2/"]),
      ("CAV", ["Sources/Capture/FFmpeg/", "Sources/GLPreview/Video/"]),
      ("CPango", ["Sources/GLPreview/Text/"]), ("CWebRTC", ["Sources/GLPreviewServer/WebRTC/"]),
      ("CProcess", ["Sources/Capture/Core/Pipes/"]),
      ("CCrypto", ["Sources/Cryptography/"]), ("Cryptography", [server, nats]),
      ("CWeb", ["Sources/GLPreviewServer/Foundation/HTTP/"]),
      ("CMemory", ["Sources/GLPreviewServer/Foundation/Operations/"]), ("CPixels", ["Sources/CPURenderer/"]),
      ("Hummingbird", [server]),
      ("CYAML", ["Sources/GLPreviewServer/Foundation/Configuration/"]),
      ("AsyncHTTPClient", clients), ("NIOCore", nio), ("NIOHTTP1", httpWords),
      ("NIOHTTPCompression", http), ("NIOPosix", http + [nats]), ("NIOSSL", http + [nats]), ("NIOTLS", http),
    ])
  func libraries(module: String, rooms: [String]) throws {
    for file in try SourceFile.all() where file.imports.contains(Substring(module)) {
      #expect(rooms.contains { file.path.hasPrefix($0) }, "\(file.path) imports \(module)")
    }
  }

  @Test(
    "a source folder imports only the modules permitted for it",
    arguments: [
      ("Sources/PreviewCore/", ["Glibc", "Synchronization"]), ("Sources/ReferenceRenderer/", ["PreviewCore"]),
      ("Sources/CPURenderer/", ["Basics", "CPixels", "Dispatch", "Glibc", "PreviewCore", "Synchronization"]),
      ("Sources/Basics/", ["CDMABuffer", "PreviewCore", "Glibc", "Synchronization"]),
      ("Sources/VideoFormats/", ["Basics", "Synchronization"]),
      ("Sources/Shaders/", ["CShaders"]),
      ("Sources/Conformance/", ["Codecs", "PreviewCore", "ReferenceRenderer"]),
      ("Sources/Bench/", ["CJPEGBaseline", "GLPreview"]), ("Sources/Cryptography/", ["CCrypto"]),
      (
        "Sources/NATS/",
        [
          "Cryptography", "FoundationEssentials", "Logging", "NIOCore", "NIOPosix", "NIOSSL",
          "Synchronization",
        ]
      ),
      ("Sources/Codecs/", ["PreviewCore", "Basics", "CTurboJPEG", "CPNG", "CWebP", "Glibc"]),
      (
        "Sources/Capture/Core/",
        ["Codecs", "VideoFormats", "CProcess", "Dispatch", "Glibc", "Synchronization"]
      ),
      ("Sources/Capture/V4L2/", ["CaptureCore", "CV4L2", "Glibc", "Synchronization"]),
      ("Sources/Capture/FFmpeg/", ["CaptureCore", "CAV", "Glibc", "Synchronization"]),
      (
        "Sources/Capture/HTTP/",
        [
          "CaptureCore", "Dispatch", "Glibc", "Synchronization", "NIOCore", "NIOHTTP1", "NIOHTTPCompression",
          "NIOPosix", "NIOSSL", "NIOTLS",
        ]
      ),
      (
        "Sources/GLPreview/",
        [
          "CaptureCore", "CaptureV4L2", "CaptureFFmpeg", "CaptureHTTP", "CPURenderer", "Shaders", "CEGL",
          "CGLES",
          "CGBM",
          "CPango", "CAV", "Glibc", "Dispatch", "Synchronization",
        ]
      ),
    ])
  func arrows(room: String, allowed: [String]) throws {
    for file in try SourceFile.all() where file.path.hasPrefix(room) {
      for module in file.imports {
        #expect(allowed.contains(String(module)), "\(file.path) imports \(module)")
      }
    }
  }

  @Test("no source file uses @testable")
  func testable() throws {
    for file in try SourceFile.all() {
      #expect(!file.lines.contains { $0.hasPrefix("@testable") }, "\(file.path)")
    }
  }

  @Test("core, reference renderer, conformance, command line and NATS sources have no unsafe code")
  func safeRooms() throws {
    let rooms = [
      "Sources/PreviewCore/", "Sources/ReferenceRenderer/", "Sources/Conformance/", "Sources/glpreview-cli/",
      "Sources/NATS/",
    ]
    for file in try SourceFile.all() where rooms.contains(where: { file.path.hasPrefix($0) }) {
      guard file.text.contains("unsafe ") else { continue }
      for (number, line) in file.lines.enumerated() {
        #expect(!line.contains("unsafe "), "\(file.path):\(number + 1)")
      }
    }
  }

  @Test("no source file contains try!, fatalError, as! or @unchecked Sendable")
  func noTraps() throws {
    for file in try SourceFile.all() {
      for word in ["try!", "fatalError(", " as! ", "@unchecked Sendable"] where file.text.contains(word) {
        for (number, line) in file.lines.enumerated() {
          let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
          #expect(!code.contains(word), "\(file.path):\(number + 1)")
        }
      }
    }
  }

  @Test("wrappingChannelSynchronously is used only in the three permitted files")
  func wrappedChannels() throws {
    let allowed = ["RTSP/RTSPServer.swift", "HTTP/ServiceConnection.swift", "MQTT/Client/MQTTClient.swift"]
    for file in try SourceFile.all() where !allowed.contains(where: { file.path.hasSuffix($0) }) {
      #expect(!file.lines.contains { $0.contains("wrappingChannelSynchronously") }, "\(file.path)")
    }
  }

  @Test("a source file starts with a comment and has at most 350 lines")
  func files() throws {
    for file in try SourceFile.all() {
      #expect(
        file.lines.first?.hasPrefix("// ") == true || file.lines.count < 3,
        "\(file.path) does not say what it is for")
      #expect(file.lines.count <= 350, "\(file.path) has \(file.lines.count) lines")
    }
  }

  @Test("kinds of source and their URL prefixes are named only in the capture folders")
  func kindsOfSource() throws {
    let names = /V4L2|HTTP|FFmpeg|RTSP|Pipe|Command|TestPattern|#if/
    let prefixes = /hasPrefix\("(http|rtmp|rtsp|srt|udp|exec|pattern|file|\/dev\/v)[^"]*"\)/
    let doors = ["Capture/SourceLocator.swift", "Capture/Core/Live/SourceKind.swift"]
    // URLs of the service itself, and addresses to which a job's pictures are sent.
    let others = ["RTSP/RTSPRequest.swift", "Jobs/JobDestination.swift"]
    for file in try SourceFile.all() {
      let isDoor = doors.contains { file.path.hasSuffix($0) }
      guard
        isDoor
          || !(["Sources/Capture/", "Sources/GLPreview/Capture/"] + others).contains(
            where: file.path.contains)
      else {
        continue
      }
      for (number, line) in file.lines.enumerated() where isDoor || line.contains("hasPrefix(\"") {
        let code = line.drop(while: \.isWhitespace)
        guard !code.hasPrefix("//") else { continue }
        #expect(!code.contains(prefixes) && !(isDoor && code.contains(names)), "\(file.path):\(number + 1)")
      }
    }
  }

  @Test("no Swift file except DeviceProbe.swift contains a GLSL shader")
  func noShadersInSwift() throws {
    for file in try SourceFile.all() where !file.path.hasSuffix("Device/DeviceProbe.swift") {
      #expect(!file.lines.contains { $0.contains("#version 3") }, "\(file.path)")
    }
  }

  @Test("the sources pass swift format lint")
  func format() throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.currentDirectoryURL = SourceFile.root
    process.arguments = [
      "swift", "format", "lint", "--strict", "--recursive", "--parallel", "Package.swift", "Sources", "Tests",
      "Examples",
    ]
    let (status, text) = try process.outcome()

    #expect(status == 0, "make format mends it:\n\(text)")
  }
}
