// The work of `glpreview render`: frame by frame through plan, renderer, encoder, to where pictures go.
import FoundationEssentials
import GLPreview
import Glibc
import ReferenceRenderer
import Synchronization

/// One run.
struct RenderJob {
  let source: String
  let sourceOptions: SourceOptions
  let decode: DecodeChoice
  let views: [ViewConfiguration]
  let output: RenderOutput
  /// Of videos.
  var subsampling = ChromaSubsampling.yuv420
  /// Nil where pictures are not encoded.
  let encoder: PictureEncoder?
  let schedule: FrameSchedule
  let maximumPixels: Int
  let reportsPictures: Bool
  let isQuiet: Bool
  /// What frames are made in.
  private let memory = FramePool()

  /// Opens what is needed and renders all frames that are due.
  func run(on choice: RendererChoice, _ gpu: GPUChoice) async throws {
    switch choice {
    case .reference:
      try await run(
        openSource(), ReferenceRenderer(), RenderPlanner(maximumPixels: maximumPixels),
        rendererName: "reference")
    case .gpu:
      let (source, renderer) = try await open(gpu)
      await renderer.lendMemory(to: memory)
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: maximumPixels)
      do {
        try await run(source, renderer, planner, rendererName: renderer.device.name)
      } catch {
        await renderer.close()
        throw error
      }
      await renderer.close()
    }
  }

  private func openSource() async throws -> any FrameSource {
    var sourceOptions = sourceOptions
    sourceOptions.decoding = decode == .fast ? .fast(for: requests) : .exact
    sourceOptions.memory = memory
    sourceOptions.demand = demand
    let source = try await SourceLocator(source).open(sourceOptions)
    // A stream can't be played again: better said before a picture is written than after.
    do {
      if schedule.loops > 1 { try await source.rewind() }
    } catch {
      await source.close()
      throw error
    }
    return source
  }

  /// While a driver loads, a still is decoded. What is wrong with the source is told first all the same.
  private func open(_ gpu: GPUChoice) async throws -> (any FrameSource, GLRenderer) {
    // No driver is loaded for a name that leads nowhere.
    guard FileManager.default.isReadableFile(atPath: source) else {
      let source = try await openSource()
      do {
        return (source, try await GLRenderer.open(gpu))
      } catch {
        await source.close()
        throw error
      }
    }
    GPUDevice.prepareEnvironment()
    let opening = Task { try await GLRenderer.open(gpu) }
    do {
      return (try await openSource(), try await opening.value)
    } catch {
      if let renderer = try? await opening.value { await renderer.close() }
      throw error
    }
  }

  /// The views, as what is encoded wants them.
  private var requests: [ViewRequest] {
    let format = output.pictureFormat(encoder, subsampling)
    return views.map { ViewRequest($0, as: format) }
  }

  /// What is asked of a camera: as large as the largest view, where all have a size and see all of it.
  private var demand: CaptureDemand {
    // Who wants a picture a minute need not ask a server ten times a second.
    let isAsked = source.lowercased().hasPrefix("http")
    let rate = schedule.interval.flatMap { isAsked && $0 > .seconds(1) ? 1.0 : nil }
    var size = Size(width: 1, height: 1)
    for view in views {
      guard view.crop == nil else { return CaptureDemand(framesPerSecond: rate, isPinned: true) }
      guard view.width != nil || view.height != nil else {
        return CaptureDemand(framesPerSecond: rate)
      }
      let seen = Size(width: view.width ?? 1, height: view.height ?? 1)
      let stored =
        [.clockwise90, .clockwise270].contains(view.rotation)
        ? Size(width: seen.height, height: seen.width) : seen
      size = Size(width: max(size.width, stored.width), height: max(size.height, stored.height))
    }
    return CaptureDemand(minimumSize: size, framesPerSecond: rate)
  }

  /// Three stages at a time: while a frame is drawn, the next one is read and the one before it is delivered. A device may
  /// want several frames to draw at a time.
  func run(
    _ source: any FrameSource, _ renderer: some Renderer, _ planner: RenderPlanner, rendererName: String
  ) async throws {
    let live = source as? LiveSource
    let plans = FramePlans(planner, requests)
    let delivery = PictureDelivery(
      views: views.map(\.name), output: output, encoder: encoder, reportsPictures: reportsPictures,
      rendererName: rendererName, origin: .source(source), schedule: schedule)
    do {
      try await Handover<ScheduledFrame>.run { frames in
        try await read(source, plans, into: frames)
      } to: { frames in
        try await Handover<RenderedFrame>.run { pictures in
          try await render(frames, renderer, plans, planner.tuning, into: pictures)
        } to: { pictures in
          try await deliver(pictures, delivery)
        }
      }
    } catch {
      await source.close()
      throw error
    }
    await source.close()
    let wantsAll = schedule.limit != 1 && schedule.interval == nil && schedule.every == 1
    if !isQuiet, let complaint = live?.status.counters.complaint(wantsAll: wantsAll) {
      StandardError.print("glpreview: \(source.name): \(complaint)")
    }
  }

  private func read(
    _ source: any FrameSource, _ plans: FramePlans, into queue: Handover<ScheduledFrame>
  ) async throws {
    var frames = ScheduledFrames(source, schedule)
    var isEmpty = true
    while let frame = try await frames.next() {
      // Before anything is written it must be clear that nothing will be written over it.
      if isEmpty, output.keepsOneFrame, schedule.limit != 1, try await frames.next() != nil {
        throw UsageError(
          "\(source.name) has several frames for one name; put {frame} into it, or say --frames 1")
      }
      if isEmpty {
        let said = sourceOptions.referenceSize ?? sourceOptions.masks.referenceSize
        let found = await source.referenceSize
        plans.begin(with: said ?? found ?? frame.frame.format.uprightSize)
      }
      isEmpty = false
      try await queue.give(frame)
    }
    if isEmpty {
      let damage = (source as? LiveSource)?.status.lastDamage
      throw SourceError(.badData, path: source.name, reason: damage ?? "has no frames")
    }
  }

  /// While one frame is handed on, the thread that draws has the next one already.
  private static let fewestAsked = 2

  private func render(
    _ frames: Handover<ScheduledFrame>, _ renderer: some Renderer, _ plans: FramePlans,
    _ tuning: RenderTuning,
    into queue: Handover<RenderedFrame>
  ) async throws {
    // The device's clock is asked only where somebody is told of it.
    let isTimed = reportsPictures
    try await OverlappedStage(width: max(Self.fewestAsked, tuning.framesInFlight)).run(
      from: frames, into: queue
    ) {
      frame, number in
      let plan = try plans.plan(for: frame.format)
      guard isTimed else { return RenderedFrame(try await renderer.render(frame, plan), of: frame, number) }
      let (pictures, gpuTime) = try await renderer.renderTimed(frame, plan)
      return RenderedFrame(pictures, of: frame, number, gpuTime: gpuTime)
    }
  }

  private func deliver(_ frames: Handover<RenderedFrame>, _ delivery: PictureDelivery) async throws {
    var progress = Progress(isQuiet: isQuiet, expectsManyFrames: schedule.limit != 1)
    while let frame = try await frames.take() {
      try await delivery.deliver(frame)
      progress.frameDone(of: schedule.limit)
    }
    progress.end(of: schedule.limit)
  }
}

/// The plan of the last format, which the next frame most likely has too. Crops are in pixels of the source's reference size.
private final class FramePlans: Sendable {
  private let planner: RenderPlanner
  private let requests: [ViewRequest]
  private let state = Mutex((reference: Size?.none, last: RenderPlan?.none))

  init(_ planner: RenderPlanner, _ requests: [ViewRequest]) {
    self.planner = planner
    self.requests = requests
  }

  /// The source's reference size, before any plan is made.
  func begin(with reference: Size) { state.withLock { $0.reference = reference } }

  func plan(for format: FrameFormat) throws(WordError) -> RenderPlan {
    let (reference, last) = state.withLock { $0 }
    if let last, last.source == format { return last }
    var rescaled: [ViewRequest] = []
    for request in requests { rescaled.append(try request.rescaled(reference, to: format.uprightSize)) }
    let plan = try planner.plan(format, rescaled)
    state.withLock { $0.last = plan }
    return plan
  }
}

extension ViewRequest {
  /// - Throws: `WordError` of key `crop`, where that lies outside the reference size, or nobody can tell what it shows.
  fileprivate func rescaled(_ reference: Size?, to size: Size) throws(WordError) -> ViewRequest {
    guard let reference, reference != size, let crop = view.crop else { return self }
    guard crop.isInside(reference) else {
      throw WordError("crop", "\(crop) is not inside the picture, which has \(reference) pixels")
    }
    guard size.hasShape(of: reference) else {
      throw WordError(
        "crop", "the source is \(size) now, and \(crop) is of \(reference): what it shows can't be told")
    }
    return ViewRequest(view.rescaled(from: reference, to: size), as: format)
  }
}
