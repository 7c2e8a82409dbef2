// Draws a job's pictures as `glpreview render` does, within what the worker permits.
import FoundationEssentials
import GLPreview
import ReferenceRenderer

/// What jobs may do here.
struct JobPermissions: Sendable {
  /// Where files are read; nil for nowhere.
  let sources: RootFolder?
  /// Where files are written; nil for nowhere.
  let folder: RootFolder?
  /// Servers that sources are read from.
  let readable: HostList
  /// Servers that pictures are PUT to.
  let writable: HostList
  let maximumPixels: Int
  /// How long a job may take.
  let limit: Duration

  /// The text for `SourceLocator` of a job's source.
  ///
  /// - Throws: `SourceError` or `JobFailure` if this worker does not read it.
  func source(_ text: String) throws -> String {
    if text.hasPrefix("pattern:") { return text }
    if JobDestination.isAddress(text) {
      guard readable.allows(text) else {
        throw JobFailure("\(text.redactedAddress): this worker does not read from that host (--get-from)")
      }
      return text
    }
    guard !SourceLocator(text).isLive, text != "-" else {
      throw JobFailure("\(text.redactedAddress): jobs read files and http addresses")
    }
    guard let sources else { throw JobFailure("\(text): this worker reads no files (--sources)") }
    do throws(RootFolder.Refusal) {
      return try sources.file(text)
    } catch {
      throw SourceError(
        error == .missing ? .notFound : .badRequest, path: text, reason: error.rawValue)
    }
  }
}

/// Draws jobs on one renderer, which is opened again after an error of its device.
actor JobRenderer {
  private let choice: RendererChoice
  private let gpu: GPUDevice.Choice
  private let memory: FramePool
  private var opening: Task<GLRenderer, any Error>?

  init(_ choice: RendererChoice, _ gpu: GPUDevice.Choice, budget: MemoryBudget) {
    (self.choice, self.gpu) = (choice, gpu)
    memory = FramePool(budget: budget)
  }

  /// The pictures of a job, one a view.
  nonisolated func pictures(
    of job: Job, _ options: JobOptions, as format: EncodedPicture.Format, _ permissions: JobPermissions
  ) async throws -> [EncodedPicture] {
    let source = try permissions.source(job.source)
    let views = try options.viewOptions.views()
    let input = options.inputOptions
    var sourceOptions = try input.sourceOptions(for: job.source)
    sourceOptions.maximumPixels = min(sourceOptions.maximumPixels, permissions.maximumPixels)
    sourceOptions.masks = try input.masks()
    sourceOptions.referenceSize = try input.referenceSize()
    sourceOptions.demand = SourceOptions.Demand(for: views)
    sourceOptions.live.givesUpAfter = .zero
    sourceOptions.redirects = permissions.readable.isOpen ? .sameHost : .none
    let settings = RenderSettings(
      output: .nowhere(format), encoder: options.encodingOptions.encoder(format),
      schedule: FrameSchedule(limit: 1), maximumPixels: sourceOptions.maximumPixels, isQuiet: true)
    let rendering = StillRendering(
      sourceOptions: sourceOptions, memory: memory, decode: input.decode ?? .fast, views: views,
      settings: settings)
    do {
      let result = try await withDeadline(permissions.limit) {
        try await rendering.finished(source) { try await self.drawing(settings) }
      }
      guard let result else {
        throw SourceError.late(job.source, permissions.limit)
      }
      return result.frame.files.compactMap(\.self)
    } catch let error as SourceError {
      // The author of a job need not know the worker's folders.
      throw SourceError(error.kind, path: job.source, reason: error.reason)
    } catch let error where error is DeviceError || (error as? RenderError)?.isContextLost == true {
      await forget()
      throw error
    }
  }

  private func drawing(_ settings: RenderSettings) async throws -> StillDrawing {
    guard choice == .gpu else {
      let planner = RenderPlanner(maximumPixels: settings.maximumPixels)
      return StillDrawing(ReferenceRenderer(), planner, named: "reference", settings)
    }
    let opening = self.opening ?? Task { [gpu] in try await GLRenderer.open(gpu) }
    self.opening = opening
    let renderer = try await opening.value
    let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: settings.maximumPixels)
    return StillDrawing(renderer, planner, named: renderer.device.name, settings)
  }

  /// Opens the renderer now, so that a machine without one is told before it takes jobs.
  func open() async throws {
    guard choice == .gpu else { return }
    let opening = self.opening ?? Task { [gpu] in try await GLRenderer.open(gpu) }
    self.opening = opening
    _ = try await opening.value
  }

  private func forget() { opening = nil }
}
