// The work of a session. Previews and triggers hold no reference to their session, so that a released session
// ends.
internal import Synchronization

/// A session's sources, previews and drawing.
final class SessionCore: Sendable {
  let counters = SessionCounters()
  let drawing: SessionDrawing
  let activity = SourceActivity()
  /// Scenes look up their sources here, and hold no reference to the session.
  private let feeds = FeedDirectory()
  private let linger: Duration
  private let replacedCloseWithin: Duration
  private let state = Mutex(State())

  private struct State {
    var previews: [Preview] = []
    var isClosed = false
    var closing: Task<Void, Never>?
  }

  init(_ sources: [SessionSource], _ options: PreviewSession.Options) throws(SessionError) {
    linger = options.linger
    replacedCloseWithin = options.replacedCloseWithin
    drawing = SessionDrawing(
      on: options.gpu, options.text, maximumPixels: options.maximumPixels, within: options.budget,
      counting: counters, onRender: options.onRender, onEncode: options.onEncode,
      primesPrograms: options.primesPrograms, renderers: options.renderers)
    for source in sources { try add(source) }
  }

  // MARK: Sources

  /// The sources, in the order in which they were added.
  var sources: [SessionSource] { feeds.all.map(\.source) }

  var firstSource: String { feeds.all.first?.source.name ?? "" }

  /// The feed of a source, by default of the first.
  func feed(_ name: String?) -> SourceFeed? { if let name { feeds[name] } else { feeds.all.first } }

  func add(_ source: SessionSource, after others: [String] = []) throws(SessionError) {
    guard !source.name.isEmpty else { throw SessionError("a source has no name") }
    let feed = SourceFeed(
      source, ViewDrawing(on: drawing, of: source), linger: linger, counting: counters,
      after: others.compactMap { feeds[$0] }, within: replacedCloseWithin, noting: activity)
    guard try feeds.add(feed) else { throw SessionError("two sources are called '\(source.name)'") }
    activity.note([source.name])
    if source.staysOpen { Task { await feed.warmUp() } }
    for scene in previews.compactMap(\.sceneFeed) { Task { await scene.sourcesChanged() } }
  }

  /// Removes a source and its previews. It is closed when this returns.
  func removeSource(_ name: String) async {
    for preview in previews where preview.sourceName == name { remove(preview) }
    await feeds.remove(name)?.close()
    activity.forget(name)
  }

  // MARK: Previews

  var previews: [Preview] { state.withLock { $0.previews } }

  func add(
    _ name: String, _ configuration: PreviewConfiguration, counting gpuTime: GPUTime = GPUTime()
  ) throws(SessionError) -> Preview {
    do throws(ParameterError) { try ViewConfiguration.check(name: name) } catch {
      throw SessionError("\(error)")
    }
    let producer: any PictureProducer
    switch configuration.content {
    case .view(_, let source):
      guard let feed = feeds[source] else { throw unknown(source) }
      producer = feed
    case .scene(let content):
      if let missing = content.sourceNames.sorted().first(where: { feeds[$0] == nil }) {
        throw unknown(missing)
      }
      producer = SceneFeed(on: drawing) { [feeds] in feeds[$0] }
    }
    let preview = Preview(name: name, configuration, of: producer, counting: gpuTime)
    try state.withLock { state throws(SessionError) in
      guard !state.isClosed else { throw SessionError("the session is closed") }
      guard !state.previews.contains(where: { $0.name == name }) else {
        throw SessionError("preview '\(name)' already exists")
      }
      state.previews.append(preview)
      // Under the lock, so that a removal can only come after it.
      (producer as? SourceFeed)?.previewCame(preview)
    }
    return preview
  }

  private func unknown(_ source: String) -> SessionError {
    let names = sources.map(\.name).joined(separator: ", ")
    return SessionError("no source '\(source)' (known: \(names))")
  }

  func remove(_ preview: Preview) {
    let isThere = state.withLock { state in
      let count = state.previews.count
      state.previews.removeAll { $0 === preview }
      return state.previews.count < count
    }
    guard isThere else { return }
    preview.end()
    if let scene = preview.sceneFeed { Task { await scene.close() } }
  }

  // MARK: The end

  /// Ends everything without waiting.
  func end() { _ = closing() }

  /// Ends everything and waits for it. Can be called repeatedly.
  func close() async { await closing().value }

  private func closing() -> Task<Void, Never> {
    state.withLock { state in
      if let closing = state.closing { return closing }
      let closing = Task { [previews = state.previews] in await self.close(previews) }
      (state.previews, state.isClosed, state.closing) = ([], true, closing)
      return closing
    }
  }

  private func close(_ previews: [Preview]) async {
    for preview in previews { preview.end() }
    await withTaskGroup(of: Void.self) { group in
      for scene in previews.compactMap(\.sceneFeed) { group.addTask { await scene.close() } }
      for feed in feeds.end() { group.addTask { await feed.close() } }
    }
    await drawing.end()
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }
}

/// The feeds of a session's sources, by name. Sources come and go while it runs.
final class FeedDirectory: Sendable {
  private let state = Mutex(State())

  private struct State {
    var feeds: [SourceFeed] = []
    var byName: [String: SourceFeed] = [:]
    var isClosed = false
  }

  /// The feeds, in the order in which they were added.
  var all: [SourceFeed] { state.withLock { $0.feeds } }

  subscript(name: String) -> SourceFeed? { state.withLock { $0.byName[name] } }

  /// Adds a feed; false if the name is taken.
  ///
  /// - Throws: `SessionError` after `end()`.
  func add(_ feed: SourceFeed) throws(SessionError) -> Bool {
    try state.withLock { state throws(SessionError) in
      guard !state.isClosed else { throw SessionError("the session is closed") }
      guard state.byName[feed.source.name] == nil else { return false }
      state.feeds.append(feed)
      state.byName[feed.source.name] = feed
      return true
    }
  }

  func remove(_ name: String) -> SourceFeed? {
    state.withLock { state in
      guard let feed = state.byName.removeValue(forKey: name) else { return nil }
      state.feeds.removeAll { $0 === feed }
      return feed
    }
  }

  /// Returns all feeds; no more can be added.
  func end() -> [SourceFeed] {
    state.withLock { state in
      state.isClosed = true
      return state.feeds
    }
  }
}
