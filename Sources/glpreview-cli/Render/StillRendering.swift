// One picture of a source, decoded, drawn and encoded: the work of a batch's items and of jobs.
import GLPreview

/// An open renderer, and the planner for it.
struct StillDrawing: Sendable {
  let planner: RenderPlanner
  let rendererName: String
  let draw: @Sendable (FramePiece) async throws -> RenderedFrame

  init(_ renderer: some Renderer, _ planner: RenderPlanner, named name: String, _ settings: RenderSettings) {
    self.planner = planner
    rendererName = name
    draw = { try await renderer.render($0, settings) }
  }

  /// Counts what is made on the device against `budget`.
  init(_ renderer: GLRenderer, _ planner: RenderPlanner, within budget: MemoryBudget?) {
    self.planner = planner
    rendererName = renderer.device.name
    draw = { piece in
      RenderedFrame(try await renderer.render(piece.frame, piece.plan, within: budget), of: piece)
    }
  }
}

/// A decoded frame, whose views are drawn and encoded piece by piece.
struct DecodedStill: Sendable {
  let delivery: PictureDelivery
  let pieces: [FramePiece]
  private let drawing: StillDrawing
  private let budget: MemoryBudget?

  fileprivate init(
    _ pieces: [FramePiece], _ delivery: PictureDelivery, by drawing: StillDrawing,
    within budget: MemoryBudget?
  ) {
    (self.pieces, self.delivery, self.drawing, self.budget) = (pieces, delivery, drawing, budget)
  }

  /// The pixels of all pictures together.
  var pixelCount: Int { pieces.reduce(0) { $0 + $1.plan.views.reduce(0) { $0 + $1.size.pixelCount } } }

  /// Draws and encodes the views of a piece. They hold their part of the memory budget until they are released.
  ///
  /// - Throws: `MemoryBudget.Exceeded` if there is no room for them; `CancellationError`.
  func encoded(_ piece: FramePiece) async throws -> EncodedFrame {
    try Task.checkCancellation()
    let samples = piece.plan.views.reduce(0) { $0 + $1.byteCount }
    // A file is hardly ever larger than its samples.
    let lease = try budget?.reserve(2 * samples)
    var encoded = try delivery.encode(try await drawing.draw(piece))
    try lease?.resize(to: encoded.files.reduce(0) { $0 + ($1?.bytes.count ?? 0) })
    encoded.lease = lease
    return encoded
  }
}

/// How stills are rendered.
struct StillRendering: Sendable {
  /// With the pool that frames are allocated from.
  let sourceOptions: SourceOptions
  let memory: FramePool
  /// What pictures count against, beside frames.
  var budget: MemoryBudget?
  let decode: DecodeChoice
  let views: [ViewConfiguration]
  let settings: RenderSettings

  /// Decodes the first frame of `source`. The renderer is awaited after that.
  func decoded(
    _ source: String, item: Batch.Item? = nil, _ open: @Sendable () async throws -> StillDrawing
  ) async throws -> DecodedStill {
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
    let pieces = try plans.pieces(of: frame, number: 0, at: CaptureClock.now, requests, drawing.planner)
    let delivery = PictureDelivery(
      settings, views: views.map(\.name), rendererName: drawing.rendererName, of: nil, item: item)
    return DecodedStill(pieces, delivery, by: drawing, within: budget)
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
