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
      let drawing = StillDrawing(ReferenceRenderer(), planner, named: "reference", settings)
      try await run { drawing }
    case .gpu:
      GPUDevice.prepareEnvironment(toDraw: views)
      let opening = Task { try await GLRenderer.open(gpu) }
      let result: Result<Void, any Error>
      do {
        try await run {
          let renderer = try await opening.value
          let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: settings.maximumPixels)
          return StillDrawing(renderer, planner, named: renderer.device.name, settings)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      if let renderer = try? await opening.value { await renderer.close() }
      try result.get()
    }
  }

  private func run(_ open: @escaping @Sendable () async throws -> StillDrawing) async throws {
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
      case .success(let finished):
        for frame in finished.frames { try await finished.delivery.deliver(frame) }
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
    of item: Batch.Item, _ open: @Sendable () async throws -> StillDrawing
  ) async throws -> Result<FinishedStill, any Error> {
    do {
      return .success(try await finished(item, open))
    } catch let error where error is SourceError || error is WordError || error is PictureError {
      return .failure(error)
    }
  }

  private func finished(
    _ item: Batch.Item, _ open: @Sendable () async throws -> StillDrawing
  ) async throws -> FinishedStill {
    var settings = settings
    settings.output = item.output
    let rendering = StillRendering(
      sourceOptions: sourceOptions, memory: memory, decode: decode, views: views, settings: settings)
    let still = try await rendering.decoded(item.source, item: item, open)
    var frames: [EncodedFrame] = []
    for piece in still.pieces { frames.append(try await still.encoded(piece)) }
    return FinishedStill(delivery: still.delivery, frames: frames)
  }
}

/// The pictures of a file, encoded and not yet delivered.
private struct FinishedStill: Sendable {
  let delivery: PictureDelivery
  let frames: [EncodedFrame]
}
