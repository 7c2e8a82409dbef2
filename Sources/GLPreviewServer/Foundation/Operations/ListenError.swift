// Explains why the service can't listen on its address.
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// The service can't listen on its address.
package struct ListenError: Error, CustomStringConvertible {
  /// `ADDRESS: REASON`.
  package let description: String

  /// Explains an error of `PreviewServer.run()`; nil if it is unrelated to the configured address.
  package init?(_ error: any Error, at address: ListenAddress) {
    let reason: String
    switch error {
    case let error as IOError:
      guard let known = Self.reason(error.errnoCode, address) else { return nil }
      reason = known
    case is UnixDomainSocketPathWrongType: reason = "the file exists and is not a socket"
    case is SocketAddressError.UnknownHost: reason = "unknown host"
    case let error as SocketAddressError: reason = "\(error)"
    default: return nil
    }
    description = "\(address): \(reason)"
  }

  /// Returns the reason for an `errno` of `socket` or `bind`.
  private static func reason(_ number: Int32, _ address: ListenAddress) -> String? {
    switch number {
    case EADDRINUSE: "the address is in use"
    case EADDRNOTAVAIL: "no interface of this machine has this address"
    case EACCES, EPERM:
      if case .host = address {
        "ports below 1024 are reserved for root"
      } else {
        "no permission to write to this folder"
      }
    case ENOENT, ENOTDIR: "its folder does not exist"
    case EAFNOSUPPORT: "this machine does not support addresses of this kind"
    default: nil
    }
  }
}
