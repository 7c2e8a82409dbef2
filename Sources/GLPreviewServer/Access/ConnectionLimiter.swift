// Limits the number of connections per client.
internal import NIOCore
internal import Synchronization

/// Counts connections per client. The server limits the total itself, by not accepting more.
final class ConnectionLimiter: Sendable {
  private let capacity: Int
  private let connections = Mutex<[ClientGroup: Int]>([:])

  /// - Parameter capacity: the most connections per client at a time.
  init(connectionsPerClient capacity: Int) { self.capacity = capacity }

  /// Counts a connection until it is closed.
  ///
  /// - Returns: false if it exceeds the limit and must be closed at once. Connections to a local socket are not
  ///   counted, because the proxy in front of us makes all of them.
  func admits(_ channel: any Channel) -> Bool {
    let client = ClientGroup(channel.remoteAddress?.ipAddress ?? "unix")
    guard !client.isLocal else { return true }
    guard enter(client) else { return false }
    channel.closeFuture.whenComplete { [weak self] _ in self?.leave(client) }
    return true
  }

  /// The number of connections of `client`.
  func count(of client: ClientGroup) -> Int { connections.withLock { $0[client] ?? 0 } }

  func enter(_ client: ClientGroup) -> Bool {
    connections.withLock { connections in
      let count = connections[client] ?? 0
      guard count < capacity else { return false }
      connections[client] = count + 1
      return true
    }
  }

  func leave(_ client: ClientGroup) {
    connections.withLock { connections in
      guard let count = connections[client] else { return }
      connections[client] = count > 1 ? count - 1 : nil
    }
  }
}
