// Renders without a session: frames travel from sources through plan, renderer and encoder, and are delivered
// in order.
internal import Glibc
internal import Synchronization

/// Renders views of files, cameras and streams without a session: each due frame of a source, or many picture
/// files.
///
/// While a frame is drawn, the next one is read, and earlier ones are encoded and delivered. Pictures are
/// delivered in order, one at a time. A few frames are in progress at most: slow delivery slows reading.
///
/// ```swift
/// let renderer = try await PictureRenderer.open()
/// let pipeline = RenderPipeline(
///   [ViewConfiguration(name: "small", width: 320)], encoder: PictureEncoder(.jpeg), on: renderer)
/// try await pipeline.render("clip.mp4", FrameSchedule(every: 25)) { picture in
///   try picture.file?.write(to: "clip-\(picture.frame).jpg")
/// }
/// await renderer.close()
/// ```
public struct RenderPipeline: Sendable {
  /// The views of each frame, whose pictures are delivered in this order.
  public let views: [ViewConfiguration]
  /// Encodes the pictures; nil delivers samples.
  public let encoder: PictureEncoder?
  /// How sources are read. Its `maximumPixels` also limits pictures.
  public var sourceOptions = SourceOptions()
  /// Whether JPEGs are decoded at 1/2, 1/4 or 1/8 of their size if all views shrink them enough. Default:
  /// false.
  public var decodesFast = false
  /// Whether JPEGs of live sources hold the time of capture, as EXIF. Default: false.
  public var writesEXIF = false
  /// The format of samples.
  private let format: Picture.Format
  /// Returns the renderer, which may still be opening while the first frames are decoded.
  private let renderer: @Sendable () async throws -> any Renderer
  /// The pool that frames are allocated from.
  package var memory = FramePool()
  /// Limits the memory of pictures, beside that of frames.
  package var budget: MemoryBudget?
  /// The error for a source with several frames, if only one can be delivered; nil if several are fine. Not
  /// used if the schedule's limit is 1.
  package var severalFrames: (@Sendable (_ source: String) -> any Error)?

  /// Creates a pipeline that draws with OpenGL.
  public init(
    _ views: [ViewConfiguration], encoder: PictureEncoder?, samples: Picture.Format = .rgba,
    on renderer: GLRenderer
  ) {
    self.init(views, encoder: encoder, samples: samples) { renderer }
  }

  /// Creates a pipeline.
  ///
  /// - Parameters:
  ///   - views: the views of each frame.
  ///   - encoder: encodes the pictures; nil delivers samples.
  ///   - samples: the format of samples, if there is no encoder.
  ///   - renderer: draws the views. It stays open.
  public init(
    _ views: [ViewConfiguration], encoder: PictureEncoder?, samples: Picture.Format = .rgba,
    on renderer: PictureRenderer
  ) {
    self.init(views, encoder: encoder, samples: samples) { renderer.renderer }
  }

  /// Creates a pipeline for a renderer of any kind, which is requested after the first frame is decoded.
  package init(
    _ views: [ViewConfiguration], encoder: PictureEncoder?, samples: Picture.Format = .rgba,
    renderer: @escaping @Sendable () async throws -> any Renderer
  ) {
    (self.views, self.encoder, self.renderer) = (views, encoder, renderer)
    format = encoder?.pictureFormat ?? samples
  }

  private var requests: [ViewRequest] {
    views.map { ViewRequest($0, as: format, coding: encoder?.coding) }
  }

  private func planner(for renderer: any Renderer) -> RenderPlanner {
    let tuning = (renderer as? any DeviceRenderer)?.tuning ?? .unlimited
    return RenderPlanner(tuning: tuning, maximumPixels: sourceOptions.maximumPixels)
  }
}

// MARK: One source

extension RenderPipeline {
  /// Renders the due frames of a source.
  ///
  /// - Parameters:
  ///   - source: a file, camera, address, command or pattern, as `SourceLocator` takes it.
  ///   - schedule: the frames to render.
  ///   - deliver: receives the pictures, one call at a time: frame after frame, and the views of a frame in
  ///     order.
  /// - Throws: the first error in the pictures' order, after all earlier pictures are delivered:
  ///   `SourceError` if the source can't be read or has no frames, `ParameterError` if a view can't be drawn,
  ///   `RenderError`, `Failure` if a picture can't be encoded, and what `deliver` throws.
  public func render(
    _ source: String, _ schedule: FrameSchedule = FrameSchedule(),
    to deliver: @escaping @Sendable (PipelinePicture) async throws -> Void
  ) async throws {
    let source = try await open(source, schedule)
    try await source.closing { try await render(source, schedule, to: deliver) }
  }

  /// Opens a source for `render`.
  ///
  /// - Throws: `SourceError`, also if the source can't be played as often as the schedule says.
  package func open(_ name: String, _ schedule: FrameSchedule) async throws -> any FrameSource {
    var options = sourceOptions
    options.decoding = decodesFast ? .fast(for: requests) : .exact
    options.memory = memory
    options.demand = SourceOptions.Demand(for: views)
    // Without this, a server would be polled ten times a second even for a picture per minute.
    if SourceLocator(name).kind.isPolled, schedule.interval ?? .zero > .seconds(1) {
      options.demand.framesPerSecond = 1
    }
    let source = try await SourceLocator(name).open(options)
    do {
      if schedule.loops > 1 { try await source.rewind() }
    } catch {
      await source.close()
      throw error
    }
    return source
  }

  /// Renders the due frames of an open source, and leaves it open.
  package func render(
    _ source: any FrameSource, _ schedule: FrameSchedule,
    to deliver: @escaping @Sendable (PipelinePicture) async throws -> Void
  ) async throws {
    let renderer = try await renderer()
    await (renderer as? any DeviceRenderer)?.lendMemory(to: memory)
    let (frames, planner) = (PlannedFrames(source, schedule, self), planner(for: renderer))
    let waiting = Mutex<[FramePiece]>([])
    // One frame is read and one is delivered. At least two are for the drawing thread, so that it need not
    // wait.
    try await orderedMap(width: max(2, planner.tuning.framesInFlight) + 2) { () -> FramePiece? in
      if let piece = waiting.withLock({ $0.popLast() }) { return piece }
      guard let frame = try await frames.next() else { return nil }
      let pieces = try frames.pieces(of: frame, requests, planner)
      return waiting.withLock { waiting in
        waiting = pieces.reversed()
        return waiting.popLast()
      }
    } _: { piece in
      try await results(of: piece, on: renderer)
    } to: { results in
      for result in results { try await deliver(result.get()) }
    }
  }

  /// Draws and encodes the views of a piece. A view that can't be encoded has an error in its place.
  ///
  /// The pictures hold their part of the memory budget until they are released.
  private func results(
    of piece: FramePiece, on renderer: any Renderer
  ) async throws -> [Result<PipelinePicture, any Error>] {
    try Task.checkCancellation()
    // A file is hardly ever larger than its samples.
    let lease = try budget?.reserve(2 * piece.plan.views.reduce(0) { $0 + $1.byteCount })
    let (drawn, gpuTime) = try await draw(piece, on: renderer)
    let frame = piece.frame
    let time = writesEXIF && piece.isLive ? WallTime(capturedAt: frame.timestamp) : nil
    let encode = { @Sendable (index: Int) in
      var picture = try PipelinePicture(
        drawn[index], of: views[piece.firstView + index].name, frame: piece.number, at: frame.timestamp,
        encoder: encoder, iccProfile: frame.iccProfile, capturedAt: time)
      (picture.decodedEighths, picture.gpuTime, picture.lease) = (frame.format.eighths, gpuTime, lease)
      picture.renderer = (renderer as? any DeviceRenderer)?.device.name ?? "reference"
      picture.isLast = piece.isLast && index == drawn.count - 1
      return picture
    }
    guard encoder != nil else { return drawn.indices.map { index in Result { try encode(index) } } }
    // Swift's own threads stay free to pass frames on.
    let tasks = drawn.indices.map { index in
      Task(executorPreference: DecodingQueue.shared) { try encode(index) }
    }
    var results: [Result<PipelinePicture, any Error>] = []
    for task in tasks { results.append(await task.result) }
    try Task.checkCancellation()
    try lease?.resize(to: results.reduce(0) { $0 + ((try? $1.get().file?.bytes.count) ?? 0) })
    return results
  }

  private func draw(
    _ piece: FramePiece, on renderer: any Renderer
  ) async throws -> (pictures: [Picture], gpuTime: Duration?) {
    guard let gpu = renderer as? any DeviceRenderer else {
      return (try await renderer.render(piece.frame, piece.plan), nil)
    }
    return try await gpu.render(piece.frame, piece.plan, within: budget)
  }
}

// MARK: Many files

extension RenderPipeline {
  /// Renders one frame of each of many picture files, a few files at a time.
  ///
  /// - Parameters:
  ///   - files: the files.
  ///   - schedule: the frame to render. Default: the first one.
  ///   - deliver: receives the pictures of each file, or why there are none, in the order of `files`, one
  ///     call at a time.
  /// - Throws: an error that no file has caused: of the renderer, or of `deliver`; `CancellationError`.
  public func render(
    files: [String], _ schedule: FrameSchedule = FrameSchedule(limit: 1),
    to deliver: @escaping @Sendable (_ index: Int, Result<[PipelinePicture], any Error>) async throws -> Void
  ) async throws {
    let next = Mutex(files.indices.makeIterator())
    // All cores work while one file is read and one is drawn.
    let count = max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) + 2
    let places = Places(count)
    // Encoded pictures may wait for earlier ones, while their places go to other files.
    try await orderedMap(width: 2 * count) {
      next.withLock { $0.next() }
    } _: { index in
      (index, try await places.occupied { try await result(of: files[index], schedule) })
    } to: { index, result in
      try await deliver(index, result)
    }
  }

  /// Returns the file's pictures, or its error. An error that the file did not cause is thrown.
  private func result(
    of file: String, _ schedule: FrameSchedule
  ) async throws -> Result<[PipelinePicture], any Error> {
    do {
      let still = try await still(file, schedule)
      var pictures: [PipelinePicture] = []
      for piece in still.pieces { pictures += try await self.pictures(of: piece, in: still) }
      return .success(pictures)
    } catch let error where error is SourceError || error is ParameterError || error is Failure {
      return .failure(error)
    }
  }

  /// Decodes the first due frame of `source`. The renderer is awaited after that.
  package func still(
    _ source: String, _ schedule: FrameSchedule = FrameSchedule(limit: 1)
  ) async throws -> PipelineStill {
    try Task.checkCancellation()
    let source = try await open(source, schedule)
    let frames = PlannedFrames(source, schedule, self)
    let frame = try await source.closing { try await frames.next() }
    let renderer = try await renderer()
    let pieces = try frame.map { try frames.pieces(of: $0, requests, planner(for: renderer)) }
    return PipelineStill(pieces: pieces ?? [], renderer: renderer)
  }

  /// Draws and encodes the views of a piece.
  ///
  /// - Throws: `MemoryBudget.Exceeded` if there is no room for them; `Failure`; `CancellationError`.
  package func pictures(of piece: FramePiece, in still: PipelineStill) async throws -> [PipelinePicture] {
    try await results(of: piece, on: still.renderer).map { try $0.get() }
  }
}

/// A decoded frame, whose views are drawn and encoded piece by piece.
package struct PipelineStill: Sendable {
  package let pieces: [FramePiece]
  fileprivate let renderer: any Renderer

  /// The pixels of all pictures together.
  package var pixelCount: Int {
    pieces.reduce(0) { $0 + $1.plan.views.reduce(0) { $0 + $1.size.pixelCount } }
  }
}

/// The due frames of a source and their plans.
private struct PlannedFrames: Sendable {
  private let source: any FrameSource
  private let frames: ScheduledFrames
  private let plans: ViewPlans
  /// The error if there is a second frame; nil if several are fine.
  private let severalFrames: (@Sendable (String) -> any Error)?

  init(_ source: any FrameSource, _ schedule: FrameSchedule, _ pipeline: RenderPipeline) {
    self.source = source
    frames = ScheduledFrames(source, schedule)
    plans = ViewPlans(of: pipeline.sourceOptions, memory: pipeline.memory)
    severalFrames = schedule.limit == 1 ? nil : pipeline.severalFrames
  }

  /// Returns the next due frame; nil after the last.
  ///
  /// - Throws: `SourceError`, also if there is none at all.
  func next() async throws -> ScheduledFrame? {
    guard let next = try await frames.next() else {
      guard await frames.given == 0 else { return nil }
      throw SourceError(.badData, path: source.name, reason: source.status.lastDamage ?? "has no frames")
    }
    guard await frames.given == 1 else { return next }
    // Fail before a picture is written that a later frame would overwrite.
    if let severalFrames, try await frames.next() != nil { throw severalFrames(source.name) }
    plans.sawFrame(of: next.frame.format.uprightSize, reference: await source.referenceSize)
    return next
  }

  func pieces(
    of frame: ScheduledFrame, _ requests: [ViewRequest], _ planner: RenderPlanner
  ) throws -> [FramePiece] {
    try plans.pieces(
      of: frame.frame, number: frame.number, isLive: source.isLive, requests, planner)
  }
}

extension FrameSource {
  /// Closes the source after `body`, also after an error.
  package func closing<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      let value = try await body()
      await close()
      return value
    } catch {
      await close()
      throw error
    }
  }
}
