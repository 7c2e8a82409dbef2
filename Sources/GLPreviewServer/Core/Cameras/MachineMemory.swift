// The memory available to this process: the machine's, or less if a control group limits it.
internal import FoundationEssentials
internal import Glibc

/// The memory limits that the kernel reports.
enum MachineMemory {
  /// The default budget for pictures: a quarter of the available memory.
  static var usualBudget: Int { available() / 4 }

  /// Returns the bytes of the machine, or of the smallest limit of the process's control groups.
  static func available() -> Int {
    let machine = sysconf(CInt(_SC_PHYS_PAGES)) * sysconf(CInt(_SC_PAGESIZE))
    let limits = groupLimits(
      of: text("/proc/self/cgroup") ?? "", in: "/sys/fs/cgroup"
    ) { text($0) }
    return limits.reduce(max(machine, 0), min)
  }

  /// Returns the limits of the control groups that `memberships` (`/proc/self/cgroup`) names, and of their
  /// parents: `memory.max` in version 2, `memory.limit_in_bytes` in version 1. In a container, the group
  /// appears as the root.
  static func groupLimits(
    of memberships: String, in root: String, _ read: (String) -> String?
  ) -> [Int] {
    var limits: [Int] = []
    for line in memberships.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let isUnified = fields[1].isEmpty
      guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
      let base = isUnified ? root : "\(root)/memory"
      let file = isUnified ? "memory.max" : "memory.limit_in_bytes"
      var parts = fields[2].split(separator: "/")
      while true {
        let path = ([base] + parts.map(String.init) + [file]).joined(separator: "/")
        // `max` is not a number, and its counterpart in version 1 is larger than any machine's memory.
        if let text = read(path), let limit = Int(text.filter { !$0.isWhitespace }), limit > 0 {
          limits.append(limit)
        }
        guard parts.popLast() != nil else { break }
      }
    }
    return limits
  }

  private static func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }
}
