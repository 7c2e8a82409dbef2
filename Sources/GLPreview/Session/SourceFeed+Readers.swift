// The reader side of a feed: previews and scenes come, change and go without waiting for it.
internal import PreviewCore
internal import Synchronization

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

  /// A preview was added. One with a crop keeps a camera at its reference size, read or not.
  nonisolated func previewCame(_ preview: Preview) {
    previews.withLock { _ = $0.insert(preview) }
    Task { await self.demandChanged() }
  }

  nonisolated func readerCame(_ preview: Preview) {
    readers.withLock { $0[ObjectIdentifier(preview), default: FeedReader(.preview(preview))].count += 1 }
    Task { await self.demandChanged() }
  }

  nonisolated func readerWent(_ preview: Preview) { _ = went(ObjectIdentifier(preview)) }

  /// A scene shows the source, in `size` if that is known, or with a crop.
  nonisolated func sceneCame(_ scene: any AnyObject & Sendable, size: Size?, isCropped: Bool) {
    let isNew = readers.withLock { readers in
      let before = readers.updateValue(
        FeedReader(.scene(size, isCropped: isCropped), count: 1), forKey: ObjectIdentifier(scene))
      if before == nil { eagerReaders?.come() }
      return before == nil || before?.wantedSize != size || before?.isCropped != isCropped
    }
    if isNew { Task { await self.demandChanged() } }
  }

  nonisolated func sceneWent(_ scene: any AnyObject & Sendable) {
    if went(ObjectIdentifier(scene)) { eagerReaders?.go() }
  }

  /// Whether it was there.
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
