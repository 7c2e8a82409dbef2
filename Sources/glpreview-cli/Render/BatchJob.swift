// The work of `glpreview render` with several SOURCEs: reads, decodes, draws and encodes a few of them at a time.
import FoundationEssentials
import GLPreview
import ReferenceRenderer
import Synchronization

struct BatchJob {
  let batch: Batch
  let sourceOptions: SourceOptions
  let decode: DecodeChoice
  let views: [ViewConfiguration]
  /// The output is the items'.
  let settings: RenderSettings
  /// The pool that frames are allocated from: many cameras' files have one size.
  private let memory = FramePool()

  /// The most pictures that are decoded and not yet encoded: all cores work while one file is read and one is drawn.
  private static let places = ProcessInfo.processInfo.activeProcessorCount + 2

  /// Renders all files. The first ones are decoded while the driver loads.
  ///
  /// - Throws: `BatchError` if files could not be rendered, once all others are written.
  func run(on choice: RendererChoice, _ gpu: GPUDevice.Choice) async throws {
    switch choice {
    case .reference:
      let planner = RenderPlanner(maximumPixels: settings.maximumPixels)
      let drawing = Drawing(ReferenceRenderer(), planner, named: "reference", settings)
      try await run { drawing }
    case .gpu:
      GPUDevice.prepareEnvironment(toDraw: views)
      let opening = Task { try await GLRenderer.open(gpu) }
      let result: Result<Void, any Error>
      do {
        try await run {
          let renderer = try await opening.value
          let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: settings.maximumPixels)
          return Drawing(renderer, planner, named: renderer.device.name, settings)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      if let renderer = try? await opening.value { await renderer.close() }
      try result.get()
    }
  }

  /// An open renderer.
  private struct Drawing: Sendable {
    let planner: RenderPlanner
    let rendererName: String
    let draw: @Sendable (Frame, RenderPlan) async throws -> RenderedFrame

    init(_ renderer: some Renderer, _ planner: RenderPlanner, named name: String, _ settings: RenderSettings)
    {
      self.planner = planner
      rendererName = name
      draw = { try await renderer.render($0, number: 0, $1, settings) }
    }
  }

  /// An item's pictures, encoded and not yet written.
  private struct Finished: Sendable {
    let delivery: PictureDelivery
    let frame: EncodedFrame
  }

  private func run(_ open: @escaping @Sendable () async throws -> Drawing) async throws {
    let items = batch.items
    let next = Mutex(items.makeIterator())
    let places = Places(Self.places)
    let progress = Mutex(Progress(isQuiet: settings.isQuiet, expectsManyFrames: items.count > 1, "picture"))
    let failures = Mutex<[any Error]>([])
    // Encoded pictures may wait for earlier ones, while their places go to others.
    try await orderedMap(width: 2 * Self.places) {
      next.withLock { $0.next() }
    } _: { item in
      (item, try await places.occupied { try await result(of: item, open) })
    } to: { item, result in
      switch result {
      case .success(let finished): try await finished.delivery.deliver(finished.frame)
      case .failure(let error):
        failures.withLock { $0.append(error) }
        let name = error is SourceError ? "" : "\(SourceLocator(item.source)): "
        StandardError.print("glpreview: " + "\(name)\(error)".onOneLine)
      }
      progress.withLock { $0.frameDone(of: items.count) }
    }
    progress.withLock { $0.end(of: items.count) }
    settings.complain(ofTextIn: views)
    let failed = failures.withLock { $0 }
    if !failed.isEmpty { throw BatchError(failed, of: items.count) }
  }

  /// The item's pictures, or what is wrong with its file. An error that has nothing to do with the file is thrown.
  private func result(
    of item: Batch.Item, _ open: @Sendable () async throws -> Drawing
  ) async throws -> Result<Finished, any Error> {
    do {
      return .success(try await finished(item, open))
    } catch let error where error is SourceError || error is WordError || error is PictureError {
      return .failure(error)
    }
  }

  private func finished(
    _ item: Batch.Item, _ open: @Sendable () async throws -> Drawing
  ) async throws -> Finished {
    try Task.checkCancellation()
    var (sourceOptions, settings) = (sourceOptions, settings)
    settings.output = item.output
    let requests = views.map { [format = settings.pictureFormat] in ViewRequest($0, as: format) }
    sourceOptions.decoding = decode == .fast ? .fast(for: requests) : .exact
    sourceOptions.memory = memory
    let (frame, reference) = try await still(item.source, sourceOptions)
    // Crops are in pixels of this file.
    let plans = ViewPlans(of: sourceOptions, memory: memory)
    plans.sawFrame(of: frame.format.uprightSize, reference: reference)
    let drawing = try await open()
    let plan = try plans.plan(
      frame.format, at: CaptureClock.now, requests, drawing.planner, text: PangoTextRenderer.shared)
    let drawn = try await drawing.draw(frame, plan)
    let delivery = PictureDelivery(
      settings, views: views.map(\.name), rendererName: drawing.rendererName, of: nil, item: item)
    return Finished(delivery: delivery, frame: try delivery.encode(drawn))
  }

  /// The only frame of a file, or the first if one is wanted, and the size that crops refer to.
  private func still(_ name: String, _ options: SourceOptions) async throws -> (Frame, reference: Size?) {
    let source = try await SourceLocator(name).open(options)
    guard let frame = try await source.nextFrame() else {
      throw SourceError(.badData, path: name, reason: "has no frames")
    }
    if settings.schedule.limit != 1, try await source.nextFrame() != nil {
      throw SourceError(.badData, path: name, reason: "has several frames; --frames 1 renders the first")
    }
    return (frame, await source.referenceSize)
  }
}

/// Limits how much is in progress. FIFO hand-off: a free place goes to the longest waiter.
actor Places {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  /// Works once there is a place.
  nonisolated func occupied<Output: Sendable>(
    _ work: @Sendable () async throws -> Output
  ) async throws -> Output {
    await take()
    let result: Result<Output, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    await leave()
    return try result.get()
  }

  private func take() async {
    if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
  }

  private func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
