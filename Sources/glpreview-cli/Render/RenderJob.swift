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

  /// What is asked of a camera or a server.
  private var demand: CaptureDemand {
    var demand = CaptureDemand(for: views)
    // Who wants a picture a minute need not ask a server ten times a second.
    let isAsked = source.lowercased().hasPrefix("http")
    demand.framesPerSecond = schedule.interval.flatMap { isAsked && $0 > .seconds(1) ? 1.0 : nil }
    return demand
  }

  /// While a frame is drawn, the next one is read and the one before it is delivered. A device may want several frames to
  /// draw at a time.
  func run(
    _ source: any FrameSource, _ renderer: some Renderer, _ planner: RenderPlanner, rendererName: String
  ) async throws {
    let frames = ScheduledFrames(source, schedule)
    let plans = ViewPlans(of: sourceOptions, memory: memory)
    let requests = requests
    let delivery = PictureDelivery(
      views: views.map(\.name), output: output, encoder: encoder, reportsPictures: reportsPictures,
      rendererName: rendererName, origin: .source(source), schedule: schedule)
    // One frame is read and one delivered; the thread that draws has the next one before it is done with one.
    let width = max(2, planner.tuning.framesInFlight) + 2
    let progress = Mutex(Progress(isQuiet: isQuiet, expectsManyFrames: schedule.limit != 1))
    do {
      try await orderedMap(width: width) {
        try await next(of: frames, source, plans)
      } _: { frame, number in
        let plan = try plans.plan(frame.format, requests, planner)
        // The device's clock is asked only where somebody is told of it.
        guard reportsPictures else {
          return RenderedFrame(try await renderer.render(frame, plan), of: frame, number)
        }
        let (pictures, gpuTime) = try await renderer.renderTimed(frame, plan)
        return RenderedFrame(pictures, of: frame, number, gpuTime: gpuTime)
      } to: { frame in
        try await delivery.deliver(frame)
        progress.withLock { $0.frameDone(of: schedule.limit) }
      }
    } catch {
      await source.close()
      throw error
    }
    progress.withLock { $0.end(of: schedule.limit) }
    await source.close()
    let wantsAll = schedule.limit != 1 && schedule.interval == nil && schedule.every == 1
    if !isQuiet, let complaint = source.status.counters.complaint(wantsAll: wantsAll) {
      StandardError.print("glpreview: \(source.name): \(complaint)")
    }
  }

  private func next(
    of frames: ScheduledFrames, _ source: any FrameSource, _ plans: ViewPlans
  ) async throws -> ScheduledFrame? {
    guard let next = try await frames.next() else {
      guard await frames.given == 0 else { return nil }
      throw SourceError(.badData, path: source.name, reason: source.status.lastDamage ?? "has no frames")
    }
    guard await frames.given == 1 else { return next }
    // Before anything is written it must be clear that nothing will be written over it.
    if output.keepsOneFrame, schedule.limit != 1, try await frames.next() != nil {
      throw UsageError(
        "\(source.name) has several frames for one name; put {frame} into it, or say --frames 1")
    }
    plans.sawFrame(of: next.frame.format, reference: await source.referenceSize)
    return next
  }
}
