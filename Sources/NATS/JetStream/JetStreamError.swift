// Errors of JetStream, as cases that callers can act on.

/// An error of JetStream.
package enum JetStreamError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The request was not sent because a name or a size is invalid.
  case invalid(NATSError)
  /// There was no reply. After `.noResponders`, nothing was done: no stream takes the subject, or the cluster
  /// has no leader or no JetStream. After `.timeout` and `.disconnected`, the request may have been carried
  /// out.
  case unavailable(NATSError)
  /// The expected revision is not the last one. `revision` is the last one, if the server reports it.
  case conflict(revision: UInt64?)
  case streamNotFound
  case consumerNotFound
  /// A stream of that name exists with another configuration.
  case nameInUse
  /// Any other error: an HTTP-like status, the server's error number, and its text.
  case refused(status: Int, code: Int, String)
  /// The server's reply could not be parsed.
  case malformed(String)

  package var description: String {
    switch self {
    case .invalid(let error): "\(error)"
    case .unavailable(let error): "JetStream is not available: \(error)"
    case .conflict(let revision): "the last revision differs" + (revision.map { ": \($0)" } ?? "")
    case .streamNotFound: "no such stream or bucket"
    case .consumerNotFound: "no such consumer"
    case .nameInUse: "the name is taken by a stream with another configuration"
    case .refused(let status, let code, let text): "JetStream refuses: \(text) (\(status), \(code))"
    case .malformed(let text): "malformed answer of JetStream: \(text)"
    }
  }

  /// Classifies an error of the client.
  init(_ error: NATSError) {
    self =
      switch error {
      case .invalidSubject, .invalidHeader, .invalidName, .invalidConfiguration, .payloadTooLarge:
        .invalid(error)
      default: .unavailable(error)
      }
  }

  /// Classifies an error by its number (nats-server's `server/errors.json`).
  init(_ answer: APIError) {
    self =
      switch answer.err_code ?? 0 {
      case 10059: .streamNotFound
      case 10014: .consumerNotFound
      case 10058: .nameInUse
      case 10071, 10164:
        .conflict(revision: answer.description?.split(separator: " ").last.flatMap { UInt64($0) })
      default: .refused(status: answer.code, code: answer.err_code ?? 0, answer.description ?? "")
      }
  }
}

/// An error of the JSON API.
struct APIError: Decodable {
  let code: Int
  let err_code: Int?
  let description: String?
}
