// The job of `glpreview render`: passes frames through planner, renderer and encoder to the output.
import FoundationEssentials
import GLPreview
import Glibc
import ReferenceRenderer
import Synchronization

struct RenderJob {
  let source: String
  let sourceOptions: SourceOptions
  let decode: DecodeChoice
  let views: [ViewConfiguration]
  let settings: RenderSettings
  /// The pool that frames are allocated from.
  private let memory = FramePool()

  /// Opens everything and renders all due frames.
  func run(on choice: RendererChoice, _ gpu: GPUDevice.Choice) async throws {
    settings.complain(ofCertificateOf: source, sourceOptions)
    switch choice {
    case .reference:
      try await run(
        openSource(), ReferenceRenderer(), RenderPlanner(maximumPixels: settings.maximumPixels),
        rendererName: "reference")
    case .gpu:
      let (source, renderer) = try await open(gpu)
      await renderer.lendMemory(to: memory)
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: settings.maximumPixels)
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
    // If a stream can't be played again, fail before the first picture is written.
    do {
      if settings.schedule.loops > 1 { try await source.rewind() }
    } catch {
      await source.close()
      throw error
    }
    return source
  }

  /// Opens the source, and decodes it if it is a still, while the driver loads. The source's errors are reported
  /// first.
  private func open(_ gpu: GPUDevice.Choice) async throws -> (any FrameSource, GLRenderer) {
    // A missing source fails without loading a driver.
    guard FileManager.default.isReadableFile(atPath: source) else {
      let source = try await openSource()
      do {
        return (source, try await GLRenderer.open(gpu))
      } catch {
        await source.close()
        throw error
      }
    }
    GPUDevice.prepareEnvironment(toDraw: views)
    let opening = Task { try await GLRenderer.open(gpu) }
    do {
      return (try await openSource(), try await opening.value)
    } catch {
      if let renderer = try? await opening.value { await renderer.close() }
      throw error
    }
  }

  /// The views, with the sample format that the output needs.
  private var requests: [ViewRequest] {
    let format = settings.pictureFormat
    return views.map { ViewRequest($0, as: format) }
  }

  /// What to request from a camera or a server.
  private var demand: SourceOptions.Demand {
    var demand = SourceOptions.Demand(for: views)
    // Without this, a server would be asked ten times a second even for a picture per minute.
    let isPolled = SourceLocator(source).kind.isPolled
    demand.framesPerSecond = settings.schedule.interval.flatMap { isPolled && $0 > .seconds(1) ? 1.0 : nil }
    return demand
  }

  /// While a frame is drawn, the next one is read and the previous one is delivered. Some devices draw several frames
  /// at a time.
  func run(
    _ source: any FrameSource, _ renderer: some Renderer, _ planner: RenderPlanner, rendererName: String
  ) async throws {
    let schedule = settings.schedule
    let frames = ScheduledFrames(source, schedule)
    let plans = ViewPlans(of: sourceOptions, memory: memory)
    let requests = requests
    let delivery = PictureDelivery(
      settings, views: views.map(\.name), rendererName: rendererName, of: source, at: [source.name])
    // One frame is read and one is delivered. At least two are for the drawing thread, so that it need not wait.
    let width = max(2, planner.tuning.framesInFlight) + 2
    let progress = Mutex(Progress(isQuiet: settings.isQuiet, expectsManyFrames: schedule.limit != 1))
    do {
      try await delivery.finishing {
        let pieces = Mutex<[FramePiece]>([])
        try await orderedMap(width: width) { () -> FramePiece? in
          if let piece = pieces.withLock({ $0.popLast() }) { return piece }
          guard let (frame, number) = try await next(of: frames, source, plans) else { return nil }
          let time = source.isLive ? frame.timestamp : CaptureClock.now
          let all = try plans.pieces(of: frame, number: number, at: time, requests, planner)
          return pieces.withLock { pieces in
            pieces = all.reversed()
            return pieces.popLast()
          }
        } _: { piece in
          (try await renderer.render(piece, settings), piece.isLast)
        } to: { frame, isLast in
          try await delivery.deliver(frame)
          if isLast { progress.withLock { $0.frameDone(of: schedule.limit) } }
        }
      }
    } catch {
      await source.close()
      throw error
    }
    progress.withLock { $0.end(of: schedule.limit) }
    await source.close()
    settings.complain(ofTextIn: views)
    let wantsAll = schedule.limit != 1 && schedule.interval == nil && schedule.every == 1
    if !settings.isQuiet, let complaint = source.status.counters.complaint(wantsAll: wantsAll) {
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
    // Fail before a picture is written that a later frame would overwrite.
    if settings.output.keepsOneFrame, settings.schedule.limit != 1, try await frames.next() != nil {
      throw UsageError(
        "\(source.name) has several frames for one name; put {frame} into it, or say --frames 1")
    }
    plans.sawFrame(of: next.frame.format.uprightSize, reference: await source.referenceSize)
    return next
  }
}
