// The errors of servers that fail to send pictures.
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPCompression
internal import NIOSSL

extension SourceError {
  static func http(_ head: HTTPResponseHead, _ address: HTTPAddress, name: String) -> SourceError {
    let hadCredentials = address.credentials != nil
    let reason =
      switch head.status.code {
      case 401, 407:
        hadCredentials
          ? "does not accept this user and password"
          : "requires a user and a password, as USER:PASSWORD@ before the host"
      case 403: "is forbidden (403)" + (hadCredentials ? " to this user" : "")
      case 404, 410: "not found (\(head.status.code))"
      case 300..<400: "redirects without saying where to (\(head.status.code))"
      default:
        "answers \(head.status.code) \(head.status.reasonPhrase)"
          + (head.headers.first(name: "retry-after")
            .map { "; it asks to retry after \($0.prefix(40))" } ?? "")
      }
    return SourceError(.unavailable, path: name, reason: reason)
  }

  /// Returns the error for a response without a picture; `what` describes what it contains instead.
  static func noPicture(_ what: String, _ head: HTTPResponseHead, name: String) -> SourceError {
    let type =
      head.headers.first(name: "content-type").map { $0.prefix { $0 != ";" }.prefix(60).trimmed } ?? ""
    return SourceError(
      .unavailable, path: name, reason: "sends \(what)\(type.isEmpty ? "" : " (\(type))"), not a picture")
  }

  static func http(_ error: any Error, name: String) -> SourceError {
    (error as? SourceError) ?? SourceError(.unavailable, path: name, reason: words(error))
  }

  private static func words(_ error: any Error) -> String {
    switch error {
    case is HTTPConnectionClosed: "closed the connection"
    case let error as CertificateFailure: "\(error)"
    case let error as ParameterError: "\(error)"
    case let error as IOError: system(error.errnoCode)
    case ChannelError.connectTimeout: "connection timed out"
    case let error as NIOSSLError: words(error)
    case let error as BoringSSLError: "TLS fails: \(error)"
    case let error as NIOSSLExtraError: "TLS fails: \(error.description)"
    case is HTTPResponseFailure: "does not speak HTTP: \(error)"
    case is NIOHTTPDecompression.DecompressionError: "sends data that can't be decompressed: \(error)"
    default: "the connection was lost: \(error)"
    }
  }

  private static func words(_ error: NIOSSLError) -> String {
    guard case .handshakeFailed(let cause) = error else { return "TLS fails: \(error)" }
    let text = "\(cause)"
    if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
      return "TLS fails: the server does not speak TLS on this port (http://?)"
    }
    return "TLS fails: \(text)"
  }

  private static func system(_ code: CInt) -> String {
    switch code {
    case ECONNREFUSED: "connection refused"
    case ETIMEDOUT: "connection timed out"
    case ECONNRESET, EPIPE: "closed the connection"
    case EHOSTUNREACH, ENETUNREACH: "can't be reached from here"
    default: "the connection was lost: \(String(errno: code))"
    }
  }
}
