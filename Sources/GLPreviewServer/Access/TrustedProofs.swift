// Passwords that were right, by where they came from: somebody else's guesses do not lock their owners out.
internal import Crypto
internal import Synchronization

/// Right passwords of late, as digests.
final class TrustedProofs: Sendable {
  private struct Entry: Hashable {
    let client: ClientGroup
    let digest: SHA256Digest
  }

  private static let capacity = 4096

  private let entries = Mutex<Set<Entry>>([])

  /// Whether a proof that is right needs no other check.
  func isTrusted(_ proof: Proof, from client: ClientGroup) -> Bool {
    switch proof {
    case .token: true
    case .user(let name, let password):
      entries.withLock { $0.contains(Entry(client: client, digest: Credentials.digest(name, password))) }
    case .nothing: false
    }
  }

  /// Remembers a proof that was right.
  func trust(_ proof: Proof, from client: ClientGroup) {
    guard case .user(let name, let password) = proof else { return }
    let entry = Entry(client: client, digest: Credentials.digest(name, password))
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries = [] }
      entries.insert(entry)
    }
  }
}
