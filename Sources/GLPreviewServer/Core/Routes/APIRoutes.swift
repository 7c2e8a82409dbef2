// `/api/openapi.json`: the description of the API for programs.
internal import Hummingbird

/// The description of all routes, whenever they were added.
struct APIRoutes: Sendable {
  let version: String

  func add(to group: ServiceRoutes) {
    let entry = RouteEntry(
      "getDescription", "This description",
      answers: [.json(.names(.keywords([:])), "a document of OpenAPI 3.1")])
    let rules = group.rules
    group.get("api/openapi.json", as: [entry]) { _, _ in Response(json: rules.description(version: version)) }
  }
}
