// Inputs that once broke a parser, and valid ones, through the same entry points as the fuzzer's (`make fuzz`).
import Foundation
import Testing

@Suite("Fuzz targets")
struct ReplayTests {
  private static let regressions = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Regressions")

  @Test(
    "the seeds of a fuzz target, also truncated or with a changed byte, violate no invariant",
    arguments: FuzzTarget.all.map(\.name))
  func seeds(name: String) async throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let seeds = try target.seeds()
    #expect(!seeds.isEmpty)

    for seed in seeds {
      #expect(seed.count <= target.longest)
      try await target.run(seed)
      // Cut short, and with a byte of it changed.
      for count in stride(from: 0, to: seed.count, by: max(seed.count / 16, 1)) {
        try await target.run(Array(seed.prefix(count)))
        try await target.run(Array(seed[..<count]) + [~seed[count]] + seed[(count + 1)...])
      }
    }
  }

  @Test(
    "the recorded regressions of a fuzz target run without an error", arguments: FuzzTarget.all.map(\.name))
  func regressions(name: String) async throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = Self.regressions.appending(path: name)
    guard FileManager.default.fileExists(atPath: folder.path) else { return }

    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let input = try Data(contentsOf: file)
      do {
        try await target.run(Array(input))
      } catch {
        Issue.record("\(file.lastPathComponent): \(error)")
      }
    }
  }

  @Test("each folder of regressions belongs to a fuzz target")
  func folders() throws {
    let names = Set(FuzzTarget.all.map(\.name))
    for folder in try FileManager.default.contentsOfDirectory(atPath: Self.regressions.path)
    where !folder.hasPrefix(".") && folder != "README.md" {
      #expect(names.contains(folder))
    }
  }
}
