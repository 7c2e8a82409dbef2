// Benchmarks/compare, as far as it can be tested without measuring anything.
import Foundation
import TestSupport
import Testing

private enum Compare {
  static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Benchmarks/compare").path
  static let python = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
  /// The script is not in every place that tests are run in.
  static let canRun = python != nil && FileManager.default.fileExists(atPath: script)
}

@Suite("Benchmarks/compare", .enabled(if: Compare.canRun, "needs python3 and the script"))
struct CompareTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func compare(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String)
  {
    let process = try ChildProcess(
      try #require(Compare.python), [Compare.script] + arguments,
      environment: ProcessInfo.processInfo.environment, in: folder.url.path, writingTo: nil)
    async let output = process.output.text
    async let errors = process.errors.text
    return (await ChildProcess.status(of: process.id), await output, await errors)
  }

  @Test("`--list` prints every workload, and each other program as `here` or `missing`")
  func list() async throws {
    let (status, output, errors) = try await compare("--list")
    #expect(status == 0, "\(errors)")
    let lines = output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(lines.prefix(5).map(\.first) == ["W1", "W1cold", "W1fresh", "W2", "W3"])
    #expect(lines.dropFirst(5).map(\.first) == ["ffmpeg", "gstreamer", "opencv", "vipsthumbnail"])
    #expect(lines.dropFirst(5).allSatisfy { ["here", "missing"].contains($0.last) })
  }

  @Test("`--dry-run` prints a glpreview command per workload; only two-tap lines use two-tap filters")
  func dryRun() async throws {
    let (status, output, errors) = try await compare("--dry-run")

    #expect(status == 0, "\(errors)")
    let lines = output.split(separator: "\n").map(String.init)
    for work in [
      "W1 antialiased", "W1 two-tap", "W2 antialiased", "W2 two-tap", "W3 antialiased", "W3 two-tap",
    ] {
      #expect(lines.contains { $0.hasPrefix("\(work) glpreview: glpreview render") }, "\(work)")
    }
    #expect(lines.contains { $0.hasPrefix("W1cold antialiased glpreview: ") })
    for line in lines {
      let isTwoTap = line.split(separator: " ")[1] == "two-tap"
      let asksForTwoTap =
        line.contains("bilinear") && !line.contains("bilinear2") || line.contains(" two-tap ")
      #expect(isTwoTap == asksForTwoTap, "\(line)")
    }
  }

  @Test("an unknown workload exits with 64, and a missing glpreview with 69")
  func failures() async throws {
    let unknown = try await compare("--work", "W9")
    #expect(unknown.status == 64)
    #expect(unknown.errors.contains("W9"))
    let missing = try await compare("--glpreview", "nowhere/glpreview")
    #expect(missing.status == 69)
    #expect(missing.errors.contains("nowhere/glpreview"))
  }
}

extension FileDescriptor {
  /// All that comes, to its end.
  fileprivate var text: String {
    get async {
      await withCheckedContinuation { continuation in
        DispatchQueue(label: "text").async {
          var bytes: [UInt8] = []
          while case let chunk = self.read(), !chunk.isEmpty { bytes += chunk }
          continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
        }
      }
    }
  }
}
