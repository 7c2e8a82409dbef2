// Formats log events as single lines. Untrusted text can break neither a line nor a JSON object.
internal import Glibc
package import Logging

/// A log format. Both write one line per event to standard error.
package enum LogFormat: String, Sendable, Hashable, CaseIterable {
  /// `2026-01-31T12:00:00.000Z info glpreview: camera state changed camera=door state=live`
  case text
  /// A flat JSON object with `time`, `level`, `message`, `label` and the event's fields.
  case json

  /// Creates a logger that writes events of this level and above to standard error.
  package func logger(level: Logger.Level) -> Logger {
    let throttle = LogThrottle()
    return Logger(label: "glpreview") { label in
      var handler = LineLogHandler(label: label, format: self, throttle: throttle)
      handler.logLevel = level
      return handler
    }
  }
}

/// Writes each event as one line.
struct LineLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  var logLevel = Logger.Level.info
  private let label: String
  private let format: LogFormat
  private let throttle: LogThrottle?
  private let now: @Sendable () -> WallTime
  private let write: @Sendable (String) -> Void

  /// Creates a handler that by default writes to standard error and uses the system clock. All handlers of a
  /// service share a `throttle`; without one, everything is written.
  init(
    label: String, format: LogFormat, throttle: LogThrottle? = nil,
    now: @escaping @Sendable () -> WallTime = { .now },
    write: @escaping @Sendable (String) -> Void = LineLogHandler.writeToStandardError
  ) {
    self.label = label
    self.format = format
    self.throttle = throttle
    self.now = now
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    // Trace logs show each step of each request, so they are never throttled.
    guard event.level > .trace, let throttle else { return write(event, [:]) }
    let (isWritten, suppressed, rest) = throttle.admits(event.level, event.message.description)
    for message in rest {
      let event = LogEvent(
        level: message.level, message: "\(message.message)", metadata: nil, source: event.source,
        file: event.file, function: event.function, line: event.line)
      write(event, ["suppressed": "\(message.count)"])
    }
    if isWritten { write(event, suppressed > 0 ? ["suppressed": "\(suppressed)"] : [:]) }
  }

  private func write(_ event: LogEvent, _ more: Logger.Metadata) {
    let time = now().description
    // URLs in messages may contain secrets, so all values are redacted.
    let known = fields(of: event, more).map { ($0.key, Redaction.message($0.value)) }
    let message = Redaction.message(event.message.description)
    switch format {
    case .text: write(text(event, message, time, known))
    case .json: write(json(event, message, time, known))
    }
  }

  // MARK: Fields

  /// Returns the fields besides the message, flattened and sorted by key: `camera.name` for a name inside a
  /// camera. Fields with an empty value, such as the error of a working camera, are omitted.
  private func fields(of event: LogEvent, _ more: Logger.Metadata) -> [(key: String, value: String)] {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
    if let metadata = event.metadata { all.merge(metadata) { $1 } }
    all.merge(more) { $1 }
    var fields: [(key: String, value: String)] = []
    for (key, value) in all { Self.flatten(value, key, into: &fields) }
    if let error = event.error { fields.append(("error", "\(error)")) }
    return fields.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
  }

  private static func flatten(
    _ value: Logger.MetadataValue, _ key: String, into fields: inout [(key: String, value: String)]
  ) {
    switch value {
    case .string(let text): fields.append((key, text))
    case .stringConvertible(let value): fields.append((key, "\(value)"))
    case .dictionary(let values):
      for (name, value) in values { flatten(value, "\(key).\(name)", into: &fields) }
    case .array(let values):
      for (index, value) in values.enumerated() { flatten(value, "\(key).\(index)", into: &fields) }
    }
  }

  // MARK: Lines

  private func text(
    _ event: LogEvent, _ message: String, _ time: String, _ fields: [(key: String, value: String)]
  ) -> String {
    var line = "\(time) \(event.level) \(label): \(message.onOneLine)"
    for (key, value) in fields {
      let isWord = !value.contains { $0.isWhitespace || $0 == "\"" || $0 == "=" }
      line += " \(key.onOneLine)=\(isWord ? value.onOneLine : value.quotedAsJSON)"
    }
    return line + "\n"
  }

  private func json(
    _ event: LogEvent, _ message: String, _ time: String, _ fields: [(key: String, value: String)]
  ) -> String {
    let own = [
      ("time", time), ("level", "\(event.level)"), ("message", message), ("label", label),
    ]
    // The keys of a JSON object must be unique.
    let reserved = Set(own.map(\.0))
    var seen = reserved
    var pairs = own
    for (key, value) in fields {
      let key = reserved.contains(key) ? "metadata.\(key)" : key
      if seen.insert(key).inserted { pairs.append((key, value)) }
    }
    return "{" + pairs.map { "\($0.0.quotedAsJSON):\($0.1.quotedAsJSON)" }.joined(separator: ",") + "}\n"
  }

  /// Writes a line in one call, so that lines of several threads do not mix.
  private static let writeToStandardError: @Sendable (String) -> Void = { line in
    var rest = Array(line.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // If no one reads the log, the service continues without it.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
