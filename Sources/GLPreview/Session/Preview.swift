// A preview inside its session; users have it as a `ViewPreview` or a `ScenePreview`.
internal import Synchronization

/// The pictures of a source or a scene. They are drawn only while a client reads them.
package final class Preview: Sendable {
  /// Unique in the session.
  package let name: String
  /// The source's name; nil for a scene.
  let sourceName: String?
  /// The source or scene.
  let producer: any PictureProducer
  /// The running encoders.
  let videos = VideoFeeds()
  /// The GPU's time for its pictures, and for those of other previews that share it.
  package let gpuTime: GPUTime
  let state: Watched<State>

  struct State {
    var configuration: PreviewConfiguration
    /// Counts the changes of the content.
    var version = 0
    var isRemoved = false
    /// When the configuration was last changed.
    var changedAt = CaptureInstant.start
    /// The time of the last step of a move, for sources without new frames.
    var present = CaptureInstant.start
    /// When it was last enabled after it had been disabled; nil if it never was.
    var shownSince: CaptureInstant?
    var newest: [Picture.Format: RenderedPicture] = [:]
    /// The previews that move with this one.
    var followers: [PreviewFollower] = []
  }

  init(
    name: String, _ configuration: PreviewConfiguration, of producer: any PictureProducer,
    counting gpuTime: GPUTime = GPUTime()
  ) {
    self.name = name
    self.gpuTime = gpuTime
    self.producer = producer
    sourceName = if case .view(_, let source) = configuration.content { source } else { nil }
    state = Watched(State(configuration: configuration))
  }

  // MARK: Configuration

  /// The configuration. A change takes effect with the next picture; readers get the errors of an invalid
  /// one.
  package var configuration: PreviewConfiguration { state.withLock { $0.configuration } }

  /// Changes several properties at once: no picture shows only some of them. `change` must not use the
  /// preview. The view keeps the preview's name.
  package func update(_ change: (inout PreviewConfiguration) -> Void) {
    let (isChanged, isPlaced) = state.update { state -> (Bool, Bool) in
      let before = state.configuration
      change(&state.configuration)
      state.configuration.view?.name = name
      guard state.configuration != before else { return (false, false) }
      state.changedAt = CaptureClock.now
      if state.configuration.isEnabled, !before.isEnabled { state.shownSince = state.changedAt }
      if state.configuration.content != before.content {
        state.version += 1
        state.newest = [:]
      }
      let (path, projection) = (state.configuration.path, state.configuration.view?.projection)
      return (true, path != before.path || projection != before.view?.projection)
    }
    if isChanged { producer.changed(self) }
    if isPlaced { lead() }
  }

  /// Whether it delivers pictures. A disabled preview costs nothing, and its readers wait.
  package var isEnabled: Bool {
    get { configuration.isEnabled }
    set { update { $0.isEnabled = newValue } }
  }

  /// Takes over from another preview of the same pictures. Pictures that the other one could not show stay
  /// hidden.
  package func succeed(_ other: Preview) {
    let since = other.state.withLock { $0.configuration.isEnabled ? $0.shownSince : CaptureClock.now }
    state.update { $0.shownSince = since }
  }

  // MARK: Reading

  /// The pictures as R, G, B, A.
  package var pictures: PreviewPictures { PreviewPictures(self, as: .rgba) }

  /// Returns the pictures in the sample format that this file format is encoded from.
  package func pictures(
    for format: EncodedPicture.Format, subsampling: Picture.ChromaSubsampling = .yuv420
  ) -> PreviewPictures {
    PreviewPictures(self, as: PictureEncoder(format, subsampling: subsampling).pictureFormat)
  }

  /// The pictures as H.264.
  package func video(_ configuration: VideoConfiguration) -> VideoSequence {
    VideoSequence(self, configuration)
  }

  /// Watches the preview's video from now on. An encoder that this starts is counted in `counters`; `control`
  /// lowers and raises its bit rate. With `passes`, the source's own H.264 is passed through if the view
  /// shows it whole and the configuration has no settings. With `inBatches`, the watcher reads about twice a
  /// second.
  package func watchVideo(
    _ configuration: VideoConfiguration, passes: Bool, inBatches readsInBatches: Bool = false,
    counting counters: VideoCounters, control: BitrateControl = BitrateControl()
  ) -> VideoWatch {
    videos.watch(
      self, configuration, VideoTimes(control: control), passes: passes, inBatches: readsInBatches,
      counting: counters
    ) {
      VideoEncoder(configuration, counting: counters, within: producer.budget)
    }
  }

  /// Whether a JPEG may be decoded at a reduced size for its readers. Recordings, and others that read video in
  /// batches, get exact pictures.
  var takesReduced: Bool { configuration.takesReduced && !videos.areReadInBatches }

  /// The format of the encoder that runs with a configuration; nil if none does.
  package func videoFormat(_ configuration: VideoConfiguration) -> H264Format? {
    videos.running(configuration)?.format
  }

  /// The bit rate that the encoder uses now, at most that of the configuration; nil if no encoder runs with
  /// it.
  package func videoBitrate(_ configuration: VideoConfiguration) -> Int? {
    videos.running(configuration)?.bitrate
  }

  // MARK: For the session

  /// The running scene; nil for a view.
  var sceneFeed: SceneFeed? { producer as? SceneFeed }

  /// The configuration, version and removal that a picture made now would have.
  var current: (configuration: PreviewConfiguration, version: Int, isRemoved: Bool) {
    state.withLock { ($0.configuration, $0.version, $0.isRemoved) }
  }

  /// Returns the view of `configuration` as it is drawn in a frame that was captured at `time`.
  ///
  /// - Throws: `SessionError` if the preview was added as something else.
  func view(of configuration: PreviewConfiguration, at time: CaptureInstant) throws(SessionError)
    -> ViewConfiguration
  {
    guard let view = configuration.view(at: time) else { throw SessionError("preview '\(name)' is a scene") }
    return view
  }

  /// The scene of `configuration`.
  ///
  /// - Throws: `SessionError` if the preview was added as a view.
  func scene(of configuration: PreviewConfiguration) throws(SessionError) -> Scene {
    guard let scene = configuration.scene else { throw SessionError("preview '\(name)' is not a scene") }
    return scene
  }

  /// The subject of pictures that are made now. New watchers get no picture of another subject.
  package var subject: PreviewSubject {
    PreviewSubject(version: current.version, connection: producer.endedConnections?.count ?? 0)
  }

  /// Whether another node makes its pictures and decides what they may show.
  package var isOfAnotherNode: Bool { producer.endedConnections != nil }

  /// Whether its pictures may be shown now.
  var isShown: Bool { state.withLock { $0.configuration.isEnabled && !$0.isRemoved } }

  /// Whether a picture captured at `time` may be shown: none from before the preview was last enabled.
  func shows(_ time: CaptureInstant) -> Bool {
    state.withLock { state in state.shownSince.map { time >= $0 } ?? true }
  }

  /// Whether its videos may pass through the source's own H.264, starting with what was captured at `time`.
  func passesVideo(since time: CaptureInstant) -> Bool {
    state.withLock { $0.configuration.passesVideo && !$0.isRemoved && time >= $0.changedAt }
  }

  /// The last picture of a format, unless the preview has changed since.
  func newest(_ format: Picture.Format) -> RenderedPicture? { state.withLock { $0.newest[format] } }

  /// The last picture of a format, if it shows `view` as this preview has it at `time`.
  func newest(_ format: Picture.Format, of view: ViewConfiguration, at time: CaptureInstant)
    -> RenderedPicture?
  {
    var view = view
    view.name = name
    return state.withLock { state in
      guard let newest = state.newest[format], state.configuration.view(at: time) == view,
        newest.key.pose == view.projection?.pose
      else { return nil }
      return newest
    }
  }

  /// Stores a picture for the next reader, unless the content has changed meanwhile.
  func keep(_ rendered: RenderedPicture, as format: Picture.Format) {
    state.withLock { state in
      if state.version == rendered.key.version, !state.isRemoved { state.newest[format] = rendered }
    }
  }

  /// Ends the preview: no more pictures follow.
  func end() {
    state.update { state in
      state.isRemoved = true
      state.newest = [:]
    }
    producer.changed(self)
  }

  /// Waits for a change of the configuration, at most for `time`.
  ///
  /// - Throws: `CancellationError`.
  package func rest(for time: Duration) async throws {
    let before = configuration
    _ = try await state.first(until: CaptureClock.now + time) { state in
      !state.isRemoved && state.configuration != before ? true : nil
    }
  }

  /// Returns when the configuration differs from `configuration`, at `deadline`, or when the task is
  /// cancelled.
  func waitForChange(from configuration: PreviewConfiguration, until deadline: CaptureInstant?) async {
    _ = try? await state.first(until: deadline) { state in
      state.isRemoved || state.configuration != configuration ? true : nil
    }
  }
}

/// The content of a preview: a version of its view, over one connection. A stored picture is shown only while
/// its subject is the preview's.
package struct PreviewSubject: Sendable, Hashable {
  /// Counts the changes of the view.
  let version: Int?
  /// Counts the connections.
  let connection: Int

  /// Returns the subject of a picture that was requested while this was the preview's subject.
  package func of(_ picture: PreviewPicture) -> PreviewSubject {
    PreviewSubject(version: picture.key.version ?? version, connection: connection)
  }
}

extension Preview: Hashable {
  package static func == (a: Preview, b: Preview) -> Bool { a === b }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Makes the pictures of previews: a source or a scene.
protocol PictureProducer: Sendable {
  /// Waits for a picture of `preview` that differs from `key`; nil at the end. With `passes`, it may be a
  /// camera's own JPEG.
  ///
  /// - Throws: `PreviewIsDisabled` if the preview is disabled meanwhile.
  func next(_ preview: Preview, _ form: PictureForm, after key: PictureKey?, passes: Bool) async throws
    -> PreviewPicture?
  func changed(_ preview: Preview)
  func readerCame(_ preview: Preview)
  func readerWent(_ preview: Preview)
  /// The readers of its source that show every picture; nil for a scene, which reads its sources itself.
  var eagerReaders: EagerReaders? { get }
  /// The number of its source's connections that have ended, if the source belongs to another node; otherwise
  /// nil.
  var endedConnections: EndedConnections? { get }
  /// The memory budget for its pictures and their encoders; nil for none.
  var budget: MemoryBudget? { get }
}

/// A reader of a preview, for as long as this object exists.
final class PreviewReading: Sendable {
  private let preview: Preview
  private let isEager = Atomic(false)

  init(_ preview: Preview) {
    self.preview = preview
    preview.producer.readerCame(preview)
  }

  deinit {
    setEager(false)
    preview.producer.readerWent(preview)
  }

  /// Sets whether the reader shows every picture.
  func setEager(_ isEager: Bool) {
    guard self.isEager.exchange(isEager, ordering: .relaxed) != isEager else { return }
    if isEager { preview.producer.eagerReaders?.come() } else { preview.producer.eagerReaders?.go() }
  }
}
