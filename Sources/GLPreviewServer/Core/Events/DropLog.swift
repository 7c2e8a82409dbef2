// Logs the first of several drops, so that neither a dead server nor a full disk fills the log.
internal import Logging
internal import Synchronization

/// The reason why a message is not sent, or a picture not stored.
package enum DropReason: String, Sendable {
  /// More messages, or more bytes, wait than may.
  case tooMany = "too many wait"
  case noMemory = "no memory"
  /// The view was switched off, locked or masked, or its camera removed, while the picture waited.
  case notShown = "may no longer be shown"
}

/// The drops of one destination. Each reason is logged once, until the destination works without drops again.
final class DropLog: Sendable {
  /// The dropped things in log lines, such as `webhook events`.
  private let subject: String
  private let logger: Logger
  private let logged = Mutex<Set<DropReason>>([])

  init(of subject: String, logger: Logger) { (self.subject, self.logger) = (subject, logger) }

  func dropped(_ reason: DropReason) {
    guard logged.withLock({ $0.insert(reason).inserted }) else { return }
    logger.warning("\(subject) dropped", metadata: ["reason": "\(reason.rawValue)"])
  }

  /// Ends the series: the next drop is logged again.
  func recovered() { logged.withLock { $0 = [] } }
}
