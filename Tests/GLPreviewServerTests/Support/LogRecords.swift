// A log that tests can read.
import Logging
import Synchronization

/// What was logged.
final class LogRecords: Sendable {
  private let records = Mutex<[(message: String, fields: [String])]>([])

  /// The messages, without their metadata.
  var messages: [String] { records.withLock { $0.map(\.message) } }

  /// The messages with their metadata, `message: key=value key=value` by names.
  var lines: [String] {
    records.withLock { $0.map { "\($0.message): \($0.fields.joined(separator: " "))" } }
  }

  /// A logger that writes here.
  var logger: Logger { Logger(label: "test") { _ in Handler(records: self) } }

  private struct Handler: LogHandler {
    let records: LogRecords
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let fields = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted()
      records.records.withLock { $0.append(("\(event.message)", fields)) }
    }
  }
}
