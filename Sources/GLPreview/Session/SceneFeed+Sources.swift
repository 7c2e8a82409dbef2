// A scene's sources: the scene follows them while it is read.
internal import Synchronization

/// A source and its last event.
struct FollowedSource {
  let feed: SourceFeed
  /// The number of this subscription: events of an earlier one for the same source are ignored.
  let number: Int
  let task: Task<Void, Never>
  let history: FrameHistory
  var event: FeedEvent?
  var failure: Outage?
  var isOver = false
}

extension SceneFeed {
  /// How soon a source that can't be opened is retried.
  private static let retriesAfter = Duration.seconds(1)

  /// Follows exactly the sources that the scene has now.
  func follow(_ preview: Preview) {
    guard let scene = preview.configuration.scene else { return }
    let names = scene.sourceNames
    for (name, follower) in followed where !names.contains(name) || follower.feed !== feeds(name) {
      leave(name)
    }
    let (sizes, cropped) = (scene.tileSizes, scene.croppedSources)
    for name in names {
      if let follower = followed[name] {
        follower.feed.sceneCame(self, size: sizes[name], isCropped: cropped.contains(name))
        follower.history.keep(for: scene.longestDelay(of: name))
        continue
      }
      guard let feed = feeds(name) else { continue }
      feed.sceneCame(self, size: sizes[name], isCropped: cropped.contains(name))
      let history = FrameHistory()
      history.keep(for: scene.longestDelay(of: name))
      followings += 1
      let number = followings
      let task = Task { [weak self] in
        while !Task.isCancelled {
          do {
            var last: FeedEvent?
            while let event = try await feed.event(after: last?.key, isOver: last?.isLast ?? false) {
              guard await self?.saw(event, of: name, number) == true else { return }
              last = event
            }
            return await self?.ended(name, number) ?? ()
          } catch {
            await self?.lost(name, number, "\(error)")
            try? await pause(Self.retriesAfter)
          }
        }
      }
      followed[name] = FollowedSource(feed: feed, number: number, task: task, history: history)
    }
  }

  var isWanted: Bool { !requests.isEmpty || snapshots > 0 }

  private func leave(_ name: String) {
    guard let follower = followed.removeValue(forKey: name) else { return }
    follower.task.cancel()
    follower.feed.sceneWent(self)
  }

  /// Stops following if no one reads the scene, so that the sources may close.
  func rest() {
    guard isClosed || requests.isEmpty && snapshots == 0 && readers.withLock({ $0 }) <= 0 else { return }
    for name in followed.keys { leave(name) }
    drawnChanges = -1
  }

  private func saw(_ event: FeedEvent, of name: String, _ number: Int) -> Bool {
    guard var follower = followed[name], follower.number == number else { return false }
    if follower.failure != nil || follower.event?.key != event.key {
      if let frame = event.frame, event.outage == nil { follower.history.add(frame) }
      changes += 1
    }
    (follower.event, follower.failure, follower.isOver) = (event, nil, event.isLast)
    followed[name] = follower
    wake()
    return true
  }

  private func lost(_ name: String, _ number: Int, _ reason: String) {
    guard let follower = followed[name], follower.number == number, follower.failure?.reason != reason else {
      return
    }
    followed[name]?.failure = Outage(.lost, reason: reason, sinceCapture: CaptureClock.now)
    changes += 1
    wake()
  }

  /// The source was removed from the session.
  private func ended(_ name: String, _ number: Int) {
    guard let follower = followed[name], follower.number == number else { return }
    leave(name)
    sourcesChanged()
  }

  /// Sources were added or removed.
  func sourcesChanged() {
    guard let preview, !isClosed, isWanted else { return }
    follow(preview)
    changes += 1
    wake()
  }
}
