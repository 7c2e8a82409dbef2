// The documentation of routes in the description of the API.
package import HTTPTypes

/// The documentation of a route: its parameters, body and answers, without the errors that its rule implies.
package struct RouteEntry: Sendable {
  /// The name of the operation; generated clients use it as a function name.
  let name: String
  let purpose: String
  /// The documented path, if it is more specific than the router's; nil for the router's.
  var path: String?
  var query: [QueryEntry]
  var body: RouteBody?
  var answers: [RouteAnswer]
  /// The errors besides those that its rule implies.
  var problems: [HTTPResponse.Status]

  package init(
    _ name: String, _ purpose: String, at path: String? = nil, query: [QueryEntry] = [],
    body: RouteBody? = nil, answers: [RouteAnswer], problems: [HTTPResponse.Status] = []
  ) {
    (self.name, self.purpose, self.path, self.query) = (name, purpose, path, query)
    (self.body, self.answers, self.problems) = (body, answers, problems)
  }
}

/// The body of a request, by content type.
package struct RouteBody: Sendable {
  let contents: [String: JSONSchema]
  let isRequired: Bool

  /// A body of JSON.
  package static func json(_ schema: JSONSchema, isRequired: Bool = true) -> RouteBody {
    RouteBody(contents: ["application/json": schema], isRequired: isRequired)
  }

  package init(contents: [String: JSONSchema], isRequired: Bool = true) {
    (self.contents, self.isRequired) = (contents, isRequired)
  }
}

/// An answer that is not an error.
package struct RouteAnswer: Sendable {
  let status: HTTPResponse.Status
  let purpose: String
  /// The schema of each content type.
  let contents: [String: JSONSchema]

  package init(_ status: HTTPResponse.Status, _ purpose: String, _ contents: [String: JSONSchema] = [:]) {
    (self.status, self.purpose, self.contents) = (status, purpose, contents)
  }

  /// A JSON answer.
  package static func json(
    _ schema: JSONSchema, status: HTTPResponse.Status = .ok, _ purpose: String
  ) -> RouteAnswer { RouteAnswer(status, purpose, ["application/json": schema]) }

  /// An answer of one of these content types.
  package static func bytes(_ types: String..., purpose: String) -> RouteAnswer {
    RouteAnswer(.ok, purpose, Dictionary(types.map { ($0, .keywords([:])) }) { $1 })
  }

  /// 204 No Content.
  package static func nothing(_ purpose: String) -> RouteAnswer { RouteAnswer(.noContent, purpose) }

  /// 304, for a client that already has the answer.
  package static let notModified = RouteAnswer(.notModified, "the client already has it")
}
