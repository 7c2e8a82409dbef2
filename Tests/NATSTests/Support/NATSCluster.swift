// Several real servers that know each other, and what only tests of the client ask of a server.
import Foundation
import TestSupport
import Testing

extension NATSServer {
  /// Has it tell its clients to leave.
  func enterLameDuckMode() { kill(process.id, SIGUSR2) }
}

/// Three servers with JetStream that know each other.
struct NATSCluster {
  let servers: [NATSServer]
  private let routes: [ReservedPort]

  /// Started; their names are "a", "b" and "c".
  init() async throws {
    routes = try (0..<3).map { _ in try ReservedPort() }
    let urls = routes.map { "\"nats-route://127.0.0.1:\($0.number)\"" }.joined(separator: ", ")
    var servers: [NATSServer] = []
    for (name, port) in zip(["a", "b", "c"], routes) {
      servers.append(
        try await NATSServer(
          """
          server_name: \(name)
          jetstream { store_dir: "FOLDER/js" }
          lame_duck_duration: "2h", lame_duck_grace_period: "1h"
          cluster { name: tests, listen: "127.0.0.1:\(port.number)", routes: [\(urls)] }
          """))
    }
    self.servers = servers
  }

  subscript(name: String) -> NATSServer? {
    ["a", "b", "c"].firstIndex(of: name).map { servers[$0] }
  }
}
