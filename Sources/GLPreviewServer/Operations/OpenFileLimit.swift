// How many connections the system lets us have. Who runs out of descriptors does not only accept no more: libdispatch, which
// looks at its threads through /proc, then ends the process.
internal import Glibc

/// The process's limit of open files, RLIMIT_NOFILE.
struct OpenFileLimit: Sendable, Hashable {
  /// What holds.
  let soft: UInt64
  /// What it may be raised to.
  let hard: UInt64

  /// What is kept for everything that is no connection: cameras, drivers, files, the event loops' own.
  private static let reserve: UInt64 = 256

  /// What has to hold for so many connections; no more than may be.
  func wanted(for connections: Int) -> UInt64 {
    min(hard, max(soft, UInt64(max(connections, 0)) + Self.reserve))
  }

  /// How many connections there is room for under a limit of `count` files; of a small one, half.
  static func room(in count: UInt64) -> Int {
    Int(clamping: count > 2 * reserve ? count - reserve : count / 2)
  }

  /// Raises the process's limit as far as `connections` need, and the system allows.
  ///
  /// - Returns: how many there may be, no more than `connections`.
  static func makeRoom(for connections: Int) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard unsafe getrlimit(resource, &limit) == 0 else { return connections }
    let wanted = OpenFileLimit(soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max)).wanted(
      for: connections)
    let old = UInt64(limit.rlim_cur)
    guard wanted > old else { return min(connections, room(in: old)) }
    limit.rlim_cur = rlim_t(wanted)
    let isRaised = unsafe setrlimit(resource, &limit) == 0
    return min(connections, room(in: isRaised ? wanted : old))
  }
}
