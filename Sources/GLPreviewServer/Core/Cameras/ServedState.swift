// The served state: cameras, views and scenes by name, as one value that a reload replaces completely.
internal import HTTPTypes

/// All objects that requests look up by name.
package struct ServedState: Sendable {
  /// In the order of the configuration.
  package var cameras: [ServedCamera] = []
  /// In the order of the configuration.
  package var scenes: [ServedScene] = []
  /// The number of reloads.
  var generation = 0
  /// The number of reloads and of view changes.
  package var changes = 0
}

package struct ServedCamera: Sendable {
  package var configuration: CameraConfiguration
  /// The name of its source in the session. A camera that replaces another one of the same name has its own
  /// source.
  package let source: String
  package var views: [ServedPreview]

  /// Whether every authenticated client may see the whole frame: a view that is not locked shows any part
  /// that its URL requests.
  package var showsAll: Bool { views.contains { $0.served.isEnabled && !$0.served.isLocked } }
}

/// Several cameras in one picture.
package struct ServedScene: Sendable {
  package let configuration: SceneConfiguration
  package let view: ServedPreview
}

/// A view or scene under the name that URLs use.
package struct ServedPreview: Sendable {
  /// The drawn object. Only a view can be changed while it is served.
  enum Content: Sendable {
    case view(ViewPreview)
    case scene(ScenePreview)
  }

  /// The name of the camera or scene.
  package let camera: String
  let content: Content
  package var served: ServedView
  /// The snapshot to give while the camera delivers no frames.
  package let offline: SnapshotRequest.FallbackPolicy
  /// The delay of the camera's snapshot triggers.
  package var triggerDelay = Duration.zero
  /// Counts the moves of the view, and the changes that ended one.
  var moves = 0
  /// Set for a view of another node's camera; nil for the configuration's own views.
  package var remoteView: RemoteView?

  package var name: String { served.view.name }
  var isScene: Bool { source == nil }

  /// The name of the camera's source in the session; nil for a scene.
  package var source: String? { if case .view(let view) = content { view.source } else { nil } }

  package var preview: Preview {
    switch content {
    case .view(let view): view.preview
    case .scene(let scene): scene.preview
    }
  }
}

extension ViewPreview {
  /// Applies the configuration of the view. Frames from before a view was locked are not drawn as it showed them.
  func show(_ served: ServedView) {
    show(
      served.view, isEnabled: served.isEnabled, keepsReferenceSize: served.isLocked,
      takesReduced: served.decode == .fast, updateEvery: served.updateEvery, keepsMoves: !served.isLocked)
  }
}

extension ServedState {
  package subscript(camera name: String) -> ServedCamera? { cameras.first { $0.configuration.name == name } }

  package subscript(scene name: String) -> ServedScene? { scenes.first { $0.configuration.name == name } }

  /// The names of all cameras and scenes.
  package var names: Set<String> { Set(cameras.map(\.configuration.name) + scenes.map(\.configuration.name)) }

  /// Returns the views of a camera, or the single view of a scene.
  ///
  /// - Throws: `Problem` 404.
  func views(of name: String) throws(Problem) -> [ServedPreview] {
    if let camera = self[camera: name] { return camera.views }
    if let scene = self[scene: name] { return [scene.view] }
    throw unknown(name)
  }

  /// 404 for a name of neither a camera nor a scene.
  func unknown(_ name: String) -> Problem {
    let names = (cameras.map(\.configuration.name) + scenes.map(\.configuration.name))
      .joined(separator: ", ")
    return .notFound("no camera '\(name)' (known: \(names))")
  }

  /// Returns a view of a camera or scene. A nil name means the first one.
  ///
  /// - Throws: `Problem` 404.
  func view(_ view: String?, of camera: String?) throws(Problem) -> ServedPreview {
    let camera = camera ?? cameras.first?.configuration.name ?? ""
    let views = try views(of: camera)
    guard let found = views.first(where: { view == nil || $0.name == view }) else {
      let names = views.map(\.name).joined(separator: ", ")
      throw .notFound("camera '\(camera)' has no view '\(view ?? "")' (known: \(names))")
    }
    return found
  }

  /// Changes a view. With `endsMove`, a move that is under way ends at its target.
  ///
  /// - Throws: `Problem` 404, and the errors of `change`; nothing is changed then.
  mutating func update(
    _ view: String, of camera: String, endsMove: Bool = false,
    _ change: (inout ServedView) throws(Problem) -> Void
  ) throws(Problem) -> ServedPreview {
    try changed(view, of: camera) { entry, preview throws(Problem) in
      try change(&entry.served)
      preview.show(entry.served)
      guard endsMove else { return }
      preview.preview.endMoves()
      entry.moves += 1
    }
  }

  /// Moves a view to the pose that `target` returns; nil stops it where it is.
  ///
  /// - Throws: `Problem` 404, 409 if its field of view is needed and unknown, and the errors of `target`; nothing is
  ///   changed then.
  mutating func move(
    _ view: String, of camera: String, over duration: Duration,
    to target: (ServedPreview) throws(Problem) -> LensPose?
  ) throws(Problem) -> (entry: ServedPreview, begun: BegunMove) {
    var begun: BegunMove?
    let entry = try changed(view, of: camera) { entry, preview throws(Problem) in
      let pose = try target(entry)
      do throws(ParameterError) {
        let move =
          if let pose {
            try preview.preview.move(to: pose, over: duration)
          } else {
            try preview.preview.stopMove()
          }
        entry.served.view.projection = preview.view.projection
        if pose != nil || move.supersedes { entry.moves += 1 }
        begun = move
      } catch {
        throw Problem(.conflict, error.reason)
      }
    }
    guard let begun else { throw Problem(.internalServerError, "nothing was moved") }
    return (entry, begun)
  }

  private mutating func changed(
    _ view: String, of camera: String, _ change: (inout ServedPreview, ViewPreview) throws(Problem) -> Void
  ) throws(Problem) -> ServedPreview {
    var entry = try self.view(view, of: camera)
    guard case .view(let preview) = entry.content,
      let index = cameras.firstIndex(where: { $0.configuration.name == camera }),
      let place = cameras[index].views.firstIndex(where: { $0.name == view })
    else { throw Problem(.conflict, "a scene can be changed only in the configuration") }
    try change(&entry, preview)
    cameras[index].views[place] = entry
    changes += 1
    return entry
  }
}

extension ServedView {
  /// - Throws: `Problem` 403 if the view is locked.
  func checkLock(of camera: String) throws(Problem) {
    guard isLocked else { return }
    throw Problem(
      .forbidden, "view '\(view.name)' of '\(camera)' is locked: only the configuration can change it")
  }
}

extension ServedView {
  /// The settings that tell two requests for a view apart: without the pose if that is the pose of the served view,
  /// which moves.
  package var subject: ViewConfiguration { setsPose ? view : view.unposed }
}

extension ServedPreview {
  /// Returns a view that a request asks for as it is drawn at a time: it moves with this one unless it has a pose of
  /// its own.
  func posed(_ wanted: ServedView, at time: CaptureInstant) -> ViewConfiguration {
    wanted.setsPose ? wanted.view : preview.posed(wanted.view, at: time)
  }

  /// Whether a request asks for the view as it is served.
  package func serves(_ wanted: ServedView) -> Bool { wanted.view == served.view && !wanted.setsPose }
}

extension Problem {
  /// 409 for a view that is switched off.
  package static func switchedOff(_ target: ServedPreview) -> Problem {
    Problem(.conflict, "view '\(target.name)' of '\(target.camera)' is switched off")
  }

  /// 400 for a snapshot of a scene at an earlier time.
  static func momentOfScene() -> Problem {
    .badParameter("at", "a scene has no replay buffer: use its cameras")
  }

  /// 503 for a view that was replaced or locked since it was looked up.
  package static func reconfigured(_ target: ServedPreview) -> Problem {
    .busy(.serviceUnavailable, "the configuration of '\(target.camera)' has just changed", retryAfter: 1)
  }
}
