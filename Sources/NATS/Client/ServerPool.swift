// Decides which server is tried next and after what pause. A value without a clock, randomness or network.

/// Pauses between attempts to connect. A round tries every server once; pauses separate the rounds.
package struct ReconnectBackoff: Sendable, Equatable {
  /// The upper bound of the pause before the first round. It spreads reconnecting clients of a lost server
  /// over time.
  package var spread = Duration.milliseconds(100)
  /// The upper bound of the pause before the second round. It doubles with each round.
  package var first = Duration.milliseconds(250)
  /// The upper bound of every pause.
  package var longest = Duration.seconds(10)

  /// The defaults.
  package init() {}

  /// Returns the pause before round number `round`, counted from 0. `jitter`, 0...1, selects a value between
  /// half of the bound and the whole bound; before the first round, between zero and `spread`.
  package func pause(before round: Int, jitter: Double) -> Duration {
    guard round > 0 else { return spread * jitter }
    return min(first * (1 << min(round - 1, 20)), longest) * (0.5 + 0.5 * jitter)
  }
}

/// The known servers of a cluster, and the results of connecting to them.
struct ServerPool: Sendable, Equatable {
  /// The kind of a failure.
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
  /// The servers, in the order in which they are tried.
  private var entries: [Entry]
  private var round = 0
  /// The number of entries left in this round.
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

  /// Returns the next server and the pause before it, or nil if every server has been abandoned.
  ///
  /// There is no pause in the first round after `init`.
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

  /// Records that the server accepted the connection.
  mutating func connected(to server: NATSServerAddress) {
    left = 0
    if let index = index(of: server) { entries[index].refusals = 0 }
  }

  /// Records that the connection was lost. Pauses restart at the shortest only if the connection lasted,
  /// because a server may accept connections and close each immediately.
  mutating func lost(after duration: Duration) {
    if duration >= backoff.longest { round = 0 }
  }

  /// Records a failed attempt. A server that refuses the credentials too often is abandoned.
  mutating func failed(_ server: NATSServerAddress, _ failure: Failure) {
    round = max(round, 1)
    guard let index = index(of: server) else { return }
    entries[index].refusals = failure == .credentials ? entries[index].refusals + 1 : 0
    if entries[index].refusals >= attempts { entries.remove(at: index) }
  }

  /// Updates the learned servers from a server's list. Learned servers that are no longer listed are
  /// forgotten.
  mutating func learn(_ urls: [String], from server: NATSServerAddress) {
    guard !urls.isEmpty else { return }
    let listed = urls.prefix(64).compactMap { NATSServerAddress($0, listedBy: server) }
    entries.removeAll { $0.isLearned && $0.address != server && !listed.contains($0.address) }
    for address in listed where index(of: address) == nil {
      entries.append(Entry(address: address, isLearned: true))
    }
  }

  private func index(of server: NATSServerAddress) -> Int? { entries.firstIndex { $0.address == server } }
}

/// Decides whether a silent server is considered lost.
struct KeepAlive: Sendable {
  private let allowed: Int
  private var missed = 0

  /// Allows the server to be silent for `allowed` intervals.
  init(allowed: Int) { self.allowed = max(allowed, 1) }

  /// Records that something arrived from the server.
  mutating func received() { missed = 0 }

  /// Records that an interval has passed: returns true to send PING, false to close the connection.
  mutating func intervalPassed() -> Bool {
    guard missed < allowed else { return false }
    missed += 1
    return true
  }
}
