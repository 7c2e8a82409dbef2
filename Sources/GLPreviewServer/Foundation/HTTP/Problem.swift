// Errors of requests, in the format of RFC 9457.
package import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle

/// An error that becomes an answer: `application/problem+json` with `title`, `status`, `detail` and the
/// parameter at fault.
package struct Problem: Error, HTTPResponseError, Hashable, CustomStringConvertible {
  package let status: HTTPResponse.Status
  /// The error, and what would be correct, in one sentence.
  package let detail: String
  /// The parameter at fault; nil if there is none.
  var parameter: String?
  /// Additional members of the answer, such as `code`.
  var members: [String: JSONValue] = [:]
  /// Additional header fields of the answer, such as `Retry-After`.
  var headers: [String: String] = [:]

  package init(
    _ status: HTTPResponse.Status, _ detail: String, parameter: String? = nil, headers: [String: String] = [:]
  ) {
    self.status = status
    self.detail = detail.brief
    self.parameter = parameter
    self.headers = headers
  }

  package var description: String { "\(status.code): \(detail)" }

  /// 400, for a parameter.
  package static func badParameter(_ name: String, _ detail: String) -> Problem {
    Problem(.badRequest, detail, parameter: name)
  }

  package static func notFound(_ detail: String) -> Problem { Problem(.notFound, detail) }

  /// 404 for a time without a buffered frame; `buffered` is the range of the buffered frames.
  static func notBuffered(_ buffered: ClosedRange<WallTime>?) -> Problem {
    var problem = Problem(
      .notFound,
      buffered.map {
        "no picture of that time is buffered (buffered: \($0.lowerBound) to \($0.upperBound))"
      } ?? "no picture of this camera is buffered: set the camera's 'replay'")
    problem.members["code"] = "not-kept"
    problem.members["replay"] = buffered.map { JSONValue($0) }
    return problem
  }

  /// 503 or 429, with the time to retry.
  package static func busy(_ status: HTTPResponse.Status, _ detail: String, retryAfter seconds: Int)
    -> Problem
  {
    Problem(status, detail, headers: ["Retry-After": "\(seconds)"])
  }

  package func response(from request: Request, context: some RequestContext) throws -> Response {
    var fields = HTTPFields()
    fields[.contentType] = "application/problem+json"
    fields[.cacheControl] = "no-store"
    for (name, value) in headers { fields[named: name] = value }
    var members = members
    members["title"] = .string(status.reasonPhrase)
    members["status"] = .integer(status.code)
    members["detail"] = .string(detail)
    members["parameter"] = parameter.map(JSONValue.string)
    return Response(status: status, headers: fields, json: members)
  }
}

extension Problem {
  /// Creates the problem that a client sees for an error; nil if the error must not be shown to clients.
  package init?(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as NotBuffered: self = .notBuffered(error.buffered)
    case let error as ParameterError: self = .badParameter(error.key, error.reason)
    case let error as SourceError:
      self = .busy(.serviceUnavailable, "the camera delivers no frames: \(error.reason)", retryAfter: 1)
    case let error as VideoError:
      self =
        error.kind == .unavailable
        ? Problem(.notImplemented, error.description)
        : .busy(.serviceUnavailable, error.description, retryAfter: 5)
    case let error as WebPError:
      self =
        switch error.kind {
        case .unavailable: Problem(.notImplemented, error.description)
        case .tooLarge: .badParameter("before", error.description)
        case .failed: Problem(.internalServerError, error.description)
        }
    case is DeviceError, is RenderError: self = .busy(.serviceUnavailable, "\(error)", retryAfter: 5)
    case is MemoryBudget.Exceeded, is SessionError:
      self = .busy(.serviceUnavailable, "\(error)", retryAfter: 1)
    case let error as HTTPError where error.status == .notFound:
      self.init(
        .notFound, error.body ?? "not found: the dashboard is at /, and /api/cameras lists all URLs")
    case is NIOTooManyBytesError: self.init(.contentTooLarge, "the request body is too large")
    // The client has disconnected or never spoke HTTP, so no one reads the answer.
    case is HTTPParserError, is ChannelError, is IOError:
      self.init(.badRequest, "the connection was lost: \(error)")
    case let error as HTTPError: self.init(error.status, error.body ?? error.status.reasonPhrase)
    default: return nil
    }
  }
}

/// Returns the result of `work`, unless the service shuts down first.
///
/// - Throws: the errors of `work`; `Problem` 503 if the service shuts down.
package func beforeShutdown<Value: Sendable>(_ work: @Sendable @escaping () async throws -> Value)
  async throws
  -> Value
{
  do {
    return try await cancelWhenGracefulShutdown(work)
  } catch is CancellationError where Task.isShuttingDownGracefully {
    throw Problem.busy(.serviceUnavailable, "the service is shutting down", retryAfter: 5)
  }
}
