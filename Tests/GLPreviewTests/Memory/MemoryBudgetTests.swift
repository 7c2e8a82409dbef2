// A budget of memory: what is reserved, refused and given back, by hand and by the decoders and pools that count against it.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("Memory budgets")
struct MemoryBudgetTests {
  @Test("a reservation above the capacity is rejected, and released bytes are available again")
  func reservations() throws {
    let budget = MemoryBudget(capacity: 100)
    do {
      let first = try budget.reserve(60)
      #expect(throws: MemoryBudget.Exceeded.self) { try budget.reserve(41) }
      let second = try budget.reserve(40)
      #expect(budget.reserved == 100 && budget.refusals == 1)
      #expect(throws: MemoryBudget.Exceeded.self) { try second.resize(to: 41) }
      #expect(second.byteCount == 40)

      try second.resize(to: 10)
      try first.resize(to: 90)
      #expect(budget.reserved == 100)
      withExtendedLifetime((first, second)) {}
    }

    #expect(budget.reserved == 0 && budget.peak == 100)
  }

  @Test("overhead reduces what can be reserved but takes nothing from existing reservations")
  func overhead() throws {
    let budget = MemoryBudget(capacity: 100)
    let lease = try budget.reserve(60)

    budget.overhead = 50
    #expect(throws: MemoryBudget.Exceeded.self) { try budget.reserve(1) }
    #expect(lease.byteCount == 60 && budget.reserved == 60)

    try lease.resize(to: 40)
    let other = try budget.reserve(10)
    #expect(throws: MemoryBudget.Exceeded.self) { try lease.resize(to: 41) }

    budget.overhead = -1
    try lease.resize(to: 90)
    #expect(budget.overhead == 0 && budget.reserved == 100)
    withExtendedLifetime((lease, other)) {}
  }

  @Test("pool memory counts against the budget until neither a frame nor the pool holds it")
  func pools() throws {
    let budget = MemoryBudget(capacity: 250)
    let pool = FramePool(budget: budget)

    do {
      let held = [try pool.take(100), try pool.take(100)]
      #expect(throws: MemoryBudget.Exceeded.self) { try pool.take(100) }
      #expect(budget.reserved == 200)
      withExtendedLifetime(held) {}
    }

    // Idle, for the next frames.
    #expect(budget.reserved == 200)

    _ = try pool.take(100)
    pool.removeAll()
    #expect(budget.reserved == 0)
  }

  @Test("a pool keeps fewer released buffers the larger they are")
  func largeFrames() throws {
    let budget = MemoryBudget(capacity: 1 << 30)
    let pool = FramePool(budget: budget)

    for (megabytes, kept) in [(60, 2), (200, 1), (1, 7)] {
      let byteCount = megabytes << 20
      do {
        let held = try (0..<kept + 2).map { _ in try pool.take(byteCount) }
        #expect(budget.reserved == (kept + 2) * byteCount)
        withExtendedLifetime(held) {}
      }
      #expect(budget.reserved == kept * byteCount)
    }
  }

  @Test("decoding a progressive JPEG reserves its memory in advance and releases it afterwards")
  func progressive() throws {
    let jpeg = try fixture("progressive420.jpg")
    let header = try JPEGDecoder.header(of: jpeg)
    let budget = MemoryBudget(capacity: 1 << 20)
    let pool = FramePool(budget: budget)

    do {
      let frame = try JPEGDecoder.decode(jpeg, maximumPixels: 2000, memory: pool)
      // Two bytes a coefficient, of Y' and a quarter each of Cb and Cr, beside the frame.
      #expect(budget.peak >= frame.storage.count + 3 * header.size.pixelCount)
      #expect(budget.reserved == frame.storage.count)
    }
    pool.removeAll()
    #expect(budget.reserved == 0)

    let tight = MemoryBudget(capacity: budget.peak - 1)
    let error = #expect(throws: CodecError.self) {
      try JPEGDecoder.decode(jpeg, maximumPixels: 2000, memory: FramePool(budget: tight))
    }
    #expect(error?.kind == .noMemory)
    #expect(tight.reserved == 0)
  }

  @Test("a decode stops after its deadline and when its task is cancelled")
  func stops() async throws {
    let png = TestPNG(width: 4, height: 4, type: .rgb, depth: 8) { _, _ in [1, 2, 3] }.bytes
    let jpegs = try ["progressive420.jpg", "ycc420.jpg", "adobe-cmyk.jpg"].map(fixture)
    let past = CaptureClock.now - .seconds(1)

    for jpeg in jpegs {
      let error = #expect(throws: CodecError.self) {
        try JPEGDecoder.decode(jpeg, maximumPixels: 2000, damage: .isTolerated, until: past)
      }
      #expect(error?.kind == .stopped)
    }

    let error = #expect(throws: CodecError.self) {
      try PNGDecoder.decode(png, maximumPixels: 2000, until: past)
    }
    #expect(error?.kind == .stopped)

    let cancelled = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      for jpeg in jpegs {
        let error = #expect(throws: CodecError.self) { try JPEGDecoder.decode(jpeg, maximumPixels: 2000) }
        #expect(error?.kind == .stopped)
      }
      let error = #expect(throws: CodecError.self) { try PNGDecoder.decode(png, maximumPixels: 2000) }
      #expect(error?.kind == .stopped)
    }
    await cancelled.value
    _ = try PNGDecoder.decode(png, maximumPixels: 2000)
  }

  @Test(
    "frames of a live source are dropped while the memory budget is used up, and resume after",
    .timeLimit(.minutes(15)))
  func camera() async throws {
    let budget = MemoryBudget(capacity: 1 << 20)
    let jpeg = try smallJPEG()
    var options = SourceOptions()
    options.memory = FramePool(budget: budget)
    let device = RepeatedJPEG(jpeg, options)
    let source = LiveSource(device, options)

    let frame = Task { try await source.nextFrame() }
    // Nothing was left before the first picture came.
    await until { source.status.reason == "the memory budget is used up" }
    #expect(source.status.state == .live)
    #expect(source.status.counters.damaged == 0)

    device.letGo()
    #expect(try await frame.value != nil)
    #expect(source.status.counters.dropped > 0)
    await source.close()
  }

  @Test("a source at camera rates is never paused, and a flood of pictures is slowed to its limit")
  func pace() {
    var pace = SourcePace()
    // 60 pictures a second of 4 MB for a minute.
    for tick in 0..<3600 {
      let pause = pace.spend(
        SourcePace.picture + SourcePace.bytes(4_000_000), at: .millisecond(tick * 1000 / 60))
      #expect(pause == .zero)
    }

    var flood = SourcePace()
    var now = CaptureInstant.start
    for _ in 0..<5000 { now = now + flood.spend(SourcePace.picture, at: now) }
    // Five thousand pictures are worth five seconds, of which one is given.
    #expect(now == .second(4))
  }

  @Test("stream bytes without a picture are throttled above the picture size limit, and reserve memory")
  func intake() throws {
    let budget = MemoryBudget(capacity: 3 << 20)
    var options = SourceOptions()
    options.maximumPictureBytes = 1 << 20
    options.memory = FramePool(budget: budget)

    do {
      var intake = StreamIntake(options)
      #expect(try intake.took(1 << 20, waiting: 1 << 20, foundPicture: false, at: .start) == .zero)
      #expect(budget.reserved == 2 << 20)
      #expect(try intake.took(16 << 20, waiting: 0, foundPicture: false, at: .start) > .seconds(1))
      #expect(budget.reserved == 0)
      #expect(throws: MemoryBudget.Exceeded.self) {
        try intake.took(1, waiting: 4 << 20, foundPicture: true, at: .second(60))
      }
      _ = try intake.took(1, waiting: 1, foundPicture: true, at: .second(60))
      #expect(budget.reserved == 1 << 20)
    }
    #expect(budget.reserved == 0)

    options.live.delivery = .every(maximumBytes: 1)
    var all = StreamIntake(options)
    #expect(try all.took(1 << 30, waiting: 0, foundPicture: false, at: .start) == .zero)
  }
}

/// A camera that shows one JPEG again and again, and holds all of the budget until it is told to let it go.
private final class RepeatedJPEG: CaptureDevice, CaptureConnection {
  let name = "camera"
  let mode = SourceStatus.Mode(format: "MJPEG", transport: "test")
  private let jpeg: [UInt8]
  private let options: SourceOptions
  private let memory: FramePool
  private let lease: MemoryLease?

  init(_ jpeg: [UInt8], _ options: SourceOptions) {
    self.jpeg = jpeg
    self.options = options
    memory = options.memory ?? FramePool()
    lease = try? memory.budget?.reserve(memory.budget?.capacity ?? 0)
  }

  func letGo() { try? lease?.resize(to: 0) }

  func connect() -> any CaptureConnection { self }

  func next() async throws -> Capture? {
    try await Task.sleep(for: .milliseconds(2))
    return Capture(jpeg: jpeg, timestamp: CaptureClock.now, options, memory: memory)
  }

  func close() {}
}
