// One preview of a running session, for who shows it: change it at any time, read it from as many places as you like.
public import PreviewCore

/// Pictures of a source, or of a scene, for as long as somebody reads them.
///
/// ```swift
/// let preview = try session.addPreview(ViewConfiguration(width: 640, height: 360))
/// for try await frame in preview.jpegs() { show(try await frame.jpeg().bytes) }
/// ```
public final class Preview: Sendable {
  /// By which the session knows it.
  public let name: String
  /// Of a view; nil for a scene.
  let sourceName: String?
  private let producer: any PictureProducer
  private let state: Watched<State>

  private struct State {
    var configuration: PreviewConfiguration
    /// Counts the changes of what is seen.
    var version = 0
    var isRemoved = false
    var newest: [PictureFormat: RenderedPicture] = [:]
  }

  init(name: String, _ configuration: PreviewConfiguration, of producer: any PictureProducer) {
    self.name = name
    self.producer = producer
    sourceName = if case .view(_, let source) = configuration.content { source } else { nil }
    state = Watched(State(configuration: configuration))
  }

  // MARK: What is seen

  /// How it is. A change holds from the next picture on, as a whole; what is wrong with it is thrown to who reads: also
  /// that a view is to be one of another source, or a scene, which it can't become.
  public var configuration: PreviewConfiguration {
    get { state.withLock { $0.configuration } }
    set { update { $0 = newValue } }
  }

  /// Changes several things at once: no picture shows only some of them. `change` may not ask the preview itself; the
  /// view's name stays the preview's.
  public func update(_ change: (inout PreviewConfiguration) -> Void) {
    let isChanged = state.update { state in
      let before = state.configuration
      change(&state.configuration)
      state.configuration.view?.name = name
      guard state.configuration != before else { return false }
      if state.configuration.content != before.content {
        state.version += 1
        state.newest = [:]
      }
      return true
    }
    if isChanged { producer.changed(self) }
  }

  /// Whether it gives pictures; one that does not costs nothing.
  public var isEnabled: Bool {
    get { configuration.isEnabled }
    set { update { $0.isEnabled = newValue } }
  }

  /// The shortest time between two pictures.
  public var updateEvery: Duration {
    get { configuration.updateEvery }
    set { update { $0.updateEvery = newValue } }
  }

  /// In pixels; nil follows the source.
  public var preferredSize: Size? {
    get { configuration.preferredSize }
    set { update { $0.preferredSize = newValue } }
  }

  /// What becomes of a source of another shape; of a view.
  public var contentMode: ContentMode? {
    get { configuration.view?.contentMode }
    set { update { if let newValue { $0.view?.contentMode = newValue } } }
  }

  /// In the upright source's pixels, nil for all of it; of a view.
  public var crop: Rectangle? {
    get { configuration.view?.crop }
    set { update { $0.view?.crop = newValue } }
  }

  /// Clockwise; of a view.
  public var rotation: Rotation? {
    get { configuration.view?.rotation }
    set { update { if let newValue { $0.view?.rotation = newValue } } }
  }

  /// After rotation; of a view.
  public var mirroring: Mirroring? {
    get { configuration.view?.mirroring }
    set { update { if let newValue { $0.view?.mirroring = newValue } } }
  }

  // MARK: Reading

  /// Its pictures as R, G, B, A. Each is the newest when it is asked for: a slow reader skips pictures and delays nobody.
  ///
  /// The loop ends when the preview is removed, the session closed, or a source that has an end is at it. It throws where
  /// the configuration can't be drawn (`WordError`, `SessionError`), the source can't be opened or is given
  /// up (`SourceError`), or there is no GPU. A frame that can't be had is no end: a outage says why until one can.
  public var pictures: PreviewFrames { PreviewFrames(self, as: .rgba) }

  /// The same as Y'CbCr planes, whose `jpeg()` is what is wanted.
  public func jpegs(subsampling: ChromaSubsampling = .yuv420) -> PreviewFrames {
    PreviewFrames(self, as: .ycbcr(subsampling))
  }

  // MARK: For the session

  /// What a picture made now would show.
  var current: (configuration: PreviewConfiguration, version: Int, isRemoved: Bool) {
    state.withLock { ($0.configuration, $0.version, $0.isRemoved) }
  }

  /// The view that it shows where it is as `configuration` says.
  ///
  /// - Throws: `SessionError` where it was added as something else.
  func view(of configuration: PreviewConfiguration) throws(SessionError) -> ViewConfiguration {
    guard case .view(let view, let source) = configuration.content, source == sourceName else {
      throw mismatch
    }
    return view
  }

  /// The scene that it shows.
  ///
  /// - Throws: `SessionError` where it was added as a view.
  func scene(of configuration: PreviewConfiguration) throws(SessionError) -> Scene {
    guard case .scene(let scene) = configuration.content, sourceName == nil else { throw mismatch }
    return scene
  }

  private var mismatch: SessionError {
    let kind = sourceName.map { "a view of '\($0)'" } ?? "a scene"
    return SessionError("preview '\(name)' is \(kind) and can't become anything else; add another one")
  }

  /// The last picture of a format, unless the preview has changed since.
  func newest(_ format: PictureFormat) -> RenderedPicture? { state.withLock { $0.newest[format] } }

  /// Keeps a picture for who asks next, unless the preview has changed meanwhile.
  func keep(_ rendered: RenderedPicture, as format: PictureFormat) {
    state.withLock { state in
      if state.version == rendered.key.version, !state.isRemoved { state.newest[format] = rendered }
    }
  }

  /// No more pictures come.
  func end() {
    state.update { state in
      state.isRemoved = true
      state.newest = [:]
    }
    producer.changed(self)
  }

  func addReader() -> PreviewReading { PreviewReading(of: producer, self) }

  func next(_ format: PictureFormat, after key: PictureKey?) async throws -> RenderedPicture? {
    try await producer.next(self, format, after: key)
  }

  /// Returns when something was changed after `configuration` was read, at `deadline`, or when the task is cancelled.
  func waitForChange(from configuration: PreviewConfiguration, until deadline: Duration?) async {
    _ = try? await state.first(until: deadline) { state in
      state.isRemoved || state.configuration != configuration ? true : nil
    }
  }
}

/// What makes previews' pictures: a source, or a scene.
protocol PictureProducer: Sendable {
  /// A picture of `preview` that shows something else than `key` does; waits for it. Nil at the end.
  ///
  /// - Throws: `PreviewIsDisabled` where that comes meanwhile.
  func next(_ preview: Preview, _ format: PictureFormat, after key: PictureKey?) async throws
    -> RenderedPicture?
  /// The preview's configuration is another one.
  func changed(_ preview: Preview)
  /// Somebody begins to read.
  func readerCame(_ preview: Preview)
  /// Somebody has ended reading.
  func readerWent(_ preview: Preview)
}

/// Somebody reads a preview, for as long as this is there.
final class PreviewReading: Sendable {
  private let producer: any PictureProducer
  private let preview: Preview

  init(of producer: any PictureProducer, _ preview: Preview) {
    self.producer = producer
    self.preview = preview
    producer.readerCame(preview)
  }

  deinit { producer.readerWent(preview) }
}

/// A preview's pictures, one after another.
public struct PreviewFrames: AsyncSequence, Sendable {
  private let preview: Preview
  private let format: PictureFormat

  init(_ preview: Preview, as format: PictureFormat) {
    self.preview = preview
    self.format = format
  }

  /// Each iterator has its own pace.
  public func makeAsyncIterator() -> Iterator { Iterator(preview, format) }

  /// Asks for pictures.
  public struct Iterator: AsyncIteratorProtocol {
    private let preview: Preview
    private let format: PictureFormat
    private var reading: PreviewReading?
    private var last: PictureKey?
    private var pace = Pace()

    init(_ preview: Preview, _ format: PictureFormat) {
      self.preview = preview
      self.format = format
    }

    /// The newest picture that this iterator has not given; waits for it.
    public mutating func next() async throws -> RenderedPicture? {
      while true {
        try Task.checkCancellation()
        let current = preview.current
        guard !current.isRemoved else { return end() }
        guard current.configuration.isEnabled else {
          // Who waits for a preview that is off does not hold the camera.
          reading = nil
          await preview.waitForChange(from: current.configuration, until: nil)
          continue
        }
        if reading == nil { reading = preview.addReader() }
        if let due = pace.due(every: current.configuration.updateEvery), due > CaptureClock.now,
          last?.version == current.version
        {
          await preview.waitForChange(from: current.configuration, until: due)
          continue
        }
        let next: RenderedPicture?
        do { next = try await preview.next(format, after: last) } catch is PreviewIsDisabled { continue }
        guard let rendered = next else { return end() }
        // It may have been switched off while the picture was made.
        guard preview.isEnabled else { continue }
        last = rendered.key
        pace.took(at: CaptureClock.now, every: current.configuration.updateEvery)
        return rendered
      }
    }

    private mutating func end() -> RenderedPicture? {
      reading = nil
      return nil
    }
  }
}
