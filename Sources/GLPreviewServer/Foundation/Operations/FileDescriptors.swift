// The process's file descriptors: keeps those of the standard streams occupied, and provides enough for all
// connections.
internal import Glibc

/// The process's limit of open files, RLIMIT_NOFILE. Running out of descriptors does more than block new
/// connections: libdispatch, which inspects its threads through /proc, then aborts the process.
package struct OpenFileLimit: Sendable, Hashable {
  /// The current limit.
  let soft: UInt64
  /// The highest limit that can be set.
  let hard: UInt64

  /// Descriptors reserved for everything else: cameras, drivers, files, event loops.
  private static let reserve: UInt64 = 256

  /// Returns the limit needed for this many connections, at most the hard limit.
  func wanted(for connections: Int) -> UInt64 {
    min(hard, max(soft, UInt64(max(connections, 0)) + Self.reserve))
  }

  /// Returns the number of connections that fit under a limit of `count` files; at least half of a small
  /// limit.
  static func room(in count: UInt64) -> Int {
    Int(clamping: count > 2 * reserve ? count - reserve : count / 2)
  }

  /// Raises the process's limit as far as the system allows, and returns how many of `connections` are
  /// possible.
  package static func makeRoom(for connections: Int) -> Int {
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

/// The standard streams' descriptors, 0 to 2. If the parent process has closed one, the next opened file or
/// socket would get its number, and messages for the user would be written into it.
package enum StandardDescriptors {
  /// Opens `/dev/null` for each closed one. Must be called before anything else is opened.
  package static func fillGaps() {
    // `open` returns the lowest free number.
    while true {
      let descriptor = unsafe open("/dev/null", O_RDWR)
      guard descriptor >= 0, descriptor <= STDERR_FILENO else {
        if descriptor >= 0 { close(descriptor) }
        return
      }
    }
  }
}
