// The main entry point: sources in, previews and snapshots out.
internal import Synchronization

/// Captures from one or more sources, and delivers previews and snapshots of them.
///
/// Nothing is opened, decoded or drawn until a client reads it. All methods can be called from any thread.
/// Cameras and threads are released when the last reference goes, or when `close()` returns.
///
/// ```swift
/// let session = try PreviewSession(SessionSource("/dev/video0"))
/// let preview = try session.addPreview(ViewConfiguration(width: 640, height: 360))
/// for try await frame in preview.pictures(for: .jpeg) { try await show(frame.jpeg().bytes) }
/// ```
public final class PreviewSession: Sendable {
  let core: SessionCore

  /// Creates a session of one or more sources.
  ///
  /// - Parameters:
  ///   - sources: at least one, with different names.
  ///   - options: the options of the whole session.
  /// - Throws: `SessionError` if there is no source, or a name is empty or used twice.
  public init(_ sources: [SessionSource], options: Options = Options()) throws(SessionError) {
    guard !sources.isEmpty else { throw SessionError("a session has at least one source") }
    core = try SessionCore(sources, options)
  }

  /// Creates a session whose sources are all added later.
  package init(addingSourcesLater options: Options) throws(SessionError) {
    core = try SessionCore([], options)
  }

  /// Creates a session of one source.
  public convenience init(
    _ source: SessionSource, options: Options = Options()
  ) throws(SessionError) {
    try self.init([source], options: options)
  }

  deinit { core.end() }

  // MARK: Previews

  /// Adds a preview of a source.
  ///
  /// - Parameters:
  ///   - view: how the source is shown; its name is the preview's.
  ///   - source: the source's name; nil for the first.
  ///   - updateEvery: the minimum time between two pictures; zero for every frame.
  /// - Returns: the preview. Nothing is drawn unless it is read.
  /// - Throws: `SessionError` if the name is taken, there is no such source, or the session is closed.
  public func addPreview(
    _ view: ViewConfiguration = ViewConfiguration(), of source: String? = nil, updateEvery: Duration = .zero
  ) throws(SessionError) -> ViewPreview {
    try addPreview(view, of: source, updateEvery: updateEvery, counting: GPUTime())
  }

  /// Adds a preview of a source, as above; `gpuTime` counts the GPU's time for its pictures.
  package func addPreview(
    _ view: ViewConfiguration, of source: String?, updateEvery: Duration, counting gpuTime: GPUTime
  ) throws(SessionError) -> ViewPreview {
    let content = PreviewContent.view(view, of: source ?? core.firstSource)
    return ViewPreview(
      try core.add(view.name, PreviewConfiguration(content, updateEvery: updateEvery), counting: gpuTime))
  }

  /// Adds a preview that shows several sources in one picture.
  ///
  /// - Throws: `SessionError` if the name is taken, a source of the scene does not exist, or the session is
  ///   closed.
  public func addScene(
    _ scene: Scene, name: String = "scene", updateEvery: Duration = .zero
  ) throws(SessionError) -> ScenePreview {
    ScenePreview(try core.add(name, PreviewConfiguration(.scene(scene), updateEvery: updateEvery)))
  }

  /// Removes a preview. Its readers' loops end.
  public func remove(_ preview: ViewPreview) { remove(preview.preview) }

  /// Removes the preview of a scene. Its readers' loops end.
  public func remove(_ scene: ScenePreview) { remove(scene.preview) }

  package func remove(_ preview: Preview) { core.remove(preview) }

  /// The previews of single sources, in the order in which they were added.
  public var previews: [ViewPreview] { allPreviews.filter { $0.sourceName != nil }.map(ViewPreview.init) }

  /// The previews of scenes, in the order in which they were added.
  public var scenes: [ScenePreview] { allPreviews.filter { $0.sourceName == nil }.map(ScenePreview.init) }

  package var allPreviews: [Preview] { core.previews }

  // MARK: Sources

  /// Adds a source to the running session.
  ///
  /// - Parameters:
  ///   - source: the source.
  ///   - others: the names of sources that it replaces. The new source opens its camera after these are
  ///     removed and closed, but at most two seconds later, because most cameras can't be opened twice.
  /// - Throws: `SessionError` if its name is empty or taken, or the session is closed.
  public func addSource(_ source: SessionSource, replacing others: [String] = []) throws(SessionError) {
    try core.add(source, after: others)
  }

  /// Removes a source and its previews; scenes no longer show it. It is closed when this returns.
  public func removeSource(_ name: String) async { await core.removeSource(name) }

  // MARK: Snapshots

  /// Takes pictures of one frame.
  ///
  /// The frame comes from the source of the first wanted view. Scenes show their other sources as they are at
  /// that moment.
  ///
  /// - Throws: `SessionError` if there is nothing to take; `SourceError` if the source delivers nothing in
  ///   time, or delivers nothing and no placeholder is wanted; `ParameterError`, `DeviceError`, `RenderError`.
  public func snapshot(_ request: SnapshotRequest = SnapshotRequest()) async throws -> Snapshot {
    try await core.snapshot(request)
  }

  /// Takes pictures of several buffered frames of a source (`SessionSource.replay`), the oldest first. It
  /// uses `count` times at equal intervals, from `duration` ago until now, and for each the frame that
  /// `SnapshotRequest.Mode.at` selects. Each frame comes once, and times for which nothing is buffered are
  /// left out, so there may be fewer than `count` snapshots. `request.mode` is ignored.
  ///
  /// - Throws: `NotBuffered` if nothing of that time is buffered; the errors of `snapshot`.
  public func snapshots(
    before duration: Duration, count: Int, _ request: SnapshotRequest = SnapshotRequest()
  ) async throws -> [Snapshot] {
    try await core.snapshots(
      request, at: [CaptureInstant](before: CaptureClock.now, max(duration, .zero), count: count))
  }

  /// Connects a trigger to this session, in place of the session that it was attached to.
  ///
  /// - Parameters:
  ///   - trigger: the trigger.
  ///   - request: the default request.
  ///   - handler: called with each snapshot and each failure.
  public func attach(
    _ trigger: SnapshotTrigger, _ request: SnapshotRequest = SnapshotRequest(),
    handler: (@Sendable (Result<Snapshot, any Error>) async -> Void)? = nil
  ) {
    trigger.attach(
      { [weak core] own, mode in
        guard let core else { throw SessionError("the session is closed") }
        var wanted = own ?? request
        wanted.mode = mode ?? wanted.mode
        return try await core.snapshot(wanted)
      }, handler)
  }

  /// For tests.
  var firstFeed: SourceFeed? { core.feed(nil) }

  /// For tests: the objects that must be released with the session.
  var parts: [any AnyObject & Sendable] {
    let scenes: [any AnyObject & Sendable] = core.previews.compactMap { $0.sceneFeed }
    return [core, core.drawing] + scenes
  }

  // MARK: Session

  /// The GPU that it draws on. It is opened if it is not open yet.
  ///
  /// - Throws: `DeviceError` if no GPU works.
  public var device: GPUDevice {
    get async throws { try await core.drawing.device }
  }

  /// The reason why the CPU draws in place of a GPU that has failed; nil if it does not. With
  /// `Options.gpu == .automatic`, sessions go on that way until the GPU works again.
  public var deviceFailure: String? { get async { await core.drawing.deviceFailure } }

  /// The reason why no labels are drawn on this machine, and what to install; nil if they are drawn, or
  /// before the first one.
  public var textFailure: String? { PangoTextRenderer.shared.failure?.description }

  /// The counters since the session began.
  public var statistics: Statistics { core.counters.now }

  /// The share of the GPU's time that drawing has taken in the last two to three seconds, 0 to 1; nil if
  /// nothing was drawn, and on a GPU without timer queries and in software.
  public var gpuLoad: Double? { core.drawing.gpuLoad }

  /// The memory and the programs that the renderer keeps for later pictures.
  package var rendererCaches: RendererCaches { core.drawing.caches }

  /// Ends previews and sources. Cameras, memory and threads are released when it returns. Later calls fail or
  /// return nothing.
  public func close() async { await core.close() }
}

extension PreviewSession {
  /// The options of a session.
  public struct Options: Sendable {
    /// The GPU. Default: the first that works.
    public var gpu: GPUDevice.Choice
    /// How long a source without readers stays open, in case a reader comes back. Default: 1 second.
    public var linger: Duration
    /// The most pixels of a picture. Default: 100 megapixels.
    public var maximumPixels: Int
    /// The memory budget of decoded frames and drawn pictures; nil, the default, means unlimited. When it is
    /// full, frames of cameras are dropped, and drawing throws `MemoryBudget.Exceeded`.
    public var budget: MemoryBudget?
    /// Draws labels. Default: Pango; nil draws none. If Pango can't be loaded, no labels are drawn either,
    /// and `PreviewSession.textFailure` says why.
    package var text: (any TextRenderer)? = PangoTextRenderer.shared
    /// Called with the duration of each rendering, from upload to readback, and with the wait for the GPU
    /// before it. Called on any thread; it should do no more than count.
    public var onRender: (@Sendable (Duration) -> Void)?
    /// Called with the duration of each JPEG of `RenderedPicture.jpeg`, in the same way.
    public var onEncode: (@Sendable (Duration) -> Void)?
    /// Whether the shader programs of views that may be requested later are compiled in the background.
    /// Default: false.
    package var primesPrograms = false
    /// Opens renderers; for tests.
    var renderers = SharedRenderers.ofThisProcess
    /// How long a source, before it opens, waits for the sources that it replaces.
    var replacedCloseWithin = Duration.seconds(2)

    /// Creates options. The properties that are not parameters have their defaults.
    public init(
      gpu: GPUDevice.Choice = .automatic, linger: Duration = .seconds(1), maximumPixels: Int = 100_000_000
    ) {
      self.gpu = gpu
      self.linger = linger
      self.maximumPixels = maximumPixels
    }
  }
}

/// A request that a session can't carry out: a name is missing or taken, the session is closed, or too many
/// snapshots are under way.
public struct SessionError: Error, Hashable, CustomStringConvertible {
  /// The problem and its cause.
  public let description: String

  init(_ description: String) { self.description = description }
}
