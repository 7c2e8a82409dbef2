// What is decided of all watchers of a video at once.
internal import PreviewCore

extension VideoFeed.State {
  /// Whether a watcher has lost pictures, and now reads again.
  func isLost(_ watcher: Int) -> Bool {
    watchers[watcher].map { $0.unread.isEmpty && !$0.isPromised } ?? false
  }

  /// Takes back what was not read yet.
  mutating func loseUnread(_ isLost: (VideoWatcher) -> Bool) {
    for (id, watcher) in watchers where !watcher.unread.isEmpty && isLost(watcher) { watchers[id]?.lose() }
  }

  /// Whether no watcher needs the next picture yet. The source keeps what it passes on, and patient watchers read that later.
  var rests: Bool { passed != nil && watchers.values.allSatisfy(\.isContent) }

  /// Whether all watchers are patient.
  var isPatient: Bool { watchers.values.allSatisfy(\.isPatient) }

  mutating func askForKey(_ watcher: Int) {
    guard isLost(watcher) else { return }
    watchers[watcher]?.isPromised = true
    keys.drop()
    control.resumed(watcher, at: CaptureClock.now)
  }
}
