// What can go wrong with JetStream, in the words that callers decide by.

/// An error of JetStream.
package enum JetStreamError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The request can't be made: a name or a payload that servers refuse.
  case invalid(NATSError)
  /// The request did not get through, or no answer came back. With `.noResponders` nothing was done (the cluster has no
  /// leader, or no JetStream); with `.timeout` and `.disconnected` it may have been done.
  case unavailable(NATSError)
  /// Somebody else wrote first: the last revision is this one, where the server says so.
  case conflict(revision: UInt64?)
  case streamNotFound
  case consumerNotFound
  /// A stream of that name is there, with another configuration.
  case nameInUse
  /// Any other refusal: an HTTP-like status, the server's number for it, and its words.
  case refused(status: Int, code: Int, String)
  /// The server's answer makes no sense.
  case malformed(String)

  package var description: String {
    switch self {
    case .invalid(let error): "\(error)"
    case .unavailable(let error): "JetStream is not available: \(error)"
    case .conflict(let revision): "the last revision is another one" + (revision.map { ": \($0)" } ?? "")
    case .streamNotFound: "there is no such stream or bucket"
    case .consumerNotFound: "there is no such consumer"
    case .nameInUse: "the name is taken by a stream with another configuration"
    case .refused(let status, let code, let text): "JetStream refuses: \(text) (\(status), \(code))"
    case .malformed(let text): "an answer of JetStream makes no sense: \(text)"
    }
  }

  /// What an error of the client means here.
  init(_ error: NATSError) {
    self =
      switch error {
      case .invalidSubject, .invalidHeader, .invalidName, .invalidConfiguration, .payloadTooLarge:
        .invalid(error)
      default: .unavailable(error)
      }
  }

  /// By the server's error numbers (nats-server's `server/errors.json`).
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

/// An error as the JSON API has it.
struct APIError: Decodable {
  let code: Int
  let err_code: Int?
  let description: String?
}
