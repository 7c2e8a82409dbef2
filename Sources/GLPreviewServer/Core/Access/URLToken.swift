// Tokens in URLs, for players that can't send header fields, and their removal from logs.
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

/// The parameter `token=SECRET` of a URL.
enum URLToken {
  static func token(in uri: URI) -> String? { uri.queryParameters["token"].map(String.init) }

  /// Returns the URL with `***` in place of a token or a signature, for logs.
  static func redacted(_ url: String) -> String {
    edited(url) { pair in
      let name = pair.prefix { $0 != "=" }
      return isSecret(name) ? name + "=***" : pair
    }
  }

  /// Returns the URL without a token.
  static func removed(from url: String) -> String {
    edited(url) { isToken($0.prefix { $0 != "=" }) ? nil : $0 }
  }

  private static func isSecret(_ name: Substring) -> Bool {
    isToken(name) || String(name).percentDecoded.lowercased() == SignedLink.signParameter
  }

  /// Ignores case, because even a misspelt parameter may contain a secret.
  private static func isToken(_ name: Substring) -> Bool {
    guard name.utf8.count == 5 || name.utf8.contains(UInt8(ascii: "%")) else { return false }
    return String(name).percentDecoded.lowercased() == "token"
  }

  private static func edited(_ url: String, _ edit: (Substring) -> Substring?) -> String {
    guard let mark = url.firstIndex(of: "?") else { return url }
    let pairs = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
    let query = pairs.compactMap(edit).joined(separator: "&")
    return query.isEmpty ? String(url[..<mark]) : url[...mark] + query
  }
}

extension Response {
  /// The media type of playlists. Each URI in a playlist contains exactly one question mark, and no other
  /// text contains one.
  package static let playlist = "application/vnd.apple.mpegurl"

  /// Returns the answer; in a playlist, the token of the request's URL is added to all URIs.
  func carryingToken(of request: Request) -> Response {
    guard let type = headers[.contentType], [Self.playlist, "text/vtt"].contains(type),
      let token = request.uri.query?.split(separator: "&").first(where: { $0.hasPrefix("token=") })
    else { return self }
    let word = token.replacing("?", with: "%3F").replacing("\"", with: "%22")
    var response = self
    response.headers[.contentLength] = nil
    response.body = body.map { ByteBuffer(string: String(buffer: $0).replacing("?", with: "?\(word)&")) }
    return response
  }
}
