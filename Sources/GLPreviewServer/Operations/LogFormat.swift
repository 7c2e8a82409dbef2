// How the service's log is written: for people, or for programs that gather logs.
public import Logging

/// A log's form. Both have one line for each event, on standard error.
public enum LogFormat: String, Sendable, Hashable, CaseIterable {
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
  public func logger(label: String = "glpreview", level: Logger.Level = .info) -> Logger {
    Logger(label: label) { label in
      var handler = LineLogHandler(label: label, format: self)
      handler.logLevel = level
      return handler
    }
  }
}
