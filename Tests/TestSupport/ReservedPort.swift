// A port that no other test gets: for servers that end and come back, and for clients to which nobody answers.
import Foundation

/// A port of loopback, reserved for as long as this object exists. Nobody listens there, so connections are refused, until a server
/// does that sets SO_REUSEADDR; such a server may end, and another one begin.
package final class ReservedPort: Sendable {
  package let number: Int
  private let socket: CInt

  package init() throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var isOn: CInt = 1
    _ = unsafe setsockopt(
      socket, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let own = socket
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(own, address, length) == 0 && getsockname(own, address, &length) == 0
      }
    }
    number = Int(UInt16(bigEndian: address.sin_port))
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
  }

  deinit { close(socket) }
}
