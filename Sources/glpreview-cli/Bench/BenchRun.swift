// The measurements of `glpreview bench`: one stage after another, then all overlapped as in `render`.
import Bench
import FoundationEssentials
import GLPreview

/// The length of a measurement: a number of frames or of seconds.
enum BenchLength {
  case frames(Int)
  case seconds(Double)

  /// Returns whether `count` frames in `time` are enough. A number of seconds requires at least three frames.
  func isReached(_ count: Int, _ time: Duration) -> Bool {
    switch self {
    case .frames(let frames): count >= frames
    case .seconds(let seconds): count >= 3 && time >= .seconds(seconds)
    }
  }

  /// Returns the number of frames to measure if each takes `milliseconds`.
  func frames(of milliseconds: Double) -> Int {
    switch self {
    case .frames(let frames): frames
    case .seconds(let seconds): min(max(Int(seconds * 1000 / max(milliseconds, 0.001)), 10), 100_000)
    }
  }
}

/// The measurement of one work on one device.
struct BenchRun {
  let work: BenchWork
  let frames: [[UInt8]]
  /// A file with all of `frames`.
  let file: String
  let renderer: any DeviceRenderer
  let length: BenchLength
  /// The memory pool of the frames.
  private let memory = FramePool()

  /// Frames drawn before measuring, so that programs are compiled and textures created.
  private static let warmUp = 5

  /// Measures the stages one by one, then all of them together.
  func result() async throws -> BenchResult {
    let stages = try await stages()
    let sum = stages.reduce(0) { $0 + $1.times.times.median.wall }
    return BenchResult(work, stages, try await whole(frames: length.frames(of: sum)))
  }

  // MARK: Stage by stage

  private func stages() async throws -> [(stage: BenchStage, times: StageTimes)] {
    let source = try await openSource()
    let format = work.encoder?.pictureFormat ?? .rgba
    let plan = try renderer.planned(work.format, work.views, as: format, coding: work.encoder?.coding)
    var stages: [BenchStage: StageTimes] = [:]
    var copy = CopyLimit()
    let baseline = try JPEGBaseline()
    var count = -Self.warmUp
    var start = ContinuousClock.now
    while count < 0 || !length.isReached(count, ContinuousClock.now - start) {
      try Task.checkCancellation()
      if count == 0 {
        stages = [:]
        start = .now
      }
      let frame =
        work.isEncoded
        ? try await decode(frames[(count + Self.warmUp) % frames.count], baseline, &stages)
        : try await read(source, &copy, &stages)
      let pictures = try await draw(frame, plan, &copy, &stages)
      if let encoder = work.encoder { try await encode(pictures, encoder, baseline, &stages) }
      count += 1
    }
    return BenchStage.allCases.compactMap { stage in stages[stage].map { (stage, $0) } }
  }

  private func read(
    _ source: any FrameSource, _ copy: inout CopyLimit, _ stages: inout [BenchStage: StageTimes]
  ) async throws -> Frame {
    var (next, time) = try await WorkTime.of { try await source.nextFrame() }
    if next == nil {
      try await source.rewind()
      (next, time) = try await WorkTime.of { try await source.nextFrame() }
    }
    guard let frame = next else { throw SourceError(.badData, path: file, reason: "has no frames") }
    let limit = try await copy.copy(frame.bytes, first: frame.bytes.count)
    stages[.read, default: StageTimes()].add(
      time, byteCount: frame.bytes.count, pixelCount: frame.format.size.pixelCount, against: (.memcpy, limit))
    return frame
  }

  private func decode(
    _ data: [UInt8], _ baseline: JPEGBaseline, _ stages: inout [BenchStage: StageTimes]
  ) async throws -> Frame {
    let (frame, time) = try await WorkTime.of {
      try JPEGDecoder.decode(data, maximumPixels: .max, memory: memory)
    }
    let limit = try await WorkTime.of { try baseline.decode(data) }.time
    stages[.decode, default: StageTimes()].add(
      time, byteCount: frame.bytes.count, pixelCount: frame.format.size.pixelCount, against: (.libjpeg, limit)
    )
    return frame
  }

  private func draw(
    _ frame: Frame, _ plan: RenderPlan, _ copy: inout CopyLimit, _ stages: inout [BenchStage: StageTimes]
  ) async throws -> [Picture] {
    let (pictures, cost) = try await renderer.measure(frame, plan)
    guard renderer.device.kind != .cpu else {
      stages[.passes, default: StageTimes()].add(
        WorkTime(cost.passes), byteCount: cost.passes.byteCount,
        pixelCount: pictures.reduce(0) { $0 + $1.size.pixelCount })
      return pictures
    }
    let uploading = try await copy.copy(frame.bytes, first: cost.upload.byteCount)
    let read = pictures.flatMap { $0.bytes + ($0.scan?.bytes ?? []) }
    let reading = try await copy.copy(read, first: cost.readback.byteCount)
    let pixels = pictures.reduce(0) { $0 + $1.size.pixelCount }
    stages[.upload, default: StageTimes()].add(
      WorkTime(cost.upload), byteCount: cost.upload.byteCount, pixelCount: frame.format.size.pixelCount,
      against: cost.upload.byteCount > 0 ? (.memcpy, uploading) : nil)
    stages[.passes, default: StageTimes()].add(
      WorkTime(cost.passes), byteCount: cost.passes.byteCount, pixelCount: pixels, gpu: cost.passes.gpu)
    stages[.readback, default: StageTimes()].add(
      WorkTime(cost.readback), byteCount: cost.readback.byteCount, pixelCount: pixels,
      against: (.memcpy, reading))
    return pictures
  }

  /// Encodes pictures; those that the device has coded only become files, which is not compared with encoding.
  private func encode(
    _ pictures: [Picture], _ encoder: PictureEncoder, _ baseline: JPEGBaseline,
    _ stages: inout [BenchStage: StageTimes]
  ) async throws {
    let time = try await WorkTime.of { for picture in pictures { _ = try encoder.encode(picture) } }.time
    var limit: WorkTime?
    if pictures.allSatisfy({ $0.scan == nil }) {
      let blocks = try pictures.map { try JPEGBlocks($0) }
      limit = try await WorkTime.of {
        for picture in blocks { try baseline.encode(picture, quality: encoder.quality) }
      }.time
    }
    stages[.encode, default: StageTimes()].add(
      time, byteCount: pictures.reduce(0) { $0 + $1.byteCount },
      pixelCount: pictures.reduce(0) { $0 + $1.size.pixelCount }, against: limit.map { (.libjpeg, $0) })
  }

  private func openSource() async throws -> any FrameSource {
    var options = work.sourceOptions
    options.memory = memory
    await renderer.lendMemory(to: memory)
    return try await SourceLocator(file).open(options)
  }

  // MARK: All together

  /// Runs the same file through the overlapping stages of `render`.
  private func whole(frames count: Int) async throws -> (frames: Int, time: WorkTime) {
    _ = try await render(frames: min(count, 4))
    return (count, try await render(frames: count))
  }

  private func render(frames count: Int) async throws -> WorkTime {
    var pipeline = RenderPipeline(work.views, encoder: work.encoder) { [renderer] in renderer }
    pipeline.sourceOptions = work.sourceOptions
    pipeline.memory = memory
    let schedule = FrameSchedule(limit: count, loops: .max)
    let source = try await pipeline.open(file, schedule)
    return try await source.closing { [pipeline] in
      try await WorkTime.of { try await pipeline.render(source, schedule) { _ in } }.time
    }
  }
}
