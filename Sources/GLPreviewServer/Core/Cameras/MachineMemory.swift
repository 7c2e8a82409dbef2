// How much memory there is for this process: the machine's, or less where a control group says so.
internal import FoundationEssentials
internal import Glibc

/// What the kernel says of memory.
enum MachineMemory {
  /// What a service takes for pictures unless it is told: a quarter of what there is.
  static var usualBudget: Int { available() / 4 }

  /// Bytes of the machine, or of the smallest of the process's control groups.
  static func available() -> Int {
    let machine = sysconf(CInt(_SC_PHYS_PAGES)) * sysconf(CInt(_SC_PAGESIZE))
    let limits = groupLimits(
      of: text("/proc/self/cgroup") ?? "", in: "/sys/fs/cgroup"
    ) { text($0) }
    return limits.reduce(max(machine, 0), min)
  }

  /// The limits of the control groups that `memberships` (`/proc/self/cgroup`) names, and of those above them: version 2's
  /// `memory.max`, version 1's `memory.limit_in_bytes`. Within a container the group is seen as the root.
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
        // `max`, and version 1's number that stands for it, are larger than any machine.
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
