// What the system says of this process, by the names that all of Prometheus's clients have for it.
internal import FoundationEssentials
internal import GLPreview
internal import Glibc

/// The `process_*` metrics.
enum ProcessMetrics {
  /// For `PrometheusMetrics.addCollector`.
  static let collector: PrometheusMetrics.Collector = { families() }

  static func families() -> [MetricFamily] {
    var families = [MetricFamily("process_max_fds", value: Double(sysconf(CInt(_SC_OPEN_MAX))))]
    if let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      // One of them is the folder that was read.
      families.append(MetricFamily("process_open_fds", value: Double(max(files.count - 1, 0))))
    }
    guard let text = FileManager.default.contents(atPath: "/proc/self/stat"),
      let end = text.lastIndex(of: UInt8(ascii: ")"))
    else { return families }
    // proc_pid_stat(5), from its third field on: the second, the name, may have spaces.
    let fields = String(decoding: text[end...].dropFirst(), as: UTF8.self).split(separator: " ")
      .map { Double($0) ?? 0 }
    guard fields.count > 21 else { return families }
    let ticks = Double(sysconf(CInt(_SC_CLK_TCK)))
    let page = Double(sysconf(CInt(_SC_PAGESIZE)))
    return families + [
      MetricFamily("process_cpu_seconds_total", .counter, value: (fields[11] + fields[12]) / ticks),
      MetricFamily("process_start_time_seconds", value: boot + fields[19] / ticks),
      MetricFamily("process_virtual_memory_bytes", value: fields[20]),
      MetricFamily("process_resident_memory_bytes", value: fields[21] * page),
    ]
  }

  /// When the machine was started, since 1970; as it was when first asked, so that starts do not move with the clock.
  private static let boot: Double = {
    let words = String(
      decoding: FileManager.default.contents(atPath: "/proc/uptime") ?? Data(), as: UTF8.self
    )
    .split(separator: " ")
    return WallTime(capturedAt: CaptureClock.now).secondsSinceEpoch
      - (words.first.flatMap { Double($0) } ?? 0)
  }()
}
