// Errors become answers here, within what writes fields on all answers: a refusal has them too.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging

/// Turns whatever is thrown into `application/problem+json`.
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
        context.logger.debug("a request was refused", metadata: metadata(of: request, problem))
        return try answer(problem, request, context)
      }
      if let error = error as? any HTTPResponseError {
        return try error.response(from: request, context: context)
      }
      // What it is stays here: it may name files and addresses.
      context.logger.error(
        "a request failed",
        metadata: metadata(of: request, Redaction.message("\(error)")))
      return try answer(Problem(.internalServerError, "this went wrong; the log says why"), request, context)
    }
  }

  private func metadata(of request: Request, _ error: some CustomStringConvertible) -> Logger.Metadata {
    ["request": "\(request.method) \(URLToken.redacted(request.uri.string))", "error": "\(error)"]
  }

  private func answer(_ problem: Problem, _ request: Request, _ context: ServiceContext) throws -> Response {
    var response = try problem.response(from: request, context: context)
    // A body behind a HEAD's answer would be taken for the next answer.
    if request.method == .head {
      response.headers[.contentLength] = response.body.contentLength.map(String.init)
      response.body = ResponseBody()
    }
    return response
  }
}
