// The known recordings, including those of earlier runs. At the start only names are read, and the two newest
// files of each view. Other files are read on request, or later in the background.
internal import Dispatch
internal import Logging
internal import Synchronization

extension RecordingFolder {
  /// How many files of earlier runs are read at a time, so that current recordings do not wait.
  private static let readAtOnce = 32

  /// The recordings that overlap a span, the newest first, as far as they are known by now.
  func recordings(of camera: String?, from: WallTime?, to: WallTime?, limit: Int) -> [Recording] {
    catalogue.withLock { $0.recordings.list(of: camera, from: from, to: to, limit: limit) }
  }

  /// The reference size of a camera's newest recording that has one, of those that were read. It may be called
  /// while the catalogue is locked.
  func latestReference(of camera: String) -> Size? { references.withLock { $0[camera]?.size } }

  /// Keeps the reference size of a recording if that is the newest one.
  func learnReference(of recording: Recording) {
    guard let size = recording.note.knownReference else { return }
    references.withLock { references in
      if let known = references[recording.camera], known.start > recording.start { return }
      references[recording.camera] = KnownReference(size: size, start: recording.start)
    }
  }

  /// The wanted recordings of a camera next to a time, as `RecordingCatalogue.around`.
  func around(
    _ time: WallTime, of camera: String, where isWanted: (Recording) -> Bool
  ) -> (before: Recording?, after: Recording?) {
    catalogue.withLock { $0.recordings.around(time, of: camera, where: isWanted) }
  }

  /// The most recordings that are passed over in the search for the nearest ones.
  private static let mostHidden = 100

  /// Returns the recorded times next to a span without a picture, of recordings for which `isShown` is true. None
  /// if too many others are nearer. `isShown` may read the folder.
  func nearest(
    of camera: String, view: String?, from: WallTime, to: WallTime,
    where isShown: (Recording) -> Bool = { _ in true }
  ) -> NearestTimes {
    var hidden: Set<StampedFileName> = []
    while hidden.count < Self.mostHidden {
      let isWanted = { [hidden] (recording: Recording) in
        (view == nil || recording.view == view) && !hidden.contains(recording.name)
      }
      let before = around(from, of: camera, where: isWanted).before
      let after = around(to, of: camera, where: isWanted).after
      let new = [before, after].compactMap(\.self).filter { !isShown($0) }
      if new.isEmpty {
        return NearestTimes(before: before.map { $0.end ?? $0.start }, after: after?.start)
      }
      hidden.formUnion(new.map(\.name))
    }
    return NearestTimes()
  }

  /// The recordings that overlap a span and for which `isWanted` is true, which must not read the catalogue. Those that were not read yet are
  /// read first, a few files at a time.
  func read(
    of camera: String?, from: WallTime?, to: WallTime?, limit: Int,
    where isWanted: (Recording) -> Bool = { _ in true }
  ) async -> [Recording] {
    while true {
      let found = catalogue.withLock { catalogue in
        catalogue.recordings.list(of: camera, from: from, to: to, limit: limit) {
          $0.isUnknown || isWanted($0)
        }
      }
      let unknown = found.filter(\.isUnknown).map(\.name)
      if unknown.isEmpty { return found }
      await onQueue { [self] in inspect(Array(unknown.prefix(Self.readAtOnce))) }
    }
  }

  /// The number of recordings of a camera.
  func count(of camera: String) -> Int {
    catalogue.withLock { $0.recordings.count(of: camera) }
  }

  /// A recording by the path components of its URL.
  func recording(_ folder: String, _ file: String) async -> Recording? {
    guard let name = StampedFileName(camera: folder, file: file, .recording) else { return nil }
    if catalogue.withLock({ $0.recordings[name]?.isUnknown }) == true {
      await onQueue { [self] in inspect([name]) }
    }
    return catalogue.withLock { $0.recordings[name] }
  }

  /// Reads files of earlier runs, and removes those that are not recordings from the catalogue.
  private func inspect(_ names: [StampedFileName]) {
    tryTo("folder not read") { [self] store, _ in inspect(names, in: &store) }
  }

  func inspect(_ names: [StampedFileName], in store: inout FolderStore) {
    var repaired = 0
    for name in names {
      guard let file = catalogue.withLock({ $0.recordings[name] }), file.isUnknown else { continue }
      let known = RecordedBytes.inspect(file, in: &store)
      catalogue.withLock { $0.recordings[name] = known?.0 }
      if let recording = known?.0 { learnReference(of: recording) }
      repaired += known?.isRepaired == true ? 1 : 0
    }
    guard repaired > 0 else { return }
    logger.notice(
      "unfinished recordings repaired", metadata: ["recordings": "\(repaired)"])
  }

  /// Continues reading in the background, a few files at a time, so that current recordings do not wait.
  func readUnread() {
    let names = catalogue.withLock { catalogue in
      let names = Array(catalogue.unread.suffix(Self.readAtOnce))
      catalogue.unread.removeLast(names.count)
      return names
    }
    guard !names.isEmpty else { return }
    inspect(names)
    queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [self] in readUnread() }
  }
}
