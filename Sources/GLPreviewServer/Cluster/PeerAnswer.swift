// A peer's answer as clients get it: only header fields and content types that this service itself sends. A
// peer is another machine, and pages receive its answers from this service's address.
internal import AsyncHTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1

/// The head of an answer.
struct PeerAnswer: Sendable {
  let status: HTTPResponse.Status
  let headers: HTTPFields
  /// Nil if the peer sends no length.
  let contentLength: Int?

  private static let types: Set<String> = [
    "image/jpeg", "image/png", "image/webp", "video/mp4", "application/json", "application/octet-stream",
    "application/problem+json", "application/sdp", "application/vnd.apple.mpegurl", "multipart/mixed",
    "multipart/x-mixed-replace", "text/plain", "text/vtt",
  ]
  private static let fields: Set<String> = [
    "content-type", "etag", "age", "content-disposition", "accept-post", "allow", "retry-after",
    "x-timestamp",
    "x-source-state", "x-accel-buffering", "accept-ranges", "content-range", "x-recording", "x-pictures",
    "x-gaps",
  ]
  private static let families = ["x-frame-", "x-view-", "x-ustreamer-"]

  /// - Throws: `Problem` 502 for an answer that this service never gives.
  init(_ response: HTTPClientResponse, from node: String) throws(Problem) {
    let code = Int(response.status.code)
    switch code {
    // This node has authenticated the client, so the peer has refused this node and not the client.
    case 401: throw .peer(node, "rejected this node's token")
    case 421: throw .peer(node, "rejected the host name that this node uses (see access.hosts there)")
    case 304, 200..<300, 400..<600: break
    default: throw .peer(node, "answered \(code)")
    }
    let type = response.headers.first(name: "Content-Type")
    let kind = type.map { String($0.prefix { $0 != ";" && $0 != " " }).lowercased() }
    if let kind, !Self.types.contains(kind) { throw .peer(node, "answered with an unexpected content type") }
    var headers = HTTPFields()
    for (name, value) in response.headers where Self.isKept(name.lowercased(), value) {
      if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
    }
    headers[.cacheControl] =
      kind?.hasPrefix("image/") == true || code == 304 ? "private, no-cache" : "no-store"
    status = HTTPResponse.Status(integerLiteral: code)
    self.headers = headers
    contentLength = response.headers.first(name: "Content-Length").flatMap { Int($0) }.flatMap {
      $0 < 0 ? nil : $0
    }
  }

  private static func isKept(_ name: String, _ value: String) -> Bool {
    switch name {
    // A WebRTC session has the same path here.
    case "location": value.hasPrefix("/cameras/")
    case "link": value.contains("rel=\"ice-server\"")
    default: fields.contains(name) || families.contains { name.hasPrefix($0) }
    }
  }

  var result: ServiceMetrics.ForwardResult {
    switch status.code {
    case ..<400: .done
    case ..<500: .refused
    default: .failed
    }
  }
}

/// A peer's picture, unchanged. It counts against the memory budget while it is held.
struct PeerPicture: Sendable {
  let head: PeerAnswer
  let bytes: ByteBuffer
  let lease: MemoryLease
}

extension Problem {
  /// 502: a node gives no answer that can be passed through.
  static func peer(_ node: String, _ reason: String) -> Problem {
    Problem(.badGateway, "node '\(node)' \(reason)", headers: ["Retry-After": "2"])
  }
}
