// Tests hold on any machine: none asserts how long something takes, or waits for a time in place of what is to happen.
import Foundation
import Testing

@Suite("Test timing")
struct PatienceTests {
  /// What no test does, and what it does instead.
  static let rules: [(name: String, pattern: String, instead: String)] = [
    ("sleep", #"Task\.sleep|Thread\.sleep|\bu?sleep\(|nanosleep\("#, "await until { what must happen }"),
    ("busy wait", #"while .*Task\.yield\(\)"#, "await until { what must happen }"),
    (
      "clock", #"ContinuousClock|SuspendingClock|DispatchTime|timeIntervalSince(?!1970:)|\bDate\(\)|elapsed"#,
      "give the code a clock that the test moves"
    ),
    (
      "elapsed time", #"[cC]lock\.now *[-<>]|[<>]=? *[A-Za-z]*[cC]lock\.now\b"#,
      "count, or give the code a clock that the test moves"
    ),
    ("deadline", #"asyncAfter|deadline:|max-time"#, "let the test's time limit end what hangs"),
    (
      "short time limit", #"\.timeLimit\(\.minutes\((\d|1[0-4])\)\)"#,
      ".timeLimit(.minutes(15)): a net for hangs"
    ),
    ("environment of the process", #"\bsetenv\(|\bputenv\("#, "pass the variables, or use processExitsWith"),
  ]

  /// Where a rule does not hold, by the end of the file's path and the rule's name, and why.
  static let exceptions: [(file: String, rule: String, reason: String)] = [
    ("/Patience.swift", "sleep", "between two looks at what is awaited"),
    ("Support/LocalProcess.swift", "sleep", "between two looks at what is awaited"),
    ("Support/LocalProcess.swift", "clock", "what a browser never shows is told with the page's state"),
    (
      "Support/CommandRunner.swift", "clock", "a command that hangs is killed after a quarter of an hour"
    ),
    (
      "Support/CommandRunner.swift", "deadline",
      "a command that hangs is killed after a quarter of an hour"
    ),
    ("GLPreviewServerTests/RawRequestTests.swift", "sleep", "a client that is slow on purpose"),
    ("Memory/MemoryBudgetTests.swift", "sleep", "the pace of a camera that never ends"),
    ("Memory/MemoryBudgetTests.swift", "elapsed time", "a deadline that has passed"),
    ("Support/PrivacySensor.swift", "sleep", "the pace of a camera that never ends"),
    (
      "Support/ServiceRound.swift", "sleep",
      "a look at a stream, however much it shows meanwhile"
    ),
    (
      "GLPreviewServerTests/SessionPrivacyTests.swift", "sleep",
      "the pace of random steps, and not what comes of them"
    ),
    ("GLES/PixelBufferTests.swift", "clock", "the GPU's clock counts no more than real time"),
    (
      "GLES/PixelBufferTests.swift", "elapsed time", "the GPU's clock counts no more than real time"
    ),
    (
      "Capture/HTTP/HTTPSourceTests.swift", "clock",
      "the time of day that a server tells, and not how long it takes"
    ),
    (
      "Capture/HTTP/HTTPSourceTests.swift", "elapsed time",
      "a frame is not older than the request and not newer than now"
    ),
    ("Render/RTSPTests.swift", "elapsed time", "a frame is not newer than now"),
    ("CameraTests/V4L2CaptureTests.swift", "elapsed time", "a frame is not newer than now"),
    (
      "Support/LocalProcess.swift", "elapsed time",
      "what a browser never shows is told with the page's state"
    ),
    ("Render/MeasurementTests.swift", "elapsed time", "a processor's clock goes on while it works"),
    (
      "Session/SessionStressTests.swift", "elapsed time",
      "how long random work goes on, and not what comes of it"
    ),
    ("Support/CopiedLine.swift", "deadline", "how long curl reads an answer that has no end"),
    (
      "Device/DeviceSearchTests.swift", "environment of the process", "in a process of its own"
    ),
  ]

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

  /// Every line of every test, by the path of its file; comments are not code.
  private static func lines() throws -> [(path: String, number: Int, text: Substring)] {
    let names = try #require(FileManager.default.enumerator(atPath: root.path))
    return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().flatMap { name in
      // It has all the words itself.
      guard !name.hasSuffix("HouseTests/PatienceTests.swift") else { return [(String, Int, Substring)]() }
      let text = try String(contentsOf: root.appending(path: name), encoding: .utf8)
      return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().filter {
        !$0.element.drop { $0 == " " }.hasPrefix("//")
      }.map { ("Tests/" + name, $0.offset + 1, $0.element) }
    }
  }

  @Test(
    "only listed tests sleep, measure time, set a deadline or change the process environment",
    arguments: rules.map(\.name))
  func rule(name: String) throws {
    let rule = try #require(Self.rules.first { $0.name == name })
    let pattern = try Regex(rule.pattern)
    let allowed = Self.exceptions.filter { $0.rule == name }.map(\.file)
    var used: Set<String> = []

    for (path, number, text) in try Self.lines() where text.contains(pattern) {
      if let file = allowed.first(where: { path.hasSuffix($0) }) {
        used.insert(file)
      } else {
        Issue.record("\(path):\(number): \(name); \(rule.instead)")
      }
    }

    #expect(Set(allowed).subtracting(used) == [], "exceptions that nothing needs any more")
  }

  @Test("a test file that waits sets a time limit")
  func timeLimits() throws {
    let waiting = try Regex(#"await until\b|\.patient\(|allTheTimeThereIs"#)
    for (path, lines) in Dictionary(grouping: try Self.lines(), by: \.path)
    where path.hasSuffix("Tests.swift") {
      let waits = lines.contains { $0.text.contains(waiting) }
      #expect(!waits || lines.contains { $0.text.contains(".timeLimit(") }, "\(path)")
    }
  }
}
