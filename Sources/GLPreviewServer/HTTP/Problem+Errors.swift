// Turns errors of the library and of Hummingbird into problems.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1

extension Problem {
  /// The problem that a client should see for an error; nil if the error must not be shown to clients.
  init?(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as WordError: self = .badParameter(error.key, error.reason)
    case let error as SourceError:
      self = .busy(.serviceUnavailable, "the camera gives no picture: \(error.reason)", retryAfter: 1)
    case is DeviceError, is RenderError: self = .busy(.serviceUnavailable, "\(error)", retryAfter: 5)
    case is MemoryBudget.Exceeded: self = .busy(.serviceUnavailable, "\(error)", retryAfter: 1)
    case is SnapshotError, is SessionError:
      self = .busy(.serviceUnavailable, "\(error)", retryAfter: 1)
    case let error as HTTPError where error.status == .notFound:
      self.init(
        .notFound, error.body ?? "not found; the dashboard is at /, and /api/cameras lists all URLs")
    case is NIOTooManyBytesError: self.init(.contentTooLarge, "the request body is too large")
    // The client has disconnected or never spoke HTTP, so nobody reads the answer.
    case is HTTPParserError, is ChannelError, is IOError:
      self.init(.badRequest, "the connection broke: \(error)")
    case let error as HTTPError: self.init(error.status, error.body ?? error.status.reasonPhrase)
    default: return nil
    }
  }
}
