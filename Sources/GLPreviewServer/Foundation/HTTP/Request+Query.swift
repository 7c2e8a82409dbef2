// The same request with other parameters.
internal import Hummingbird
package import HummingbirdCore

extension Request {
  /// The request without one parameter.
  package func without(_ key: String) -> Request {
    let query = (uri.query ?? "").split(separator: "&").filter { $0 != key && !$0.hasPrefix("\(key)=") }
    return at(uri.path, with: query.joined(separator: "&"))
  }

  /// The request with one parameter more.
  package func adding(_ word: String) -> Request {
    at(uri.path, with: uri.query.map { "\($0)&\(word)" } ?? word)
  }

  /// The request at another path.
  package func at(_ path: String, with query: String) -> Request {
    var head = head
    head.path = query.isEmpty ? path : "\(path)?\(query)"
    return Request(head: head, body: body)
  }
}
