// Log lines: whole, in order, and readable by programs.
import Foundation
import GLPreview
import Logging
import Synchronization
import Testing

@testable import ServiceFoundation

@Suite("Logs")
struct LogTests {
  /// Lines that were written.
  private final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  private struct Failure: Error, CustomStringConvertible {
    let description = "it \"broke\""
  }

  private func lines(_ format: LogFormat, _ work: (inout Logger) -> Void) -> [String] {
    let lines = Lines()
    var logger = Logger(label: "glpreview") { label in
      LineLogHandler(
        label: label, format: format, now: { WallTime(sinceEpoch: .milliseconds(1_700_000_000_250)) },
        write: { line in lines.all.withLock { $0.append(line) } })
    }
    work(&logger)
    return lines.all.withLock { $0 }
  }

  @Test("a JSON log line is one flat object with time, level, message and metadata")
  func json() throws {
    let lines = lines(.json) { logger in
      logger[metadataKey: "service"] = "cam"
      logger.warning(
        "lost\n\"door\" \u{1}\u{7F}é",
        metadata: [
          "camera": ["name": "door", "views": ["main", "face"]], "fps": "\(29.5)", "level": "mine",
        ])
    }

    #expect(lines.count == 1 && lines[0].hasSuffix("}\n") && lines[0].count(where: { $0 == "\n" }) == 1)
    let object = try #require(
      JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: String])
    #expect(
      object == [
        "time": "2023-11-14T22:13:20.250Z", "level": "warning", "message": "lost\n\"door\" \u{1}\u{7F}é",
        "label": "glpreview", "service": "cam", "camera.name": "door", "camera.views.0": "main",
        "camera.views.1": "face", "fps": "29.5", "metadata.level": "mine",
      ])
    #expect(lines[0].hasPrefix("{\"time\":\"2023-11-14T22:13:20.250Z\",\"level\":\"warning\",\"message\":"))
  }

  @Test("a JSON log line includes the description of its error")
  func errors() throws {
    let lines = lines(.json) { $0.error("no", error: Failure()) }
    let object = try #require(
      JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: String])
    #expect(object["error"] == "it \"broke\"")
  }

  @Test("empty metadata fields are omitted from log lines", arguments: LogFormat.allCases)
  func empty(format: LogFormat) {
    let lines = lines(format) { logger in
      logger[metadataKey: "service"] = ""
      logger.info("camera state changed", metadata: ["reason": "", "camera": ["name": ""], "state": "live"])
    }
    #expect(lines.count == 1 && lines[0].contains("live"))
    for name in ["reason", "camera.name", "service"] { #expect(!lines[0].contains(name), "\(lines[0])") }
  }

  @Test("newlines and control characters in a text log line are replaced or escaped")
  func text() {
    let lines = lines(.text) { $0.info("a\nb\u{1B}[2J", metadata: ["b": "x y", "a": "plain", "c": "1\n2"]) }
    #expect(
      lines == [
        "2023-11-14T22:13:20.250Z info glpreview: a\u{FFFD}b\u{FFFD}[2J a=plain b=\"x y\" c=\"1\\n2\"\n"
      ])
  }

  @Test("messages below the log level are dropped, and message metadata overrides the logger's")
  func levels() {
    let lines = lines(.text) { logger in
      logger[metadataKey: "a"] = "1"
      logger.debug("quiet")
      logger.logLevel = .debug
      logger.debug("loud", metadata: ["a": "2"])
    }
    #expect(lines == ["2023-11-14T22:13:20.250Z debug glpreview: loud a=2\n"])
  }

  @Test("a frequent message is throttled and its suppressed lines are counted; others are written")
  func throttle() {
    let clock = TestClock()
    let throttle = LogThrottle(burst: 2, linesPerSecond: 1, capacity: 10, now: { clock.now })
    let lines = Lines()
    let logger = Logger(label: "glpreview") { label in
      LineLogHandler(
        label: label, format: .text, throttle: throttle, now: { WallTime(sinceEpoch: .zero) },
        write: { line in lines.all.withLock { $0.append(String(line.dropFirst(25).dropLast())) } })
    }

    for number in 0..<5 { logger.info("again", metadata: ["number": "\(number)"]) }
    logger.info("another")
    clock.advance(by: .seconds(1))
    logger.info("again", metadata: ["number": "5"])
    logger.info("again", metadata: ["number": "6"])
    clock.advance(by: .seconds(20))
    logger.info("later")

    #expect(
      lines.all.withLock { $0 } == [
        "info glpreview: again number=0", "info glpreview: again number=1", "info glpreview: another",
        "info glpreview: again number=5 suppressed=3", "info glpreview: again suppressed=1",
        "info glpreview: later",
      ])
  }

  @Test("a log throttle with capacity 10 admits 1,000 different messages, and forgets earlier ones")
  func manyMessages() {
    let clock = TestClock()
    let throttle = LogThrottle(burst: 2, linesPerSecond: 1, capacity: 10, now: { clock.now })
    #expect((0..<3).map { _ in throttle.admits(.error, "first").isWritten } == [true, true, false])
    let answers = (0..<1000).map { throttle.admits(.error, "\($0)") }
    #expect(answers.allSatisfy { $0.isWritten && $0.suppressed == 0 })
    // The clock has not moved, so the message is written only because it was forgotten, and its count reported.
    #expect(throttle.admits(.error, "first").isWritten)
    #expect(answers.flatMap { $0.rest } == [LogThrottle.Rest(level: .error, message: "first", count: 1)])
  }

  @Test("log lines contain no credentials or tokens of URLs")
  func secrets() {
    for format in LogFormat.allCases {
      let lines = lines(format) { logger in
        logger.error(
          "asked http://user:SECRET@host/",
          metadata: ["url": "rtsp://host/?token=SECRET", "a": ["b": ["x://SECRET@h"]]])
      }
      #expect(lines.count == 1 && !lines[0].contains("SECRET") && lines[0].contains("host"), "\(lines)")
    }
  }
}
