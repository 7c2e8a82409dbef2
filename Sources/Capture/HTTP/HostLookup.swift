// Looks up the addresses of a host, on a thread that may block.
internal import Dispatch
internal import Glibc

enum HostLookup {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Returns the addresses of `host`, in the order in which to try them; `host` itself if it is an address.
  ///
  /// A cancelled task returns at once. The resolver can't be stopped and ends by itself, after a few seconds
  /// at most.
  static func addresses(of host: String) async throws -> [String] {
    if isAddress(host) { return [host] }
    let answer = Promise<[String]>()
    // A serial queue has its own thread; a concurrent one would block Swift's tasks.
    DispatchQueue(label: "glpreview.lookup").async { answer.fulfil(Result { try lookUp(host) }) }
    return try await answer.value() ?? []
  }

  private static func isAddress(_ text: String) -> Bool {
    var address = [UInt8](repeating: 0, count: 16)
    return unsafe inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
  }

  private static func lookUp(_ host: String) throws(Failure) -> [String] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, &hints, &list)
    guard code == 0 else {
      switch code {
      case EAI_NONAME, EAI_NODATA: throw Failure(description: "no such host")
      case EAI_AGAIN: throw Failure(description: "the host's name can't be looked up now")
      default:
        throw Failure(
          description: "the host's name can't be looked up: \(unsafe String(cString: gai_strerror(code)))")
      }
    }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [String] = []
    var next = unsafe list
    while let entry = unsafe next {
      unsafe next = entry.pointee.ai_next
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let result = unsafe getnameinfo(
        entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
      let address = String(written: text)
      // Link-local addresses (`fe80::1%eth0`) can't be passed to the client.
      if result == 0, !address.contains("%"), !addresses.contains(address) { addresses.append(address) }
    }
    guard !addresses.isEmpty else { throw Failure(description: "the host has no address that can be used") }
    return addresses
  }
}

private let EAI_NODATA: Int32 = -5
