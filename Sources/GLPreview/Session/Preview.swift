// A preview inside its session; users have it as a `ViewPreview` or a `ScenePreview`.
internal import Synchronization

/// The pictures of a source or a scene. They are drawn while somebody reads them.
package final class Preview: Sendable {
  /// Unique in the session.
  package let name: String
  /// Of a view; nil for a scene.
  let sourceName: String?
  /// The source or scene.
  let producer: any PictureProducer
  /// The running encoders.
  let videos = VideoFeeds()
  private let state: Watched<State>

  private struct State {
    var configuration: PreviewConfiguration
    /// Counts the changes of the content.
    var version = 0
    var isRemoved = false
    /// When what it shows was last changed, or it was enabled.
    var changedAt = CaptureInstant.start
    /// When it was last enabled after it had been disabled; nil if it never was.
    var shownSince: CaptureInstant?
    var newest: [Picture.Format: RenderedPicture] = [:]
  }

  init(name: String, _ configuration: PreviewConfiguration, of producer: any PictureProducer) {
    self.name = name
    self.producer = producer
    sourceName = if case .view(_, let source) = configuration.content { source } else { nil }
    state = Watched(State(configuration: configuration))
  }

  // MARK: Configuration

  /// The configuration. A change takes effect with the next picture; readers get the errors of an invalid one.
  package var configuration: PreviewConfiguration { state.withLock { $0.configuration } }

  /// Changes several properties at once: no picture shows only some of them. `change` must not use the preview. The
  /// view keeps the preview's name.
  package func update(_ change: (inout PreviewConfiguration) -> Void) {
    let isChanged = state.update { state in
      let before = state.configuration
      change(&state.configuration)
      state.configuration.view?.name = name
      guard state.configuration != before else { return false }
      state.changedAt = CaptureClock.now
      if state.configuration.isEnabled, !before.isEnabled { state.shownSince = state.changedAt }
      if state.configuration.content != before.content {
        state.version += 1
        state.newest = [:]
      }
      return true
    }
    if isChanged { producer.changed(self) }
  }

  /// Whether it delivers pictures; if not, it costs nothing and its readers wait.
  package var isEnabled: Bool {
    get { configuration.isEnabled }
    set { update { $0.isEnabled = newValue } }
  }

  /// Takes the place of another preview of the same pictures, and shows none that it might not show.
  package func succeed(_ other: Preview) {
    let since = other.state.withLock { $0.configuration.isEnabled ? $0.shownSince : CaptureClock.now }
    state.update { $0.shownSince = since }
  }

  // MARK: Reading

  /// The pictures as R, G, B, A.
  package var pictures: PreviewFrames { PreviewFrames(self, as: .rgba) }

  /// The pictures as Y'CbCr planes, for JPEGs.
  package func jpegs(subsampling: Picture.ChromaSubsampling = .yuv420) -> PreviewFrames {
    PreviewFrames(self, as: .ycbcr(subsampling))
  }

  /// The pictures as H.264.
  package func video(_ configuration: VideoConfiguration) -> VideoSequence {
    VideoSequence(self, configuration)
  }

  /// Watches them from now on. An encoder that this starts is counted in `counters`, and its bit rate goes down and up as
  /// `control` says. With `passes`, the source's own H.264 will do where the view shows all of it as it is, and the
  /// configuration asks for nothing.
  package func watchVideo(
    _ configuration: VideoConfiguration, passes: Bool, patiently isPatient: Bool = false,
    counting counters: VideoCounters, control: BitrateControl = BitrateControl()
  ) -> VideoWatch {
    videos.watch(
      self, configuration, VideoTimes(control: control), passes: passes, patiently: isPatient,
      counting: counters
    ) {
      VideoEncoder(configuration, counting: counters, within: producer.budget)
    }
  }

  /// The format of the encoder that runs with a configuration; nil if none does.
  package func videoFormat(_ configuration: VideoConfiguration) -> H264Format? {
    videos.running(configuration)?.format
  }

  /// The bit rate that it uses now, at most that of the configuration; nil likewise.
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

  /// The view of `configuration`.
  ///
  /// - Throws: `SessionError` if the preview was added as something else.
  func view(of configuration: PreviewConfiguration) throws(SessionError) -> ViewConfiguration {
    guard let view = configuration.view else { throw SessionError("preview '\(name)' is a scene") }
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

  /// Whether another node makes its pictures, and decides what they may show.
  package var isOfAnotherNode: Bool { producer.endedConnections != nil }

  /// Whether its pictures may be shown now.
  var isShown: Bool { state.withLock { $0.configuration.isEnabled && !$0.isRemoved } }

  /// Whether a picture that was captured then may be shown: none of the time in which it was disabled.
  func shows(_ time: CaptureInstant) -> Bool {
    state.withLock { state in state.shownSince.map { time >= $0 } ?? true }
  }

  /// Whether its videos may show its source's own H.264 from what was captured at `time` on.
  func passesVideo(since time: CaptureInstant) -> Bool {
    state.withLock { $0.configuration.passesVideo && !$0.isRemoved && time >= $0.changedAt }
  }

  /// The last picture of a format, unless the preview has changed since.
  func newest(_ format: Picture.Format) -> RenderedPicture? { state.withLock { $0.newest[format] } }

  /// Keeps a picture for the next reader, unless the content has changed meanwhile.
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

  /// Returns when the configuration differs from `configuration`, at `deadline`, or when the task is cancelled.
  func waitForChange(from configuration: PreviewConfiguration, until deadline: CaptureInstant?) async {
    _ = try? await state.first(until: deadline) { state in
      state.isRemoved || state.configuration != configuration ? true : nil
    }
  }
}

/// What a preview shows: a version of the view, through one connection. A kept picture is shown only while its subject is the
/// preview's.
package struct PreviewSubject: Sendable, Hashable {
  /// Counts the changes of the view.
  let version: Int?
  /// Counts the connections.
  let connection: Int

  /// The subject of a picture that was asked for when this was the preview's.
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
  /// Waits for a picture of `preview` that differs from `key`; nil at the end. With `passes`, it may be a camera's own
  /// JPEG.
  ///
  /// - Throws: `PreviewIsDisabled` if the preview is disabled meanwhile.
  func next(_ preview: Preview, _ format: Picture.Format, after key: PictureKey?, passes: Bool) async throws
    -> PreviewPicture?
  func changed(_ preview: Preview)
  func readerCame(_ preview: Preview)
  func readerWent(_ preview: Preview)
  /// The readers of its source that show every picture; nil for a scene, which reads its sources itself.
  var eagerReaders: EagerReaders? { get }
  /// The ends of its source's connections; nil where they end nothing.
  var endedConnections: EndedConnections? { get }
  /// What its pictures and their encoders count against; nil for nothing.
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

  /// Says whether it shows every picture.
  func setEager(_ isEager: Bool) {
    guard self.isEager.exchange(isEager, ordering: .relaxed) != isEager else { return }
    if isEager { preview.producer.eagerReaders?.come() } else { preview.producer.eagerReaders?.go() }
  }
}

/// The pictures of a preview, one after another.
public struct PreviewFrames: AsyncSequence, Sendable {
  private let preview: Preview
  private let format: Picture.Format

  package init(_ preview: Preview, as format: Picture.Format) {
    self.preview = preview
    self.format = format
  }

  /// Creates an iterator with its own pace.
  public func makeAsyncIterator() -> Iterator { Iterator(preview, format) }

  /// Requests pictures.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let preview: Preview
    private let format: Picture.Format
    private var reading: PreviewReading?
    private var last: PictureKey?
    private var pace = Pace()

    /// Makes the next picture the current one, even if it was returned before.
    mutating func forget() { last = nil }

    init(_ preview: Preview, _ format: Picture.Format) {
      self.preview = preview
      self.format = format
    }

    /// Waits for the newest picture that this iterator has not returned yet.
    public mutating func next() async throws -> RenderedPicture? {
      guard case .drawn(let picture) = try await nextPicture(passes: false) else { return nil }
      return picture
    }

    /// The same; with `passes`, a camera's own JPEG will do where the view shows just that.
    package mutating func nextPicture(passes: Bool) async throws -> PreviewPicture? {
      while true {
        try Task.checkCancellation()
        let current = preview.current
        guard !current.isRemoved else { return end() }
        guard current.configuration.isEnabled else {
          // A reader of a disabled preview does not keep the camera open.
          reading = nil
          await preview.waitForChange(from: current.configuration, until: nil)
          continue
        }
        if reading == nil { reading = PreviewReading(preview) }
        if let due = pace.due(every: current.configuration.updateEvery), due > CaptureClock.now,
          last?.version == current.version
        {
          await preview.waitForChange(from: current.configuration, until: due)
          continue
        }
        let next: PreviewPicture?
        do {
          next = try await preview.producer.next(preview, format, after: last, passes: passes)
        } catch is PreviewIsDisabled {
          continue
        }
        guard let picture = next else { return end() }
        // It may have been disabled while the picture was made.
        guard preview.isEnabled else { continue }
        last = picture.key
        reading?.setEager(
          picture.sourceState == .live && picture.video == nil && current.configuration.updateEvery == .zero)
        pace.took(at: CaptureClock.now, every: current.configuration.updateEvery)
        return picture
      }
    }

    private mutating func end() -> PreviewPicture? {
      reading = nil
      return nil
    }
  }
}
