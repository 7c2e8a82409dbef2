// Reports the service's state to systemd by the protocol of sd_notify(3): datagrams to a socket named in the
// environment. The watchdog is notified while the service is healthy, so that a hanging service is restarted.
internal import FoundationEssentials
internal import Glibc
internal import ServiceLifecycle

/// The supervisor that started the service. Without one, no message is sent.
package struct SystemdNotifier: Sendable, Hashable {
  /// The path of a socket, or `@` and the name of an abstract one; nil without a supervisor.
  private let address: String?
  /// The interval of watchdog notifications, half of the watchdog's timeout; nil if there is no watchdog.
  let watchdogInterval: Duration?

  /// Reads `NOTIFY_SOCKET`, and `WATCHDOG_USEC` if `WATCHDOG_PID` is this process or not set, by default from
  /// the process's own environment.
  package init(environment: [String: String]? = nil) {
    let environment = environment ?? ProcessInfo.processInfo.environment
    let address = environment["NOTIFY_SOCKET"]
    self.address = address?.hasPrefix("/") == true || address?.hasPrefix("@") == true ? address : nil
    let isMine = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
    let time = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    watchdogInterval = isMine && time > 1 && self.address != nil ? .microseconds(time / 2) : nil
  }

  /// Reports that the service is ready; also after a reload.
  @discardableResult package func ready() -> Bool { send("READY=1") }

  /// Reports that the service is reloading its configuration; `ready()` reports the end.
  @discardableResult package func reloading() -> Bool {
    send("RELOADING=1\nMONOTONIC_USEC=\(Int64(CaptureClock.now.sinceStart / .microseconds(1)))")
  }

  @discardableResult func stopping() -> Bool { send("STOPPING=1") }

  @discardableResult func alive() -> Bool { send("WATCHDOG=1") }

  /// Sends a message, and returns whether it was delivered. The timeout is a second, because a service must
  /// not wait for its supervisor.
  private func send(_ message: String) -> Bool {
    guard let address, var name = SocketName(address) else { return false }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // A `timeval`, built from its fields, because NIO and the system both declare the type.
    var sendTimeout: (seconds: Int, microseconds: Int) = (1, 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &sendTimeout, socklen_t(MemoryLayout.size(ofValue: sendTimeout)))
    let bytes = Array(message.utf8)
    let count = unsafe withUnsafePointer(to: &name.address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, name.length)
      }
    }
    return count == bytes.count
  }
}

/// The address of a Unix socket.
private struct SocketName {
  var address = sockaddr_un()
  let length: socklen_t

  /// Creates an address; nil if the name is too long.
  init?(_ text: String) {
    // Abstract names begin with a zero byte and are delimited by their length.
    let isAbstract = text.first == "@"
    let bytes = (isAbstract ? [0] : []) + Array(isAbstract ? Array(text.utf8.dropFirst()) : Array(text.utf8))
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count < room, let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    length = socklen_t(start + bytes.count + (isAbstract ? 0 : 1))
  }
}

/// A service that notifies the watchdog while the service is healthy, and reports the shutdown. Without a
/// watchdog, it only waits for the shutdown.
package struct SystemdWatchdog: Service {
  package let notifier: SystemdNotifier
  let isHealthy: @Sendable () async -> Bool

  package init(notifier: SystemdNotifier, isHealthy: @escaping @Sendable () async -> Bool) {
    (self.notifier, self.isHealthy) = (notifier, isHealthy)
  }

  package func run() async throws {
    try await withGracefulShutdownHandler {
      try await feed()
    } onGracefulShutdown: {
      notifier.stopping()
    }
  }

  private func feed() async throws {
    guard let interval = notifier.watchdogInterval else { return try await gracefulShutdown() }
    do {
      try await cancelWhenGracefulShutdown {
        while true {
          if await isHealthy() { notifier.alive() }
          try await Task.sleep(for: interval)
        }
      }
    } catch is CancellationError where Task.isShuttingDownGracefully {
      return
    }
  }
}
