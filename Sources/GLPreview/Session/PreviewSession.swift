// The front door: sources in, previews and snapshots out, for as long as it is held.
public import PreviewCore
internal import Synchronization

/// Sources, and what is seen of them while it runs.
///
/// Nothing is opened, decoded or drawn that nobody reads. All methods may be called from anywhere; when the last reference
/// goes, or `close()` returns, cameras and threads are given back.
///
/// ```swift
/// let session = try PreviewSession(SessionSource("/dev/video0"))
/// let preview = try session.addPreview(ViewConfiguration(width: 640, height: 360))
/// for try await frame in preview.jpegs() { try await show(frame.jpeg().bytes) }
/// ```
public final class PreviewSession: Sendable {
  private let core: SessionCore

  /// A session of one source or several.
  ///
  /// - Parameters:
  ///   - sources: at least one; their names are different.
  ///   - options: of all of it.
  /// - Throws: `SessionError` where a name is empty or there twice.
  public init(_ sources: [SessionSource], options: SessionOptions = SessionOptions()) throws(SessionError) {
    core = try SessionCore(sources, options)
  }

  /// A session of one source.
  public convenience init(
    _ source: SessionSource, options: SessionOptions = SessionOptions()
  ) throws(SessionError) {
    try self.init([source], options: options)
  }

  deinit { core.end() }

  // MARK: Previews

  /// Adds a preview of a source.
  ///
  /// - Parameters:
  ///   - view: what of the source is seen; its name is the preview's.
  ///   - source: by name; nil is the first.
  ///   - updateEvery: the shortest time between two pictures; zero is every frame.
  /// - Returns: the preview; read it, or nothing is drawn.
  /// - Throws: `SessionError` where the name is taken, or there is no such source, or the session is closed.
  public func addPreview(
    _ view: ViewConfiguration = ViewConfiguration(), of source: String? = nil, updateEvery: Duration = .zero
  ) throws(SessionError) -> ViewPreview {
    ViewPreview(
      try core.add(
        view.name,
        PreviewConfiguration(.view(view, of: source ?? core.firstSource), updateEvery: updateEvery)))
  }

  /// Adds a preview of several sources in one picture.
  ///
  /// - Throws: `SessionError` where the name is taken, the scene shows sources that are not there, or the session is closed.
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

  /// Adds a source while it runs.
  ///
  /// - Parameters:
  ///   - source: what to add.
  ///   - others: the names of sources that it replaces. It opens its camera once they are removed and closed, or two seconds
  ///     after it was to be opened: most cameras can't be open twice.
  /// - Throws: `SessionError` where its name is empty or taken, or the session is closed.
  public func addSource(_ source: SessionSource, replacing others: [String] = []) throws(SessionError) {
    try core.add(source, after: others)
  }

  /// Takes a source out, with the previews of it; scenes show it no more. When this returns, it is closed.
  public func removeSource(_ name: String) async { await core.removeSource(name) }

  /// The sources' names, in their order.
  public var sourceNames: [String] { core.sources.map(\.name) }

  /// A source's reference size, upright, in whose pixels crops are; nil before its first frame, unless its options say it.
  public func size(of source: String? = nil) -> Size? {
    core.feed(source ?? core.firstSource)?.drawing.reference
  }

  /// How a source is; nil where it is not open, or has no states, as files have none.
  public func status(of source: String? = nil) async -> SourceStatus? {
    await core.feed(source ?? core.firstSource)?.status
  }

  /// What went wrong with a source when it was opened or read last; nil where nothing did, and once a frame comes again.
  ///
  /// Previews of the source throw it; scenes go on with a fallback in its place, and this is where to find out why. A live
  /// source that is tried again does not fail: its `status` says how it is.
  public func failure(of source: String? = nil) async -> (any Error)? {
    await core.feed(source ?? core.firstSource)?.failure
  }

  /// Switches a source off, as somebody does who leaves the picture, or on again. Off, it is closed, and its fallback is
  /// seen.
  public func setSource(_ source: String? = nil, isOn: Bool) async {
    await core.feed(source ?? core.firstSource)?.setOn(isOn)
  }

  // MARK: Snapshots

  /// Pictures of one frame.
  ///
  /// The frame is that of the source which the first of the wanted views shows; scenes show their other sources as they
  /// are at that moment.
  ///
  /// - Throws: `SnapshotError` where there is nothing to take; `SourceError`, where the source gives nothing and no
  ///   placeholder is wanted, or in time; `WordError`, `DeviceError`, `RenderError`.
  public func snapshot(_ request: SnapshotRequest = SnapshotRequest()) async throws -> Snapshot {
    try await core.snapshot(request)
  }

  /// A source at one moment, of which any view can be drawn.
  ///
  /// - Parameters:
  ///   - source: by name; nil is the first.
  ///   - request: which frame, what where there is none, and how long that may take; the rest does not matter.
  /// - Returns: the moment; it holds the frame for as long as it is held.
  /// - Throws: as `snapshot` does.
  package func moment(of source: String? = nil, _ request: SnapshotRequest = SnapshotRequest()) async throws
    -> SourceMoment
  {
    try await core.moment(of: source ?? core.firstSource, request)
  }

  /// Draws previews of the moment's source at that moment, in one go; what they showed of it already is not drawn again,
  /// nor are its JPEGs made again.
  ///
  /// - Returns: a picture for each, in order.
  /// - Throws: `WordError`, `DeviceError`, `RenderError`; `SessionError` for previews of something else.
  package func draw(
    _ previews: [Preview], at moment: SourceMoment, as format: PictureFormat = .ycbcr(.yuv420)
  ) async throws -> [RenderedPicture] {
    try await core.draw(previews, at: moment, as: format)
  }

  /// Draws views of the moment in one go.
  ///
  /// - Returns: a picture for each, in order.
  /// - Throws: `WordError`, `DeviceError`, `RenderError`.
  package func draw(
    _ views: [ViewConfiguration], at moment: SourceMoment, as format: PictureFormat = .ycbcr(.yuv420)
  ) async throws -> [RenderedPicture] {
    try await core.draw(views, at: moment, as: format)
  }

  /// Draws a scene as it is now.
  ///
  /// - Parameters:
  ///   - scene: the scene's preview.
  ///   - format: how the picture's samples lie.
  ///   - limit: how long its sources may take to show something.
  /// - Returns: the picture.
  /// - Throws: `SnapshotError` for what is no scene of this session; `SourceError` where it takes longer; `WordError`,
  ///   `DeviceError`, `RenderError`.
  package func drawScene(
    _ scene: Preview, as format: PictureFormat = .ycbcr(.yuv420), within limit: Duration = .seconds(5)
  ) async throws -> RenderedPicture {
    try await core.drawScene(scene, as: format, within: limit)
  }

  /// Lets a trigger take snapshots of this session, in place of whichever it was attached to.
  ///
  /// - Parameters:
  ///   - trigger: held by whoever is to use it.
  ///   - request: what it takes where it is not told otherwise.
  ///   - handler: is given each snapshot, and each failure.
  public func attach(
    _ trigger: SnapshotTrigger, _ request: SnapshotRequest = SnapshotRequest(),
    handler: (@Sendable (Result<Snapshot, any Error>) async -> Void)? = nil
  ) {
    trigger.attach(
      { [weak core] own in
        guard let core else { throw SnapshotError("the session is closed") }
        return try await core.snapshot(own ?? request)
      }, handler)
  }

  /// For tests.
  var firstFeed: SourceFeed? { core.feed(core.firstSource) }

  /// For tests: what must be gone when it is.
  var parts: [any AnyObject & Sendable] { [core, core.drawing] + core.previews.compactMap(core.scene(of:)) }

  // MARK: The whole

  /// What it draws on, which is opened for that where it is not.
  ///
  /// - Throws: `DeviceError` where there is none that works.
  public var device: GPUDevice {
    get async throws { try await core.drawing.device }
  }

  /// What was done since it began.
  public var statistics: SessionStatistics { core.counters.now }

  /// What was done with one source's frames since that was added; nil where there is none of that name. Pictures are
  /// counted for the whole session alone.
  public func statistics(of source: String) -> SessionStatistics? { core.feed(source)?.counters.now }

  /// Ends previews and sources; when it returns, cameras, memory and threads are given back. What is called afterwards
  /// fails or gives nothing.
  public func close() async { await core.close() }
}

/// How a session works.
public struct SessionOptions: Sendable {
  /// On which GPU. The first that works, unless told.
  public var gpu: GPUChoice
  /// How long a source that nobody reads stays open, for who may come back. A second unless told.
  public var linger: Duration
  /// The most pixels that a picture may have. 100 megapixels unless told.
  public var maximumPixels: Int
  /// What decoded frames and drawn pictures count against; nil, the default, counts nothing. Where it has no room, frames of
  /// cameras are dropped, and drawing throws `MemoryBudgetExceeded`.
  public var budget: MemoryBudget?
  /// What draws labels, Pango unless told; nil draws none. Where Pango can't be loaded there are none either, and
  /// `PangoTextRenderer.shared.failure` says why.
  public var text: (any TextRenderer)?
  /// Is told how long each rendering took, from upload to readback, and the wait for the GPU before it. Called from any
  /// thread; it should do no more than count.
  public var onRender: (@Sendable (Duration) -> Void)?
  /// Is told how long each JPEG of `RenderedPicture.jpeg` took, in the same way.
  public var onEncode: (@Sendable (Duration) -> Void)?
  /// Where renderers are opened; for tests.
  var renderers = SharedRenderers.ofThisProcess
  /// How long a source that is to be opened waits for those that it replaces.
  var replacedCloseWithin = Duration.seconds(2)

  /// The usual way, unless said otherwise.
  public init(
    gpu: GPUChoice = .automatic, linger: Duration = .seconds(1), maximumPixels: Int = 100_000_000,
    text: (any TextRenderer)? = PangoTextRenderer.shared
  ) {
    self.gpu = gpu
    self.linger = linger
    self.maximumPixels = maximumPixels
    self.text = text
  }
}

/// A session that was asked for something that makes no sense.
public struct SessionError: Error, Hashable, CustomStringConvertible {
  /// What, and why.
  public let description: String

  init(_ description: String) { self.description = description }
}
