// The job of `glpreview render` without a scene: runs a pipeline over a source or a batch of files, and
// delivers the pictures.
import FoundationEssentials
import GLPreview
import Synchronization

struct RenderJob {
  enum Input {
    /// A source of any kind. The schedule limits the number of its frames.
    case source(String)
    /// Picture files, whose outputs override the settings' output.
    case batch(Batch)
  }

  let input: Input
  let sourceOptions: SourceOptions
  let decode: DecodeChoice
  let views: [ViewConfiguration]
  let settings: RenderSettings

  /// Renders all due frames. Reading the first files overlaps with loading the driver.
  func run(on choice: RendererChoice, _ gpu: GPUDevice.Choice) async throws {
    // A missing source fails without loading a driver.
    let isReadable = if case .source(let name) = input { Self.isReadable(name) } else { true }
    if choice == .gpu, isReadable { GPUDevice.prepareEnvironment(toDraw: views) }
    let renderer = LazyRenderer(choice, gpu, opensNow: isReadable)
    do {
      var pipeline = settings.pipeline(views) { try await renderer.open() }
      pipeline.sourceOptions = sourceOptions
      pipeline.decodesFast = decode == .fast
      switch input {
      case .source(let name): try await run(pipeline, on: name)
      case .batch(let batch): try await run(pipeline, on: batch)
      }
    } catch {
      await renderer.close()
      throw error
    }
    await renderer.close()
  }

  private static func isReadable(_ path: String) -> Bool { FileManager.default.isReadableFile(atPath: path) }

  private func run(_ pipeline: RenderPipeline, on name: String) async throws {
    var pipeline = pipeline
    settings.warn(ofCertificateOf: name, sourceOptions)
    let (schedule, output) = (settings.schedule, settings.output)
    if output.keepsOneFrame {
      pipeline.severalFrames = {
        UsageError("\($0) has several frames for one name; put {frame} into it, or use --frames 1")
      }
    }
    let progress = Mutex(Progress(isQuiet: settings.isQuiet, expectsManyFrames: schedule.limit != 1))
    let source = try await pipeline.open(name, schedule)
    try await source.closing { [pipeline] in
      let delivery = PictureDelivery(settings, of: source, at: [source.name])
      do {
        try await delivery.finishing {
          try await pipeline.render(source, schedule) { picture in
            try await delivery.deliver(picture)
            if picture.isLast { progress.withLock { $0.frameDone(of: schedule.limit) } }
          }
        }
      } catch {
        throw output.naming(error)
      }
      progress.withLock { $0.end(of: schedule.limit) }
    }
    settings.warn(ofTextIn: views)
    let wantsAll = schedule.limit != 1 && schedule.interval == nil && schedule.every == 1
    if !settings.isQuiet, let warning = source.status.counters.warning(wantsAll: wantsAll) {
      StandardError.print("glpreview: \(source.name): \(warning)")
    }
  }

  /// Renders all files.
  ///
  /// - Throws: `BatchError` if files could not be rendered, after all others are written.
  private func run(_ pipeline: RenderPipeline, on batch: Batch) async throws {
    var pipeline = pipeline
    pipeline.severalFrames = {
      SourceError(.badData, path: $0, reason: "has several frames; --frames 1 renders the first")
    }
    let items = batch.items
    let delivery = PictureDelivery(settings, of: nil)
    let progress = Mutex(Progress(isQuiet: settings.isQuiet, expectsManyFrames: items.count > 1, "picture"))
    let failures = Mutex<[any Error]>([])
    try await pipeline.render(files: items.map(\.source), settings.schedule) { index, result in
      let item = items[index]
      switch result {
      case .success(let pictures):
        for picture in pictures { try await delivery.deliver(picture, of: item) }
      case .failure(let error):
        failures.withLock { $0.append(error) }
        let name = error is SourceError ? "" : "\(SourceLocator(item.source)): "
        StandardError.print("glpreview: " + "\(name)\(item.output.naming(error))".onOneLine)
      }
      progress.withLock { $0.frameDone(of: items.count) }
    }
    progress.withLock { $0.end(of: items.count) }
    settings.warn(ofTextIn: views)
    let failed = failures.withLock { $0 }
    if !failed.isEmpty { throw BatchError(failed, of: items.count) }
  }
}
