// Which server is tried next, and after what pause: a value without clock, dice or network.

/// Pauses between attempts to connect. A round tries every server once; pauses stand between rounds.
package struct ReconnectBackoff: Sendable, Equatable {
  /// At most this before the first round, so that the clients of a lost server don't come to the next one all at once.
  package var spread = Duration.milliseconds(100)
  /// The upper bound of the pause before the second round. It doubles with each round.
  package var first = Duration.milliseconds(250)
  /// The upper bound of every pause.
  package var longest = Duration.seconds(10)

  /// The defaults.
  package init() {}

  /// The pause before a round, from 0. With `jitter`, 0...1, it is between half of its bound and all of it; before the
  /// first round, between nothing and `spread`.
  package func pause(before round: Int, jitter: Double) -> Duration {
    guard round > 0 else { return spread * jitter }
    return min(first * (1 << min(round - 1, 20)), longest) * (0.5 + 0.5 * jitter)
  }
}

/// The servers of a cluster, and how connecting to them went.
struct ServerPool: Sendable, Equatable {
  /// Why an attempt failed, as far as the pool is concerned.
  enum Failure {
    case credentials, other
  }

  private struct Entry: Equatable {
    let address: NATSServerAddress
    let isLearned: Bool
    var refusals = 0
  }

  private let backoff: ReconnectBackoff
  private let attempts: Int
  /// In the order of attempts: the next one first.
  private var entries: [Entry]
  private var round = 0
  /// How many entries are left of the round.
  private var left = 0

  init(_ servers: [NATSServerAddress], backoff: ReconnectBackoff, authenticationAttempts: Int) {
    self.backoff = backoff
    attempts = max(authenticationAttempts, 1)
    var known: Set<NATSServerAddress> = []
    entries = servers.filter { known.insert($0).inserted }.map { Entry(address: $0, isLearned: false) }
    left = entries.count
  }

  /// The servers, the next one first.
  var servers: [NATSServerAddress] { entries.map(\.address) }

  /// The next attempt, and the pause before it; nil where every server was given up.
  ///
  /// The first server is due at once in the first round after `init`; see `lost` for later ones.
  mutating func next(jitter: Double) -> (server: NATSServerAddress, pause: Duration)? {
    guard let first = entries.first else { return nil }
    var pause = Duration.zero
    if left <= 0 {
      pause = backoff.pause(before: round, jitter: jitter)
      round += 1
      left = entries.count
    }
    left -= 1
    entries.append(entries.removeFirst())
    return (first.address, pause)
  }

  /// The server took the connection.
  mutating func connected(to server: NATSServerAddress) {
    round = 0
    left = 0
    if let index = index(of: server) { entries[index].refusals = 0 }
  }

  /// The attempt failed. A server that refuses the credentials again and again is given up.
  mutating func failed(_ server: NATSServerAddress, _ failure: Failure) {
    round = max(round, 1)
    guard let index = index(of: server) else { return }
    entries[index].refusals = failure == .credentials ? entries[index].refusals + 1 : 0
    if entries[index].refusals >= attempts { entries.remove(at: index) }
  }

  /// Takes over what a server says of its cluster. Servers that were told before and are no longer are forgotten.
  mutating func learn(_ urls: [String], from server: NATSServerAddress) {
    guard !urls.isEmpty else { return }
    let told = urls.prefix(64).compactMap { NATSServerAddress($0, toldBy: server) }
    entries.removeAll { $0.isLearned && $0.address != server && !told.contains($0.address) }
    for address in told where index(of: address) == nil {
      entries.append(Entry(address: address, isLearned: true))
    }
  }

  private func index(of server: NATSServerAddress) -> Int? { entries.firstIndex { $0.address == server } }
}

/// Decides by the signs of life of a server whether it is still there.
struct KeepAlive: Sendable {
  private let allowed: Int
  private var missed = 0

  /// `allowed` intervals without any sign are one too many.
  init(allowed: Int) { self.allowed = max(allowed, 1) }

  /// Something came.
  mutating func heard() { missed = 0 }

  /// An interval has passed. Whether the server is to be asked; false where it is to be left.
  mutating func intervalPassed() -> Bool {
    guard missed < allowed else { return false }
    missed += 1
    return true
  }
}
