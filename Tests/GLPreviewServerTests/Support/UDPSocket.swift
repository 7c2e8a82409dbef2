// A UDP socket of a test's own: what was sent is read from it, and what the kernel refuses can be chosen.
import Glibc
import NIOCore
import Testing

/// A socket on a free port of a loopback address.
final class UDPSocket {
  let descriptor: CInt
  let address: SocketAddress

  init(_ host: String = "127.0.0.1") throws {
    let isV6 = host.contains(":")
    descriptor = socket(isV6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    try #require(descriptor >= 0)
    let wanted = try SocketAddress(ipAddress: host, port: 0)
    let own = descriptor
    try #require(unsafe wanted.withSockAddr { unsafe bind(own, $0, socklen_t($1)) } == 0)
    var (bytes, count) = ([UInt8](repeating: 0, count: 28), socklen_t(28))
    let told = unsafe bytes.withUnsafeMutableBytes { room in
      unsafe getsockname(own, room.assumingMemoryBound(to: sockaddr.self).baseAddress, &count)
    }
    try #require(told == 0)
    // The port is at the same place in both families.
    address = try SocketAddress(ipAddress: host, port: Int(bytes[2]) << 8 | Int(bytes[3]))
    set(SO_RCVBUF, 4 << 20)
    // It hears itself alone: an ended test's service may still send to a client that had this port.
    let isConnected = unsafe address.withSockAddr { unsafe connect(own, $0, socklen_t($1)) }
    try #require(isConnected == 0)
  }

  deinit { close(descriptor) }

  func set(_ option: CInt, _ value: CInt) {
    var value = value
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  /// What has arrived: on loopback that is all that was sent.
  func datagrams() -> [[UInt8]] {
    var found: [[UInt8]] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
      guard count >= 0 else { return found }
      found.append(Array(bytes[..<count]))
    }
  }
}
