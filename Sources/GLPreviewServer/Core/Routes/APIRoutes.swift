// `/api/openapi.json`: the machine-readable description of the API.
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// The description of all routes, including those added later.
struct APIRoutes: Sendable {
  let version: String
  /// The document, encoded at the first request. All answers share its bytes.
  private let written = Written()

  private final class Written: Sendable { let bytes = Mutex<ByteBuffer?>(nil) }

  init(version: String) { self.version = version }

  func add(to group: ServiceRoutes) {
    let entry = RouteEntry(
      "getDescription", "This description",
      answers: [.json(.names(.keywords([:])), "an OpenAPI 3.1 document")])
    let rules = group.rules
    group.get("api/openapi.json", as: [entry]) { _, _ in
      let bytes = written.bytes.withLock { bytes in
        let known = bytes ?? ByteBuffer(bytes: rules.description(version: version).json)
        bytes = known
        return known
      }
      return Response(
        status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: bytes))
    }
  }
}
