// Metrics of this process, with the names that Prometheus clients commonly use.
internal import FoundationEssentials
internal import Glibc

/// The `process_*` metrics.
package enum ProcessMetrics {
  package static var families: [MetricFamily] {
    var families = [MetricFamily("process_max_fds", value: Double(sysconf(CInt(_SC_OPEN_MAX))))]
    if let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      // One entry is the directory being read.
      families.append(MetricFamily("process_open_fds", value: Double(max(files.count - 1, 0))))
    }
    guard let fields = statistics() else { return families }
    let ticks = Double(sysconf(CInt(_SC_CLK_TCK)))
    return families + [
      MetricFamily("process_cpu_seconds_total", .counter, value: (fields[11] + fields[12]) / ticks),
      MetricFamily("process_start_time_seconds", value: boot + fields[19] / ticks),
      MetricFamily("process_virtual_memory_bytes", value: fields[20]),
      MetricFamily("process_resident_memory_bytes", value: fields[21] * pageSize),
    ]
  }

  /// The resident memory of the process, including code; nil if the system does not provide it.
  static var residentBytes: Int? { statistics().map { Int($0[21] * pageSize) } }

  /// The resident memory that is mapped from files, such as code, or shared; nil if the system does not
  /// provide it.
  static var sharedBytes: Int? {
    let fields = SystemFiles.line("/proc/self/statm")?.split(separator: " ") ?? []
    return fields.count > 2 ? Int(fields[2]).map { $0 * Int(pageSize) } : nil
  }

  /// Returns the fields of proc_pid_stat(5) from the third on. The second field, the name, may contain any
  /// character.
  static func statistics() -> [Double]? {
    guard let text = FileManager.default.contents(atPath: "/proc/self/stat"),
      let end = text.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = String(decoding: text[end...].dropFirst(), as: UTF8.self).split(separator: " ")
      .map { Double($0) ?? 0 }
    return fields.count > 21 ? fields : nil
  }

  private static let pageSize = Double(sysconf(CInt(_SC_PAGESIZE)))

  /// The boot time in seconds since 1970, computed once, so that start times do not change with the clock.
  private static let boot: Double = {
    let uptime = SystemFiles.line("/proc/uptime")?.split(separator: " ").first.flatMap { Double($0) }
    return WallTime.now.secondsSinceEpoch - (uptime ?? 0)
  }()
}
