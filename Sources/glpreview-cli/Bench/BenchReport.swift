// The results of `glpreview bench`: a table for people, JSON for scripts.
import FoundationEssentials
import GLPreview

/// The measurements of one work. Times are per frame, in milliseconds.
struct BenchResult: Codable {
  struct Stage: Codable {
    let stage: String
    /// Medians over the frames.
    let wallMilliseconds: Double
    let cpuMilliseconds: Double
    /// GPU time; only for passes, and absent in software or without a GPU clock.
    let gpuMilliseconds: Double?
    /// Bytes moved per frame.
    let bytes: Int
    let gigabytesPerSecond: Double
    let megapixelsPerSecond: Double
    /// Absent if there is nothing to compare with.
    let limit: Limit?
  }

  struct Limit: Codable {
    let of: String
    let wallMilliseconds: Double
    let cpuMilliseconds: Double
    /// The limit's time divided by the stage's. 1 is as fast as possible.
    let share: Double
  }

  struct Whole: Codable {
    let frames: Int
    let wallMilliseconds: Double
    let cpuMilliseconds: Double
    let framesPerSecond: Double
  }

  let work: String
  let title: String
  /// The number of frames measured per stage.
  let frames: Int
  let stages: [Stage]
  /// The sums over the stages.
  let sumWallMilliseconds: Double
  let sumCPUMilliseconds: Double
  let whole: Whole

  init(
    _ work: BenchWork, _ stages: [(stage: BenchStage, times: StageTimes)],
    _ whole: (frames: Int, time: WorkTime)
  ) {
    self.work = work.rawValue
    title = work.title
    frames = stages.first?.times.times.count ?? 0
    self.stages = stages.map { Stage($0.stage, $0.times) }
    sumWallMilliseconds = self.stages.reduce(0) { $0 + $1.wallMilliseconds }
    sumCPUMilliseconds = self.stages.reduce(0) { $0 + $1.cpuMilliseconds }
    let wall = whole.time.wall.milliseconds / Double(whole.frames)
    self.whole = Whole(
      frames: whole.frames, wallMilliseconds: wall,
      cpuMilliseconds: whole.time.cpu.milliseconds / Double(whole.frames),
      framesPerSecond: 1000 / max(wall, 1e-6)
    )
  }
}

extension BenchResult.Stage {
  init(_ stage: BenchStage, _ times: StageTimes) {
    let (time, limit) = (times.times.median, times.limits.median)
    let wall = max(time.wall, 1e-6)
    self.init(
      stage: stage.rawValue, wallMilliseconds: time.wall, cpuMilliseconds: time.cpu,
      gpuMilliseconds: times.gpuTimes.median?.milliseconds, bytes: times.byteCount,
      gigabytesPerSecond: Double(times.byteCount) / wall / 1e6,
      megapixelsPerSecond: Double(times.pixelCount) / wall / 1e3,
      limit: times.limit.map {
        BenchResult.Limit(
          of: $0.rawValue, wallMilliseconds: limit.wall, cpuMilliseconds: limit.cpu, share: limit.wall / wall)
      })
  }
}

/// The output of `--json`.
struct BenchReport: Codable {
  let machine: Machine
  let device: Device
  let versions: [String: String]
  var works: [BenchResult]

  struct Machine: Codable {
    let cpu: String
    let cores: Int
    let system: String
    let kernel: String

    /// Describes this machine from the kernel's and the distribution's data; "unknown" where these are
    /// missing.
    init() {
      cpu = Self.value(of: "model name", in: "/proc/cpuinfo", separator: ":") ?? "unknown"
      cores = ProcessInfo.processInfo.activeProcessorCount
      system = Self.value(of: "PRETTY_NAME", in: "/etc/os-release", separator: "=") ?? "unknown"
      kernel = Self.text(of: "/proc/sys/kernel/osrelease") ?? "unknown"
    }

    private static func text(of path: String) -> String? {
      (try? String(contentsOfFile: path, encoding: .utf8)).map(trimmed)
    }

    private static func value(of key: String, in path: String, separator: Character) -> String? {
      for line in text(of: path)?.split(separator: "\n") ?? [] {
        let words = line.split(separator: separator, maxSplits: 1)
        if words.count == 2, trimmed(words[0]) == key { return trimmed(words[1]) }
      }
      return nil
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
      let isNoise: (Character) -> Bool = { $0.isWhitespace || $0 == "\"" }
      return String(text.drop(while: isNoise).reversed().drop(while: isNoise).reversed())
    }
  }

  struct Device: Codable {
    let index: Int
    let renderer: String
    let driver: String?
    /// OpenGL's version string, which includes the driver's version.
    let version: String?
    let software: Bool
    /// The kind of shaders that draw; nil for the CPU. Reports of earlier versions lack it.
    let shaders: String?
    /// The processor that codes JPEGs. Reports of earlier versions lack it.
    let jpeg: String?

    init(_ device: GPUDevice) {
      index = device.index
      renderer = device.name
      driver = device.driver?.name
      version = device.driver?.versionText
      software = device.isSoftware
      shaders = device.passes?.rawValue
      jpeg = device.jpegProcessor?.rawValue
    }
  }
}

extension BenchReport {
  /// The lines above the tables.
  var heading: String {
    let versions = versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    let software = device.software ? ", software" : ""
    let shaders = device.shaders.map { ", by \($0 == "compute" ? "compute" : "fragment") shaders" } ?? ""
    let jpeg = device.jpeg == "gpu" ? ", which codes JPEGs, too" : ""
    return """
      \(versions)
      \(machine.cpu), \(machine.cores) cores, \(machine.system), Linux \(machine.kernel)
      \(device.renderer), \(device.version ?? "no version")\(software)\(shaders)\(jpeg)
      """
  }
}

extension BenchResult: CustomStringConvertible {
  /// The title, a row per stage, the sum, and the overlapped run.
  var description: String {
    var rows = [["", "wall ms", "CPU ms", "MB", "rate", "limit ms", "of limit", ""]]
    for stage in stages {
      let isCodec = stage.limit?.of == BenchLimit.libjpeg.rawValue
      // Frames made in GPU memory are not copied.
      let isInPlace = stage.bytes == 0
      let rate =
        isCodec ? "\(stage.megapixelsPerSecond.text(0)) Mpx/s" : "\(stage.gigabytesPerSecond.text(1)) GB/s"
      rows.append([
        stage.stage, stage.wallMilliseconds.text(3), stage.cpuMilliseconds.text(3),
        (Double(stage.bytes) / 1e6).text(2),
        isInPlace ? "-" : rate, stage.limit.map { $0.wallMilliseconds.text(3) } ?? "-",
        stage.limit.map { "\(($0.share * 100).text(0))%" } ?? "-",
        stage.limit?.of ?? (isInPlace ? "read in place" : ""),
      ])
    }
    rows.append(["sum", sumWallMilliseconds.text(3), sumCPUMilliseconds.text(3), "", "", "", "", ""])
    rows.append([
      "overlapped", whole.wallMilliseconds.text(3), whole.cpuMilliseconds.text(3), "",
      "\(whole.framesPerSecond.text(whole.framesPerSecond < 100 ? 1 : 0)) fps", "", "",
      "as render runs it, \(whole.frames) frame\(whole.frames == 1 ? "" : "s")",
    ])
    let passes = stages.first { $0.gpuMilliseconds != nil }?.gpuMilliseconds
    let gpu = passes.map { "\n\npasses by the GPU's clock: \($0.text(3)) ms" } ?? ""
    return "\(work)  \(title)\n\n\(TextTable(rows, right: 1..<7))\(gpu)"
  }
}

extension Double {
  /// Formats the number with this many decimals.
  fileprivate func text(_ digits: Int) -> String {
    var power = 1
    for _ in 0..<digits { power *= 10 }
    guard isFinite, abs(self) < 1e12 else { return "\(self)" }
    let number = Int((self * Double(power)).rounded())
    guard digits > 0 else { return "\(number)" }
    return "\(number < 0 ? "-" : "")\(abs(number) / power).\((abs(number) % power).digits(digits))"
  }
}
