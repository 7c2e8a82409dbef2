// An address that can't be had, in words for who chose it.
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Why a service does not listen.
package struct ListenError: Error, CustomStringConvertible {
  /// Where it should have.
  package let address: BindAddress
  /// What is wrong with that.
  package let reason: String

  /// What a server's end comes to; nil where it has nothing to do with its address.
  ///
  /// - Parameters:
  ///   - error: what `PreviewServer.run()` threw.
  ///   - address: where it should have listened.
  package init?(_ error: any Error, at address: BindAddress) {
    let reason: String
    switch error {
    case let error as IOError:
      guard let known = Self.reason(error.errnoCode, address) else { return nil }
      reason = known
    case is UnixDomainSocketPathWrongType: reason = "there is a file that is no socket"
    case is SocketAddressError.UnknownHost: reason = "nobody knows this host"
    case let error as SocketAddressError: reason = "\(error)"
    default: return nil
    }
    self.address = address
    self.reason = reason
  }

  /// Of calls that make a socket and give it its address.
  private static func reason(_ number: Int32, _ address: BindAddress) -> String? {
    switch number {
    case EADDRINUSE: "somebody else listens there"
    case EADDRNOTAVAIL: "no interface of this machine has this address"
    case EACCES, EPERM:
      if case .host = address { "ports below 1024 are root's" } else { "this folder is not ours to write" }
    case ENOENT, ENOTDIR: "its folder is not there"
    case EAFNOSUPPORT: "this machine has no addresses of this kind"
    default: nil
    }
  }

  /// `ADDRESS: REASON`.
  package var description: String { "\(address): \(reason)" }
}
