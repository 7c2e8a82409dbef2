// The description of the API for programs (OpenAPI 3.1.1), generated from the documentation of the routes.
internal import HTTPTypes

/// A route with its rule and its documentation.
struct DescribedRoute: Sendable {
  let path: String
  let method: HTTPRequest.Method
  let rule: RouteRule
  let entry: RouteEntry

  init(_ path: String, _ method: HTTPRequest.Method, _ rule: RouteRule, _ entry: RouteEntry) {
    (self.path, self.method, self.rule, self.entry) = (entry.path ?? path, method, rule, entry)
  }
}

extension RouteRules {
  /// Returns the document of all routes that were added with a `RouteEntry`.
  package func description(version: String) -> [String: JSONValue] {
    var schemas: [String: JSONValue] = [:]
    var paths: [String: [String: JSONValue]] = [:]
    let routes = described
    let parameters = DescribedRoute.shared(routes)
    for route in routes {
      let operation = route.operation(parameters, &schemas)
      paths[route.template, default: [:]][route.method.rawValue.lowercased()] = operation
    }
    var responses: [String: JSONValue] = [:]
    for problem in DescribedRoute.problems {
      responses["\(problem.status.code)"] = [
        "description": .string(problem.purpose),
        "content": ["application/problem+json": ["schema": JSONSchema.problem.json(&schemas)]],
      ]
    }
    let inQuery = parameters.mapValues { $0.json(&schemas) }
    return [
      "openapi": "3.1.1",
      "info": [
        "title": "GLPreview", "version": .string(version),
        "description": "Previews, snapshots and recordings of cameras.",
        "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
      ],
      "servers": [["url": "/"]], "paths": .object(paths.mapValues(JSONValue.object)),
      "components": [
        "schemas": .object(schemas), "parameters": .object(inQuery), "responses": .object(responses),
        "securitySchemes": .object(DescribedRoute.securitySchemes),
      ],
    ]
  }
}

extension DescribedRoute {
  /// The path in the notation of OpenAPI.
  fileprivate var template: String {
    let segments = path.split(separator: "/").map { $0.first == ":" ? "{\($0.dropFirst())}" : String($0) }
    return "/" + segments.joined(separator: "/")
  }

  private var pathParameters: [String] {
    template.split(separator: "{").dropFirst().map { String($0.prefix { $0 != "}" }) }
  }

  /// Returns the parameters, by name, that have the same documentation in all routes.
  fileprivate static func shared(_ routes: [DescribedRoute]) -> [String: QueryEntry] {
    let all = Dictionary(grouping: Set(routes.flatMap(\.entry.query)), by: \.name)
    return all.compactMapValues { $0.count == 1 ? $0[0] : nil }
  }

  fileprivate func operation(
    _ shared: [String: QueryEntry], _ schemas: inout [String: JSONValue]
  ) -> JSONValue {
    var responses: [String: JSONValue] = [:]
    for answer in entry.answers {
      var response: [String: JSONValue] = ["description": .string(answer.purpose)]
      if !answer.contents.isEmpty { response["content"] = Self.content(answer.contents, &schemas) }
      responses["\(answer.status.code)"] = .object(response)
    }
    for status in statuses where responses["\(status.code)"] == nil {
      responses["\(status.code)"] = ["$ref": .string("#/components/responses/\(status.code)")]
    }
    let inPath = pathParameters.map { name -> JSONValue in
      ["name": .string(name), "in": "path", "required": true, "schema": ["type": "string"]]
    }
    let inQuery = entry.query.map { entry -> JSONValue in
      guard shared[entry.name] == nil else {
        return ["$ref": .string("#/components/parameters/\(entry.name)")]
      }
      return entry.json(&schemas)
    }
    var operation: [String: JSONValue] = [
      "operationId": .string(entry.name), "summary": .string(entry.purpose), "responses": .object(responses),
      "parameters": .array(inPath + inQuery), "security": .array(security),
    ]
    if let body = entry.body {
      operation["requestBody"] = [
        "required": .bool(body.isRequired), "content": Self.content(body.contents, &schemas),
      ]
    }
    return .object(operation)
  }

  private static func content(
    _ contents: [String: JSONSchema], _ schemas: inout [String: JSONValue]
  ) -> JSONValue {
    .object(contents.mapValues { ["schema": $0.json(&schemas)] })
  }

  // MARK: Access

  private var role: Role? { rule.role(for: method) }

  private var security: [JSONValue] {
    guard let role else { return [] }
    let scopes: JSONValue = [.string(role.rawValue)]
    let isGet = method == .get
    let ways =
      ["bearer", "basic"] + (rule.takesURLToken && isGet ? ["token"] : [])
      + (rule.takesLink && isGet ? ["link"] : [])
    // A service without tokens and users requires no credentials.
    return [[:]] + ways.map { .object([$0: scopes]) }
  }

  fileprivate static let securitySchemes: [String: JSONValue] = [
    "bearer": ["type": "http", "scheme": "bearer", "description": "a token of `access.tokens`"],
    "basic": ["type": "http", "scheme": "basic", "description": "a user of `access.users`"],
    "link": [
      "type": "apiKey", "in": "query", "name": "sign",
      "description": "a signed link, whose path and other parameters can't be changed (docs/links.md)",
    ],
    "token": ["type": "apiKey", "in": "query", "name": "token", "description": "a token, for players"],
  ]

  // MARK: Errors

  fileprivate static let problems: [(status: HTTPResponse.Status, purpose: String)] = [
    (.badRequest, "a parameter or the body is invalid; `parameter` names it"),
    (.unauthorized, "a token, or a user name and password, is required"),
    (.forbidden, "the role is insufficient, the view is locked, or the host or origin is not allowed"),
    (.notFound, "no such camera, view or file"),
    (.notAcceptable, "the offer has no supported format"),
    (.conflict, "the view is switched off, or the camera does not support this"),
    (.contentTooLarge, "the body is too large"),
    (.uriTooLong, "the URL is too long for another node"),
    (.unsupportedMediaType, "the body has another type"),
    (.rangeNotSatisfiable, "the range is outside the file"),
    (.upgradeRequired, "this URL requires a WebSocket"),
    (.tooManyRequests, "too many requests, or no room on the GPU; `Retry-After` says when to retry"),
    (.internalServerError, "a file can't be written or removed: see the log"),
    (.notImplemented, "a library is missing"),
    (.badGateway, "the camera's node sent no valid answer"),
    (
      .serviceUnavailable,
      "the camera delivers no frames, or the service is busy or shutting down; `Retry-After` says when to retry"
    ),
    (.gatewayTimeout, "no picture in time, or the camera's node does not answer"),
  ]

  /// The errors that every request of this kind may get, and those of the route.
  private var statuses: [HTTPResponse.Status] {
    var statuses: [HTTPResponse.Status] = [.badRequest, .forbidden, .tooManyRequests, .serviceUnavailable]
    if role != nil { statuses.append(.unauthorized) }
    if !pathParameters.isEmpty { statuses.append(.notFound) }
    if pathParameters.contains("camera") || rule.parameters != nil {
      statuses += [.notFound, .conflict, .badGateway, .gatewayTimeout]
    }
    if method.changesSomething { statuses += [.contentTooLarge, .unsupportedMediaType] }
    return statuses + entry.problems
  }
}

extension JSONSchema {
  fileprivate static let problem = JSONSchema.named(
    "Problem",
    .object([
      .init("title", .text), .init("status", .integer),
      .init("detail", .text, "what is wrong, and how to correct it"),
      .optional("parameter", .text, "the parameter, or the member of the body, that is invalid"),
      .optional(
        "code", .choice(["not-kept", "not-recorded", "not-stored"]), "identifies an error for programs"),
      .optional("nearest", .list(of: .time), "the closest times that have a picture"),
      .optional("replay", .named("Times", .times), "the time range of the replay buffer"),
    ]))

  /// Times as seconds since 1970.
  package static let times = JSONSchema.object([.init("from", .number), .init("to", .number)])
}
