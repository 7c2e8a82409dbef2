// Whatever goes wrong with a request is told as a problem, in one form.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// Turns errors into `application/problem+json`.
struct ProblemMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  func handle(
    _ request: Request, context: ServiceContext,
    next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      let problem = Problem(error)
      if problem.status.kind == .serverError, !(error is Problem) {
        context.logger.error(
          "a request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
      }
      return try problem.response(from: request, context: context)
    }
  }
}

extension Problem {
  /// What an error means to who asked.
  init(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as ViewError: self = .badParameter(error.key, error.reason)
    case let error as SourceError:
      self = .busy(.serviceUnavailable, "the camera gives no picture: \(error.reason)", retryAfter: 1)
    case is DeviceError, is RenderError: self = .busy(.serviceUnavailable, "\(error)", retryAfter: 5)
    case is SnapshotError, is SessionError, is CancellationError:
      self = .busy(.serviceUnavailable, "\(error)", retryAfter: 1)
    case let error as HTTPError where error.status == .notFound:
      self.init(
        .notFound, error.body ?? "there is nothing here; / has the dashboard, /api/cameras all addresses")
    case let error as HTTPError: self.init(error.status, error.body ?? error.status.reasonPhrase)
    default: self.init(.internalServerError, "something went wrong here; the log has more")
    }
  }
}
