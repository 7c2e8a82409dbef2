// How the service's log is written: for people, or for programs that gather logs.
package import Logging

/// A log's form. Both have one line for each event, on standard error.
package enum LogFormat: String, Sendable, Hashable, CaseIterable {
  /// `2026-01-31T12:00:00.000Z info glpreview: camera is live camera=door`
  case text
  /// An object with `time`, `level`, `message` and `label`, and what is known beside, flat.
  case json

  /// A logger of this form.
  ///
  /// - Parameters:
  ///   - label: who speaks; `glpreview` unless told.
  ///   - level: what is less is not written; `info` unless told.
  /// - Returns: a logger that writes to standard error.
  package func logger(label: String = "glpreview", level: LogLevel = .info) -> Logger {
    let throttle = LogThrottle()
    return Logger(label: label) { label in
      var handler = LineLogHandler(label: label, format: self, throttle: throttle)
      handler.logLevel = level.loggerLevel
      return handler
    }
  }
}

/// How much is written to a log, from all to nearly nothing. The words are swift-log's.
package enum LogLevel: String, Sendable, Hashable, CaseIterable {
  /// Each step of each request.
  case trace
  /// What helps to find a fault.
  case debug
  /// What happens: who comes and goes, cameras that are lost and found.
  case info
  /// What happens seldom.
  case notice
  /// What works, but not as it should.
  case warning
  /// What does not work.
  case error
  /// What ends the service.
  case critical

  /// As swift-log has it.
  var loggerLevel: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
