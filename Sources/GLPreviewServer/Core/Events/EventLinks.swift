// The links in messages of webhooks and MQTT: each shows the picture of its event, and no other.

/// Signs links to the pictures of events, if the configuration asks for it.
struct EventLinks: Sendable {
  let access: AccessControl
  /// Whether a camera has a replay buffer, from which a past picture can be had.
  let hasReplay: @Sendable (_ camera: String) -> Bool

  static let member = "link"

  /// Returns the link to the picture of a motion event.
  func link(to event: MotionEvent, of camera: String) -> String? {
    let since = WallTime(capturedAt: event.start).secondsText
    return signed("/api/cameras/\(camera)/motion/\(event.number).jpg?since=\(since)")
  }

  /// Returns the link to a picture of a snapshot; nil if its camera has no replay buffer.
  func link(to snapshot: Snapshot, view: String) -> String? {
    guard hasReplay(snapshot.camera) else { return nil }
    return signed("/cameras/\(snapshot.camera)/\(view).jpg?at=\(snapshot.time.secondsText)")
  }

  private func signed(_ path: String) -> String? {
    let configuration = access.configuration
    guard let duration = configuration.eventLinks, let base = configuration.publicURL,
      let signed = try? access.sign(path, for: duration)
    else { return nil }
    return base.text + signed.path
  }
}
