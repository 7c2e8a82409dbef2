// What went wrong in the library, or in Hummingbird, as a problem.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1

extension Problem {
  /// What an error means to who asked; nil where it says nothing to him.
  init?(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as WordError: self = .badParameter(error.key, error.reason)
    case let error as SourceError:
      self = .busy(.serviceUnavailable, "the camera gives no picture: \(error.reason)", retryAfter: 1)
    case is DeviceError, is RenderError: self = .busy(.serviceUnavailable, "\(error)", retryAfter: 5)
    case is MemoryBudgetExceeded: self = .busy(.serviceUnavailable, "\(error)", retryAfter: 1)
    case is SnapshotError, is SessionError:
      self = .busy(.serviceUnavailable, "\(error)", retryAfter: 1)
    case let error as HTTPError where error.status == .notFound:
      self.init(
        .notFound, error.body ?? "there is nothing here; / has the dashboard, /api/cameras all addresses")
    case is NIOTooManyBytesError: self.init(.contentTooLarge, "the body is larger than is allowed here")
    // The client has gone, or never spoke HTTP: nobody reads the answer.
    case is HTTPParserError, is ChannelError, is IOError:
      self.init(.badRequest, "the connection broke: \(error)")
    case let error as HTTPError: self.init(error.status, error.body ?? error.status.reasonPhrase)
    default: return nil
    }
  }
}
