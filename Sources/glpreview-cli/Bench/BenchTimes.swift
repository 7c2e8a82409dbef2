// How often and how long: what is kept of each stage of `glpreview bench`, frame by frame.
import GLPreview

/// Wall and processor time of one piece of work.
struct WorkTime {
  let wall: Duration
  /// Of all the process's threads.
  let cpu: Duration

  init(wall: Duration, cpu: Duration) {
    self.wall = wall
    self.cpu = cpu
  }

  init(_ stage: RenderMeasurement.Stage) { self.init(wall: stage.wall, cpu: stage.cpu) }

  /// Does `work` and takes its time.
  static func of<Value>(_ work: () async throws -> Value) async throws -> (value: Value, time: WorkTime) {
    let start = (wall: ContinuousClock.now, cpu: ProcessorClock.now)
    let value = try await work()
    return (value, WorkTime(wall: ContinuousClock.now - start.wall, cpu: ProcessorClock.now - start.cpu))
  }
}

/// The stages of a frame's way, in order.
enum BenchStage: String, CaseIterable {
  case read, decode, upload, passes, readback, encode
}

/// What a stage is held against.
enum BenchLimit: String {
  case memcpy
  case libjpeg = "libjpeg-turbo alone"
}

/// One stage of one job, all frames of it.
struct StageTimes {
  private(set) var times: [WorkTime] = []
  /// Of the same bytes by what the stage is held against, right after each frame.
  private(set) var limits: [WorkTime] = []
  private(set) var limit: BenchLimit?
  /// By the GPU's own clock, of the frames for which it is known.
  private(set) var gpuTimes: [Duration] = []
  /// Of a frame: bytes and pixels.
  private(set) var byteCount = 0
  private(set) var pixelCount = 0

  mutating func add(
    _ time: WorkTime, byteCount: Int, pixelCount: Int, gpu: Duration? = nil,
    against limit: (kind: BenchLimit, time: WorkTime)? = nil
  ) {
    times.append(time)
    if let gpu { gpuTimes.append(gpu) }
    self.byteCount = byteCount
    self.pixelCount = pixelCount
    guard let limit else { return }
    self.limit = limit.kind
    limits.append(limit.time)
  }
}

extension [WorkTime] {
  /// In milliseconds; of an even number the lower one of the two in the middle. Zero where there is nothing.
  var median: (wall: Double, cpu: Double) { (median(\.wall), median(\.cpu)) }

  private func median(_ time: KeyPath<WorkTime, Duration>) -> Double {
    map { $0[keyPath: time] }.median?.milliseconds ?? 0
  }
}

extension [Duration] {
  /// Of an even number the lower one of the two in the middle; nil where there is nothing.
  var median: Duration? { isEmpty ? nil : sorted()[(count - 1) / 2] }
}

extension Duration {
  var milliseconds: Double { self / .milliseconds(1) }
}

/// A copy of bytes into memory that is there already: `memcpy`, by the shortest way that Swift has.
struct CopyLimit {
  private var memory: [UInt8] = []

  /// Copies the first `count` of `bytes`.
  mutating func copy(_ bytes: [UInt8], first count: Int) async throws -> WorkTime {
    let source = bytes.prefix(count)
    if memory.capacity < source.count { memory = [UInt8](repeating: 0, count: source.count) }
    memory.removeAll(keepingCapacity: true)
    return try await WorkTime.of { memory += source }.time
  }
}
