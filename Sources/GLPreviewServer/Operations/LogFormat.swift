// The format of the service's log: for people, or for log collectors.
package import Logging

/// A log format. Both have one line per event, on standard error.
package enum LogFormat: String, Sendable, Hashable, CaseIterable {
  /// `2026-01-31T12:00:00.000Z info glpreview: camera state changed camera=door state=live`
  case text
  /// A flat JSON object with `time`, `level`, `message`, `label` and the event's fields.
  case json

  /// Creates a logger with this format.
  ///
  /// - Parameters:
  ///   - label: the label of its lines; `glpreview` by default.
  ///   - level: the least severe level that is logged; `info` by default.
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

/// A log level, from everything to almost nothing. The names are swift-log's.
package enum LogLevel: String, Sendable, Hashable, CaseIterable {
  /// Each step of each request.
  case trace
  /// Details for diagnosing faults.
  case debug
  /// Normal events: logins, lost and recovered cameras.
  case info
  /// Rare events.
  case notice
  /// Problems that the service can handle.
  case warning
  /// Failures.
  case error
  /// Failures that end the service.
  case critical

  /// The level of swift-log.
  var loggerLevel: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
