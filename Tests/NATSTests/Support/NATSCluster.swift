// Several real servers that know each other, and what only tests of the client ask of a server.
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

extension NATSServer {
  /// Has it tell its clients to leave.
  func enterLameDuckMode() { kill(process.id, SIGUSR2) }

  /// A port of loopback that was free a moment ago.
  static func freePort() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(channel.localAddress?.port)
    try await channel.close()
    return port
  }
}

/// Three servers with JetStream that know each other.
struct NATSCluster {
  let servers: [NATSServer]

  /// Started; their names are "a", "b" and "c".
  init() async throws {
    // Another program may take a port that was free a moment ago.
    for _ in 0..<5 {
      if let servers = try? await Self.start() {
        self.servers = servers
        return
      }
    }
    servers = try await Self.start()
  }

  private static func start() async throws -> [NATSServer] {
    var ports: [Int] = []
    for _ in 0..<3 { ports.append(try await NATSServer.freePort()) }
    let routes = ports.map { "\"nats-route://127.0.0.1:\($0)\"" }.joined(separator: ", ")
    var servers: [NATSServer] = []
    for (name, port) in zip(["a", "b", "c"], ports) {
      servers.append(
        try await NATSServer(
          """
          server_name: \(name)
          jetstream { store_dir: "FOLDER/js" }
          lame_duck_duration: "2h", lame_duck_grace_period: "1h"
          cluster { name: tests, listen: "127.0.0.1:\(port)", routes: [\(routes)] }
          """))
    }
    return servers
  }

  subscript(name: String) -> NATSServer? {
    ["a", "b", "c"].firstIndex(of: name).map { servers[$0] }
  }
}
