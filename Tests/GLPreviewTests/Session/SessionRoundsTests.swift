// Sessions by the thousand: opened, read, closed, they leave memory, descriptors and threads as they were.
import Foundation
import TestSupport
import Testing

@testable import GLPreview

@Suite("Repeated sessions")
struct SessionRoundsTests {
  /// What this process holds.
  private struct Holdings: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let kilobytes: Int

    init() throws {
      func count(_ name: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(name)").count
      }
      descriptors = try count("fd")
      threads = try count("task")
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
      kilobytes = line?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
    }

    var description: String { "\(descriptors) descriptors, \(threads) threads, \(kilobytes) kB" }

    func isMore(than before: Holdings, kilobytes growth: Int) -> Bool {
      descriptors > before.descriptors + 2 || threads > before.threads + 2
        || kilobytes > before.kilobytes + growth
    }
  }

  /// Opens a session, looks at it in one of the ways in which people do, and closes it, or lets it go.
  private static func round(_ number: Int) async throws {
    let session = try PreviewSession([
      SessionSource("pattern:smpte,size=64x48", name: "one"),
      SessionSource("pattern:zoneplate,size=64x48", name: "two"),
    ])
    let preview = try session.addPreview(ViewConfiguration(width: 32, height: 24))
    for try await frame in preview.pictures(for: .jpeg) {
      precondition(frame.picture.size.width == 32)
      _ = try await frame.jpeg()
      break
    }
    if number % 5 == 0 {
      let snapshot = try await session.snapshot(.patient(.newest))
      precondition(snapshot.pictures.count == 1)
    }
    if number % 7 == 0 {
      let scene = try session.addScene(
        Scene(size: Size(width: 64, height: 48), tiles: [Tile("one"), Tile("two")]))
      for try await _ in scene.pictures { break }
    }
    if number % 11 == 0 { await session.sources.first?.setEnabled(false) }
    if number % 3 != 0 { await session.close() }
  }

  /// 40, unless GLPREVIEW_SESSION_ROUNDS says another number. The process's output is not read, since
  /// that would block a thread of Swift's pool for as long as the process runs: the expectation says what was found.
  @Test(
    "opening and closing many sessions leaks no file descriptors, threads or memory", .oneProcessAtATime,
    .timeLimit(.minutes(15)))
  func rounds() async {
    await #expect(processExitsWith: .success) {
      let rounds =
        ProcessInfo.processInfo.environment["GLPREVIEW_SESSION_ROUNDS"].flatMap { Int($0) } ?? 40
      // What is made once is made now.
      for number in 0..<20 { try await Self.round(number) }
      let before = try Holdings()

      for number in 1...max(rounds, 1) { try await Self.round(number) }
      // What was let go ends in its own time.
      var looks = 0
      try await until {
        looks += 1
        return try looks == 60_000 || !Holdings().isMore(than: before, kilobytes: 12_000)
      }

      let after = try Holdings()
      #expect(
        !after.isMore(than: before, kilobytes: 12_000), "\(before) before \(rounds) rounds, then \(after)")
    }
  }
}
