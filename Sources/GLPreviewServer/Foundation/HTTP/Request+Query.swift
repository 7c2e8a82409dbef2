// Copies of a request with a changed path or query.
internal import Hummingbird
package import HummingbirdCore

extension Request {
  /// Returns the request without one parameter.
  package func without(_ key: String) -> Request {
    let query = (uri.query ?? "").split(separator: "&").filter { $0 != key && !$0.hasPrefix("\(key)=") }
    return at(uri.path, with: query.joined(separator: "&"))
  }

  /// Returns the request with one more parameter.
  package func adding(_ word: String) -> Request {
    at(uri.path, with: uri.query.map { "\($0)&\(word)" } ?? word)
  }

  /// Returns the request with another path and query.
  package func at(_ path: String, with query: String) -> Request {
    var head = head
    head.path = query.isEmpty ? path : "\(path)?\(query)"
    return Request(head: head, body: body)
  }
}
