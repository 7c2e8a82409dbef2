// Tells systemd how the service is: sd_notify(3)'s protocol, datagrams to the socket that the environment names.
internal import FoundationEssentials
internal import GLPreview
internal import Glibc

/// Who started the service and wants to know when it is ready. Where nobody does, nothing is sent.
package struct SystemdNotifier: Sendable, Hashable {
  /// A path, or `@` and a name in the kernel's own name space; nil where nobody listens.
  private let address: String?
  /// How often the watchdog is fed: twice in its time; nil where there is none.
  package let watchdogInterval: Duration?

  /// What the environment says: `NOTIFY_SOCKET`, and `WATCHDOG_USEC` where `WATCHDOG_PID` is this process or nobody's.
  ///
  /// - Parameter environment: nil is the process's own.
  package init(environment: [String: String]? = nil) {
    let environment = environment ?? ProcessInfo.processInfo.environment
    let address = environment["NOTIFY_SOCKET"]
    self.address = address?.hasPrefix("/") == true || address?.hasPrefix("@") == true ? address : nil
    let isMine = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
    let time = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    watchdogInterval = isMine && time > 1 && self.address != nil ? .microseconds(time / 2) : nil
  }

  /// It answers now; also after a reload.
  @discardableResult package func ready() -> Bool { send("READY=1") }

  /// It reads its configuration again; `ready()` says that it is done.
  @discardableResult package func reloading() -> Bool {
    send("RELOADING=1\nMONOTONIC_USEC=\(Int64(CaptureClock.now / .microseconds(1)))")
  }

  /// It ends.
  @discardableResult package func stopping() -> Bool { send("STOPPING=1") }

  /// What `systemctl status` shows of it, on one line.
  @discardableResult package func status(_ text: String) -> Bool {
    send("STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " "))
  }

  /// Feeds the watchdog.
  @discardableResult package func alive() -> Bool { send("WATCHDOG=1") }

  /// Whether somebody took it. A second is more than enough: a service that waits for its supervisor is none.
  private func send(_ message: String) -> Bool {
    guard let address, var name = SocketName(address) else { return false }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // A `timeval`, by its fields: in a build of the whole module NIO's and the system's are one name for two things.
    var patience: (seconds: Int, microseconds: Int) = (1, 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout.size(ofValue: patience)))
    let bytes = Array(message.utf8)
    let count = unsafe withUnsafePointer(to: &name.address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, name.length)
      }
    }
    return count == bytes.count
  }
}

/// A name as the kernel takes it.
private struct SocketName {
  var address = sockaddr_un()
  let length: socklen_t

  /// Nil where it is too long.
  init?(_ text: String) {
    // Names beyond the file system begin with a zero, and end where the length says.
    let isAbstract = text.first == "@"
    let bytes = (isAbstract ? [0] : []) + Array(isAbstract ? Array(text.utf8.dropFirst()) : Array(text.utf8))
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count < room, let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    length = socklen_t(start + bytes.count + (isAbstract ? 0 : 1))
  }
}
