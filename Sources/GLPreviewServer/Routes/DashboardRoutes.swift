// `/`: the page, and what it is made of, out of the binary.
internal import CWeb
internal import Crypto
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The dashboard's files.
struct DashboardRoutes: Sendable {
  /// What `/?action=...` is answered with, where it is anything.
  let action: @Sendable (Request, ServiceContext) async throws -> Response?

  func add(to group: RouterGroup<ServiceContext>) {
    let page = unsafe WebFile(glp_index_html, "text/html; charset=utf-8")
    group.get("/") { request, context in
      if let response = try await action(request, context) { return response }
      return page.response(to: request)
    }
    for (path, file) in [
      ("dashboard.css" as RouterPath, unsafe WebFile(glp_dashboard_css, "text/css; charset=utf-8")),
      ("dashboard.js", unsafe WebFile(glp_dashboard_js, "text/javascript; charset=utf-8")),
    ] {
      group.get(path) { request, _ in file.response(to: request) }
    }
    group.get("favicon.ico") { _, _ in Response(status: .noContent) }
  }
}

/// A file that is in the binary.
private struct WebFile: Sendable {
  private let bytes: ByteBuffer
  private let mediaType: String
  private let entityTag: String

  init(_ file: glp_web_file, _ mediaType: String) {
    let bytes = unsafe UnsafeRawBufferPointer(start: file.bytes, count: file.length)
    self.bytes = unsafe ByteBuffer(bytes: bytes)
    self.mediaType = mediaType
    let digest = unsafe SHA256.hash(data: bytes)
    entityTag = "\"" + digest.prefix(8).map { String($0, radix: 36) }.joined() + "\""
  }

  func response(to request: Request) -> Response {
    var headers: HTTPFields = [.eTag: entityTag, .cacheControl: "no-cache"]
    if request.headers[.ifNoneMatch] == entityTag { return Response(status: .notModified, headers: headers) }
    headers[.contentType] = mediaType
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes))
  }
}
