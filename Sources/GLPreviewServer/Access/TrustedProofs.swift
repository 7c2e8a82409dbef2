// Recently accepted passwords by client, so that an attacker on the same address does not lock their owners out.
internal import Crypto
internal import Synchronization

/// Recently accepted passwords, as digests.
final class TrustedProofs: Sendable {
  private struct Entry: Hashable {
    let client: ClientGroup
    let digest: SHA256Digest
  }

  private static let capacity = 4096

  private let entries = Mutex<Set<Entry>>([])

  /// Whether a correct proof may skip the check for failed attempts.
  func isTrusted(_ proof: Proof, from client: ClientGroup) -> Bool {
    switch proof {
    case .token: true
    case .user(let name, let password):
      entries.withLock { $0.contains(Entry(client: client, digest: Credentials.digest(name, password))) }
    case .nothing: false
    }
  }

  /// Records an accepted proof.
  func trust(_ proof: Proof, from client: ClientGroup) {
    guard case .user(let name, let password) = proof else { return }
    let entry = Entry(client: client, digest: Credentials.digest(name, password))
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries = [] }
      entries.insert(entry)
    }
  }
}
