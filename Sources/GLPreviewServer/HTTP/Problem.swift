// Errors of requests, in the form of RFC 9457.
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// An error that becomes an answer: `application/problem+json` with `title`, `status`, `detail` and the parameter at
/// fault.
struct Problem: Error, HTTPResponseError, Hashable, CustomStringConvertible {
  let status: HTTPResponse.Status
  /// What is wrong and what would be right, in one sentence.
  let detail: String
  /// The parameter at fault; nil if there is none.
  var parameter: String?
  /// Additional header fields of the answer, such as `Retry-After`.
  var headers: [String: String] = [:]

  init(
    _ status: HTTPResponse.Status, _ detail: String, parameter: String? = nil, headers: [String: String] = [:]
  ) {
    self.status = status
    self.detail = detail
    self.parameter = parameter
    self.headers = headers
  }

  var description: String { "\(status.code): \(detail)" }

  /// 400, for a parameter.
  static func badParameter(_ name: String, _ detail: String) -> Problem {
    Problem(.badRequest, detail, parameter: name)
  }

  /// 404.
  static func notFound(_ detail: String) -> Problem { Problem(.notFound, detail) }

  /// 503 or 429, with the time to retry.
  static func busy(_ status: HTTPResponse.Status, _ detail: String, retryAfter seconds: Int) -> Problem {
    Problem(status, detail, headers: ["Retry-After": "\(seconds)"])
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var fields = HTTPFields()
    fields[.contentType] = "application/problem+json"
    fields[.cacheControl] = "no-store"
    for (name, value) in headers {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    let body = Body(title: status.reasonPhrase, status: status.code, detail: detail, parameter: parameter)
    return try Response(status: status, headers: fields, json: body)
  }

  private struct Body: Encodable {
    let title: String
    let status: Int
    let detail: String
    let parameter: String?
  }
}
