// The times of each stage of `glpreview bench`, frame by frame.
import GLPreview

/// Wall and CPU time of a piece of work.
struct WorkTime {
  let wall: Duration
  /// The CPU time of all threads of the process.
  let cpu: Duration

  static func of<Value>(_ work: () async throws -> Value) async throws -> (value: Value, time: WorkTime) {
    let start = (wall: ContinuousClock.now, cpu: ProcessorClock.now)
    let value = try await work()
    return (value, WorkTime(wall: ContinuousClock.now - start.wall, cpu: ProcessorClock.now - start.cpu))
  }
}

extension WorkTime {
  init(_ stage: RenderMeasurement.Stage) { self.init(wall: stage.wall, cpu: stage.cpu) }
}

/// The stages of a frame, in order.
enum BenchStage: String, CaseIterable {
  case read, decode, upload, passes, readback, encode
}

/// The operation that a stage is compared with.
enum BenchLimit: String {
  case memcpy
  case libjpeg = "libjpeg-turbo alone"
}

/// The times of one stage of one work, for all frames.
struct StageTimes {
  private(set) var times: [WorkTime] = []
  /// The times of the comparison for the same bytes, measured right after each frame.
  private(set) var limits: [WorkTime] = []
  private(set) var limit: BenchLimit?
  /// GPU times of the frames for which they are known.
  private(set) var gpuTimes: [Duration] = []
  /// Bytes and pixels per frame.
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
  /// The medians in milliseconds. For an even count, the lower of the two middle values. Zero if there are
  /// none.
  var median: (wall: Double, cpu: Double) { (median(\.wall), median(\.cpu)) }

  private func median(_ time: KeyPath<WorkTime, Duration>) -> Double {
    map { $0[keyPath: time] }.median?.milliseconds ?? 0
  }
}

extension [Duration] {
  /// The median. For an even count, the lower of the two middle values. Nil if there are none.
  var median: Duration? { isEmpty ? nil : sorted()[(count - 1) / 2] }
}

extension Duration {
  var milliseconds: Double { self / .milliseconds(1) }
}

/// Copies bytes into existing memory: `memcpy`, with as little overhead as Swift allows.
struct CopyLimit {
  private var memory: [UInt8] = []

  mutating func copy(_ bytes: [UInt8], first count: Int) async throws -> WorkTime {
    let source = bytes.prefix(count)
    if memory.capacity < source.count { memory = [UInt8](repeating: 0, count: source.count) }
    memory.removeAll(keepingCapacity: true)
    return try await WorkTime.of { memory += source }.time
  }
}
