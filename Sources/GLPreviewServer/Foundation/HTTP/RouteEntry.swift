// What the description of the API says of a route.
package import HTTPTypes

/// The documentation of a route: what it takes and answers beside the errors that every route of its rule may give.
package struct RouteEntry: Sendable {
  /// The name of the operation, which clients that are made from the description give to a function.
  let name: String
  let purpose: String
  /// The path, where it says more than the router's; nil for that.
  var path: String?
  var query: [QueryEntry]
  var body: RouteBody?
  var answers: [RouteAnswer]
  /// Its own errors, beside those that its rule implies.
  var problems: [HTTPResponse.Status]

  package init(
    _ name: String, _ purpose: String, at path: String? = nil, query: [QueryEntry] = [],
    body: RouteBody? = nil, answers: [RouteAnswer], problems: [HTTPResponse.Status] = []
  ) {
    (self.name, self.purpose, self.path, self.query) = (name, purpose, path, query)
    (self.body, self.answers, self.problems) = (body, answers, problems)
  }
}

/// The body of a request, by its types.
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
  /// The schema of each type.
  let contents: [String: JSONSchema]

  package init(_ status: HTTPResponse.Status, _ purpose: String, _ contents: [String: JSONSchema] = [:]) {
    (self.status, self.purpose, self.contents) = (status, purpose, contents)
  }

  /// JSON.
  package static func json(
    _ schema: JSONSchema, status: HTTPResponse.Status = .ok, _ purpose: String
  ) -> RouteAnswer { RouteAnswer(status, purpose, ["application/json": schema]) }

  /// Bytes of one of these types.
  package static func bytes(_ types: String..., purpose: String) -> RouteAnswer {
    RouteAnswer(.ok, purpose, Dictionary(types.map { ($0, .keywords([:])) }) { $1 })
  }

  /// 204.
  package static func nothing(_ purpose: String) -> RouteAnswer { RouteAnswer(.noContent, purpose) }

  /// 304, for a client that has what it asks for.
  package static let notModified = RouteAnswer(.notModified, "the client has it already")
}
