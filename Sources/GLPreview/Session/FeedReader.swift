// The readers of a feed, previews and scenes, and the sizes that they want. They come, change and go without
// waiting for the feed.
internal import Synchronization

struct FeedReader: Sendable {
  /// The preview or scene that reads the source.
  enum Subject: Sendable {
    case preview(Preview)
    case scene(Size?, isCropped: Bool)
  }

  let subject: Subject
  var count = 0

  /// Whether it has a crop, which is in pixels of the source's reference size.
  var isCropped: Bool {
    switch subject {
    case .scene(_, let isCropped): isCropped
    case .preview(let preview): preview.configuration.isCropped
    }
  }

  /// The wanted size in the source's stored orientation; nil if any size will do.
  var wantedSize: Size? {
    switch subject {
    case .scene(let size, _): size
    case .preview(let preview): preview.configuration.view?.wantedSize
    }
  }
}

/// A preview's pictures in one form: drawn once for any number of readers.
struct PictureRequest: Sendable, Hashable {
  let preview: Preview
  let form: PictureForm

  /// Sorts by name, then by format.
  var order: (String, String) { (preview.name, "\(form.format)") }
}

extension SourceFeed {
  nonisolated func changed(_ preview: Preview) {
    if preview.current.isRemoved { previews.withLock { _ = $0.remove(preview) } }
    Task {
      await self.dropUnwanted()
      // The view has changed: a reader that waits for the next frame gets the current one at once.
      await self.serve()
      await self.demandChanged()
    }
  }

  /// A preview's move has made a step. A source that gives new frames shows it with the next one.
  nonisolated func moved(_ preview: Preview) { Task { await self.serveMove() } }

  private func serveMove() async {
    let newest = board.undecoded?.timestamp ?? board.latest?.timestamp
    let isOld = newest.map { CaptureClock.now - $0 > Preview.freshness } ?? false
    if board.isEnded || board.outage != nil || isOld { await serve() }
  }

  /// A preview was added. One with a crop keeps a camera at its reference size, read or not.
  nonisolated func previewCame(_ preview: Preview) {
    previews.withLock { _ = $0.insert(preview) }
    Task { await self.demandChanged() }
  }

  nonisolated func readerCame(_ preview: Preview) {
    readers.withLock {
      $0[ObjectIdentifier(preview), default: FeedReader(subject: .preview(preview))].count += 1
    }
    Task { await self.demandChanged() }
  }

  nonisolated func readerWent(_ preview: Preview) { _ = went(ObjectIdentifier(preview)) }

  /// Adds a scene that shows the source, or updates it. `size` is the size at which it does, if that is
  /// known.
  nonisolated func sceneCame(_ scene: any AnyObject & Sendable, size: Size?, isCropped: Bool) {
    let isNew = readers.withLock { readers in
      let before = readers.updateValue(
        FeedReader(subject: .scene(size, isCropped: isCropped), count: 1), forKey: ObjectIdentifier(scene))
      if before == nil { eagerReaders?.come() }
      return before == nil || before?.wantedSize != size || before?.isCropped != isCropped
    }
    if isNew { Task { await self.demandChanged() } }
  }

  nonisolated func sceneWent(_ scene: any AnyObject & Sendable) {
    if went(ObjectIdentifier(scene)) { eagerReaders?.go() }
  }

  /// Removes one use of a reader. Returns whether the reader was there.
  private nonisolated func went(_ reader: ObjectIdentifier) -> Bool {
    let isKnown = readers.withLock { readers in
      defer { if readers[reader]?.count == 0 { readers[reader] = nil } }
      readers[reader]?.count -= 1
      return readers[reader] != nil
    }
    Task { await self.demandChanged() }
    return isKnown
  }
}
