// What systemd is told, through a real socket.
import Foundation
import Glibc
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import ServiceFoundation

/// A socket that datagrams come to, as systemd has one.
private final class NotifySocket: Sendable {
  /// What `NOTIFY_SOCKET` has.
  let address: String
  /// What came, in order.
  let messages: AsyncStream<String>
  private let descriptor: Int32
  private let path: String?

  init(isAbstract: Bool) throws {
    let name = isAbstract ? "glpreview-\(UUID().uuidString)" : "/tmp/glp-\(UUID().uuidString)"
    address = isAbstract ? "@\(name)" : name
    path = isAbstract ? nil : name
    let file = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let bytes = (isAbstract ? [0] : []) + Array(name.utf8)
    var socketName = sockaddr_un()
    socketName.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &socketName.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
    let status = unsafe withUnsafePointer(to: &socketName) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(file, $0, length) }
    }
    try #require(status == 0)
    let (messages, source) = AsyncStream.makeStream(of: String.self)
    self.messages = messages
    descriptor = file
    DispatchQueue(label: "notify").async {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = unsafe recv(file, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        source.yield(String(decoding: buffer[..<count], as: UTF8.self))
      }
      source.finish()
      close(file)
    }
  }

  deinit {
    // Ends the thread that waits; it closes what it waits for.
    shutdown(descriptor, Int32(SHUT_RDWR))
    if let path { unsafe unlink(path) }
  }
}

@Suite("systemd", .timeLimit(.minutes(15)))
struct SystemdTests {
  @Test("service states are sent to the path or abstract socket in NOTIFY_SOCKET", arguments: [true, false])
  func states(isAbstract: Bool) async throws {
    let socket = try NotifySocket(isAbstract: isAbstract)
    let notifier = SystemdNotifier(environment: ["NOTIFY_SOCKET": socket.address])

    #expect(notifier.ready())
    #expect(notifier.reloading())
    #expect(notifier.stopping())
    #expect(notifier.alive())

    var messages = socket.messages.makeAsyncIterator()
    #expect(await messages.next() == "READY=1")
    let reloading = try #require(await messages.next())
    #expect(reloading.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=\d+/) != nil)
    #expect(await messages.next() == "STOPPING=1")
    #expect(await messages.next() == "WATCHDOG=1")
  }

  @Test(
    "SystemdNotifier sends nothing if NOTIFY_SOCKET is missing, invalid or has no listener",
    arguments: [
      [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": "/tmp/nobody-is-here"],
      ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)],
    ])
  func nobody(environment: [String: String]) {
    #expect(!SystemdNotifier(environment: environment).ready())
  }

  @Test("the watchdog interval is half of WATCHDOG_USEC, and nil if invalid or for another process")
  func interval() {
    let socket = ["NOTIFY_SOCKET": "@x"]
    func interval(_ more: [String: String]) -> Duration? {
      SystemdNotifier(environment: socket.merging(more) { $1 }).watchdogInterval
    }

    #expect(interval([:]) == nil)
    #expect(interval(["WATCHDOG_USEC": "20000000"]) == .seconds(10))
    #expect(interval(["WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "\(getpid())"]) == .seconds(10))
    #expect(interval(["WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"]) == nil)
    #expect(interval(["WATCHDOG_USEC": "x"]) == nil)
    #expect(SystemdNotifier(environment: ["WATCHDOG_USEC": "20000000"]).watchdogInterval == nil)
  }

  /// Says yes, no, and so on.
  private final class Health: Sendable {
    let asked = Mutex(0)
    func isHealthy() -> Bool {
      asked.withLock { count in
        count += 1
        // Stays within the socket's queue if the reader is late.
        return count <= 6 && count.isMultiple(of: 2)
      }
    }
  }

  @Test("the watchdog is notified only while the service is healthy, and stops at shutdown")
  func watchdog() async throws {
    let socket = try NotifySocket(isAbstract: true)
    let notifier = SystemdNotifier(
      environment: ["NOTIFY_SOCKET": socket.address, "WATCHDOG_USEC": "2000"])
    let health = Health()
    let group = ServiceGroup(
      services: [SystemdWatchdog(notifier: notifier) { health.isHealthy() }], logger: Logger(label: "test"))

    async let run: Void = group.run()
    var messages = socket.messages.makeAsyncIterator()
    for _ in 1...3 { #expect(await messages.next() == "WATCHDOG=1") }
    // Every other time it was not.
    #expect(health.asked.withLock { $0 } >= 6)

    await group.triggerGracefulShutdown()
    try await run
    // What was fed before is read first.
    while let message = await messages.next(), message != "STOPPING=1" { #expect(message == "WATCHDOG=1") }
  }

  @Test("SystemdWatchdog without a watchdog runs until shutdown")
  func idle() async throws {
    let group = ServiceGroup(
      services: [SystemdWatchdog(notifier: SystemdNotifier(environment: [:])) { true }],
      logger: Logger(label: "test"))
    async let run: Void = group.run()
    await group.triggerGracefulShutdown()
    try await run
  }
}
