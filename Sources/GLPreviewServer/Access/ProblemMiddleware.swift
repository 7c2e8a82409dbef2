// Turns errors into answers. Runs inside the middlewares that add fields, so that refusals get those too.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging

/// Turns every error into `application/problem+json`.
struct ProblemMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as CancellationError {
      throw error
    } catch {
      if let problem = Problem(error) {
        context.logger.debug("request refused", metadata: metadata(of: request, problem))
        return try answer(problem, request, context)
      }
      if let error = error as? any HTTPResponseError {
        return try error.response(from: request, context: context)
      }
      // The error stays in the log, because it may name files and addresses.
      context.logger.error(
        "request failed",
        metadata: metadata(of: request, Redaction.message("\(error)")))
      return try answer(
        Problem(.internalServerError, "internal error; the log of the service gives the reason"), request,
        context)
    }
  }

  private func metadata(of request: Request, _ error: some CustomStringConvertible) -> Logger.Metadata {
    ["request": "\(request.method) \(URLToken.redacted(request.uri.string))", "error": "\(error)"]
  }

  private func answer(_ problem: Problem, _ request: Request, _ context: ServiceContext) throws -> Response {
    var response = try problem.response(from: request, context: context)
    // A body after a HEAD answer would be taken for the next answer.
    if request.method == .head {
      response.headers[.contentLength] = response.body.contentLength.map(String.init)
      response.body = ResponseBody()
    }
    return response
  }
}
