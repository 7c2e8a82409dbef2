// A listen address, written `HOST:PORT`, `[ADDRESS]:PORT` or `unix:PATH` in options and configurations.

package enum ListenAddress: Sendable, Hashable {
  /// A host name or IP address, and a port. Port 0 selects a free port.
  case host(String, port: Int)
  /// A Unix domain socket.
  case unix(path: String)

  package static let loopback = ListenAddress.host("127.0.0.1", port: 8080)
}

extension ListenAddress {
  /// The longest socket path that the kernel accepts, in bytes.
  static let longestPath = 107

  /// Parses `HOST:PORT`, `[ADDRESS]:PORT` (IPv6), `HOST` alone (port 8080), or `unix:PATH`.
  ///
  /// - Throws: `ParameterError`.
  package static func parse(_ text: String) throws(ParameterError) -> ListenAddress {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard !path.isEmpty else {
        throw ParameterError("'\(text)' names no socket: use unix:PATH, such as unix:/run/glpreview.sock")
      }
      return .unix(path: path)
    }
    let form = "HOST:PORT, [ADDRESS]:PORT or unix:PATH"
    var rest = text[...]
    var host: Substring
    if rest.first == "[" {
      guard let end = rest.firstIndex(of: "]") else { throw ParameterError("'\(text)' is not \(form)") }
      host = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
      guard host.contains(":") else {
        throw ParameterError("'\(text)': brackets are for an IPv6 address, such as [::1]:8080")
      }
    } else {
      guard rest.count(where: { $0 == ":" }) < 2 else {
        throw ParameterError("'\(text)' is not \(form); put an IPv6 address in brackets")
      }
      host = rest.prefix { $0 != ":" }
      rest = rest[host.endIndex...]
    }
    guard !host.isEmpty else {
      throw ParameterError("'\(text)' has no host: use 0.0.0.0\(text) for all addresses")
    }
    guard rest.isEmpty || rest.first == ":",
      !host.contains(where: { $0.isWhitespace || $0 == "/" || $0 == "@" })
    else { throw ParameterError("'\(text)' is not \(form)") }
    guard !rest.isEmpty else {
      guard !host.allSatisfy(\.isNumber) else {
        throw ParameterError("'\(text)' is not \(form); for a port of this machine use 127.0.0.1:\(text)")
      }
      return .host(String(host), port: 8080)
    }
    guard let port = UInt16(rest.dropFirst()) else {
      throw ParameterError("'\(text)': a port is a whole number from 0 to 65535 (0 selects a free port)")
    }
    return .host(String(host), port: Int(port))
  }

  /// Whether only this machine can connect.
  package var isLocal: Bool {
    switch self {
    case .unix: true
    case .host(let host, _):
      host == "localhost" || host == "::1" || Self.isLoopback(ipv4: host)
    }
  }

  /// The URL of the address; nil if other machines can't use it: for a Unix socket and for wildcard
  /// addresses.
  package func url(isSecure: Bool) -> String? {
    guard case .host(let host, _) = self, !["0.0.0.0", "::", "*"].contains(host) else { return nil }
    return (isSecure ? "https://" : "http://") + description
  }

  /// Whether `host` is in 127.0.0.0/8. All four numbers are required, because a host name may also start with
  /// `127.`.
  private static func isLoopback(ipv4 host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}

extension ListenAddress: CustomStringConvertible {
  /// The form that `--bind` accepts.
  package var description: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}
