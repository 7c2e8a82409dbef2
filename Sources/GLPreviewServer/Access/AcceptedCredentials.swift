// Recently accepted passwords by client, so that an attacker on the same address does not lock their owners out.
internal import Crypto
internal import Synchronization

/// Recently accepted passwords, as digests.
final class AcceptedCredentials: Sendable {
  private struct Entry: Hashable {
    let client: ClientGroup
    let digest: SHA256Digest
  }

  private static let capacity = 4096

  private let entries = Mutex<Set<Entry>>([])

  /// Whether correct credentials may skip the check for failed attempts.
  func isTrusted(_ presented: PresentedCredentials, from client: ClientGroup) -> Bool {
    switch presented {
    case .token: true
    case .user(let name, let password):
      entries.withLock { $0.contains(Entry(client: client, digest: Credentials.digest(name, password))) }
    case .nothing: false
    }
  }

  /// Records accepted credentials.
  func trust(_ presented: PresentedCredentials, from client: ClientGroup) {
    guard case .user(let name, let password) = presented else { return }
    let entry = Entry(client: client, digest: Credentials.digest(name, password))
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries = [] }
      entries.insert(entry)
    }
  }
}
