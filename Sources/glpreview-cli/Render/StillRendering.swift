// One picture of a source, decoded, drawn and encoded: the work of a batch's items and of jobs.
import GLPreview

/// An open renderer, and the planner for it.
struct StillDrawing: Sendable {
  let planner: RenderPlanner
  let rendererName: String
  let draw: @Sendable (Frame, RenderPlan) async throws -> RenderedFrame

  init(_ renderer: some Renderer, _ planner: RenderPlanner, named name: String, _ settings: RenderSettings) {
    self.planner = planner
    rendererName = name
    draw = { try await renderer.render($0, number: 0, $1, settings) }
  }
}

/// Pictures, encoded and not yet delivered.
struct FinishedStill: Sendable {
  let delivery: PictureDelivery
  let frame: EncodedFrame
}

/// How stills are rendered.
struct StillRendering: Sendable {
  /// With the pool that frames are allocated from.
  let sourceOptions: SourceOptions
  let memory: FramePool
  let decode: DecodeChoice
  let views: [ViewConfiguration]
  let settings: RenderSettings

  /// The pictures of the first frame of `source`. The renderer is awaited once the frame is decoded.
  func finished(
    _ source: String, item: Batch.Item? = nil, _ open: @Sendable () async throws -> StillDrawing
  ) async throws -> FinishedStill {
    try Task.checkCancellation()
    var sourceOptions = sourceOptions
    let requests = views.map { [format = settings.pictureFormat] in ViewRequest($0, as: format) }
    sourceOptions.decoding = decode == .fast ? .fast(for: requests) : .exact
    sourceOptions.memory = memory
    let (frame, reference) = try await still(source, sourceOptions)
    // Crops are in pixels of this file.
    let plans = ViewPlans(of: sourceOptions, memory: memory)
    plans.sawFrame(of: frame.format.uprightSize, reference: reference)
    let drawing = try await open()
    let plan = try plans.plan(
      frame.format, at: CaptureClock.now, requests, drawing.planner, text: PangoTextRenderer.shared)
    let drawn = try await drawing.draw(frame, plan)
    let delivery = PictureDelivery(
      settings, views: views.map(\.name), rendererName: drawing.rendererName, of: nil, item: item)
    return FinishedStill(delivery: delivery, frame: try delivery.encode(drawn))
  }

  /// The only frame of a source, or the first if one is wanted, and the size that crops refer to.
  private func still(_ name: String, _ options: SourceOptions) async throws -> (Frame, reference: Size?) {
    let source = try await SourceLocator(name).open(options)
    do {
      guard let frame = try await source.nextFrame() else {
        throw SourceError(.badData, path: name, reason: "has no frames")
      }
      if settings.schedule.limit != 1, try await source.nextFrame() != nil {
        throw SourceError(.badData, path: name, reason: "has several frames; --frames 1 renders the first")
      }
      let reference = await source.referenceSize
      await source.close()
      return (frame, reference)
    } catch {
      await source.close()
      throw error
    }
  }
}
