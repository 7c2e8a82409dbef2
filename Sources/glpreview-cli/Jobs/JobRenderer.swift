// Draws a job's pictures like `glpreview render`, within the worker's permissions.
import FoundationEssentials
import GLPreview

/// The permissions and limits of jobs on this worker.
struct JobPermissions: Sendable {
  /// The folder that files are read from; nil for none.
  let sources: RootFolder?
  /// The folder that files are written to; nil for none.
  let folder: RootFolder?
  /// The servers that sources may be read from.
  let readable: HostList
  /// The servers that pictures may be sent to by PUT.
  let writable: HostList
  /// The most pixels of a source and of a picture.
  let maximumPixels: Int
  /// The most pixels of all pictures of a job together.
  let maximumPixelsOfJob: Int
  /// The time limit for rendering a job.
  let limit: Duration

  /// Returns the text for `SourceLocator` of a job's source.
  ///
  /// - Throws: `SourceError` or `JobFailure` if this worker does not read it.
  func source(_ text: String) throws -> String {
    let kind = SourceLocator(text).kind
    if kind.origin == .generated { return text }
    if JobDestination.isAddress(text) {
      guard readable.allows(text) else {
        throw JobFailure("\(text.redactedAddress): this worker does not read from that host (--get-from)")
      }
      return text
    }
    guard kind.origin == .path, !SourceLocator(text).isLive else {
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

/// Draws jobs on one renderer, which is reopened after an error of its device.
struct JobRenderer: Sendable {
  private let budget: MemoryBudget
  private let memory: FramePool
  /// Limits the number of concurrent jobs.
  private let places: Places
  private let renderer: LazyRenderer

  init(_ choice: RendererChoice, _ gpu: GPUDevice.Choice, budget: MemoryBudget, concurrency: Int) {
    self.budget = budget
    memory = FramePool(budget: budget)
    places = Places(concurrency)
    renderer = LazyRenderer(choice, gpu)
  }

  /// Draws a job's pictures, a few views at a time, and passes each to `deliver` with its view's number.
  ///
  /// If memory is too short to render a job beside others, it is rendered alone.
  ///
  /// - Throws: `JobFailure` if a job is larger than the worker permits; the errors of `deliver`.
  func render(
    _ job: Job, _ options: JobOptions, as format: EncodedPicture.Format, _ permissions: JobPermissions,
    to deliver: @escaping (EncodedPicture, _ view: Int) async throws -> Void
  ) async throws {
    let source = try permissions.source(job.source)
    var work = Work(
      source: source, pipeline: try pipeline(job, options, as: format, permissions),
      permissions: permissions, deliver: deliver)
    do {
      do {
        try await render(&work, on: await places.take())
      } catch let error where error.isOutOfMemory {
        let alone = try await withDeadline(permissions.limit) { [places] in await places.take(alone: true) }
        guard let alone else { throw error }
        memory.removeAll()
        await renderer.removeCached()
        try await render(&work, on: alone)
      }
    } catch let error where error.isOutOfMemory && work.isAlone {
      throw JobFailure(
        "the job needs more memory than this worker has for pictures, \(budget.capacity >> 20) MiB (--memory)",
        status: ExitStatus.badData)
    } catch let error as SourceError {
      // Hides the worker's folders from the author of the job.
      throw error.named(job.source)
    } catch let error where error is DeviceError || (error as? RenderError)?.isContextLost == true {
      await renderer.forget()
      throw error
    }
  }

  /// A job and its progress.
  private struct Work {
    let source: String
    let pipeline: RenderPipeline
    let permissions: JobPermissions
    // Here, and not a parameter of `render(_:on:)`: Swift 6.3 crashes where it specialises that for a closure under AddressSanitizer.
    let deliver: (EncodedPicture, _ view: Int) async throws -> Void
    /// The number of views that have been delivered.
    var delivered = 0
    /// The time that rendering has taken so far.
    var spent = Duration.zero
    var isAlone = false

    /// Runs a step within the remaining permitted time. A step that does not end in time continues in the
    /// background, and holds its captured objects until it ends.
    mutating func within<Value: Sendable>(
      _ step: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      let start = CaptureClock.now
      defer { spent += CaptureClock.now - start }
      guard spent < permissions.limit, let value = try await withDeadline(permissions.limit - spent, step)
      else {
        throw SourceError.late(source, permissions.limit)
      }
      return value
    }
  }

  private func render(_ work: inout Work, on place: Places.Held) async throws {
    work.isAlone = place.isAlone
    let (source, pipeline) = (work.source, work.pipeline)
    let still = try await work.within {
      defer { withExtendedLifetime(place) {} }
      return try await pipeline.still(source)
    }
    let most = work.permissions.maximumPixelsOfJob
    guard still.pixelCount <= most else {
      throw JobFailure(
        "the pictures have \(still.pixelCount) pixels in total; this worker allows at most \(most) per job (--max-job-megapixels)"
      )
    }
    for piece in still.pieces where piece.firstView >= work.delivered {
      let pictures = try await work.within {
        defer { withExtendedLifetime(place) {} }
        return try await pipeline.pictures(of: piece, in: still)
      }
      for file in pictures.compactMap(\.file) {
        try await work.deliver(file, work.delivered)
        work.delivered += 1
      }
    }
  }

  private func pipeline(
    _ job: Job, _ options: JobOptions, as format: EncodedPicture.Format, _ permissions: JobPermissions
  ) throws -> RenderPipeline {
    let input = options.inputOptions
    var pipeline = RenderPipeline(
      try options.viewOptions.views(), encoder: options.encodingOptions.encoder(format)
    ) { [renderer] in try await renderer.open() }
    pipeline.sourceOptions = try input.sourceOptions(for: job.source)
    pipeline.sourceOptions.maximumPixels = min(
      pipeline.sourceOptions.maximumPixels, permissions.maximumPixels)
    pipeline.sourceOptions.masks = try input.masks()
    pipeline.sourceOptions.referenceSize = try input.referenceSize()
    pipeline.sourceOptions.lens = try input.sourceLens()
    pipeline.sourceOptions.live.givesUpAfter = .zero
    pipeline.sourceOptions.redirects = permissions.readable.isOpen ? .sameHost : .none
    pipeline.decodesFast = input.decode != .exact
    pipeline.writesEXIF = options.encodingOptions.exif
    (pipeline.memory, pipeline.budget) = (memory, budget)
    return pipeline
  }

  /// Opens the renderer now, so that a machine without one reports that before it takes jobs.
  func open() async throws { try await renderer.open() }
}
