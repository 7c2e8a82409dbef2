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
  /// Applies the configuration of the view.
  func show(_ served: ServedView) {
    show(
      served.view, isEnabled: served.isEnabled, keepsReferenceSize: served.isLocked,
      takesReduced: served.decode == .fast, updateEvery: served.updateEvery)
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

  /// Changes a view.
  ///
  /// - Throws: `Problem` 404, and the errors of `change`; nothing is changed then.
  mutating func update(
    _ view: String, of camera: String, _ change: (inout ServedView) throws(Problem) -> Void
  ) throws(Problem) -> ServedPreview {
    var entry = try self.view(view, of: camera)
    guard case .view(let preview) = entry.content,
      let index = cameras.firstIndex(where: { $0.configuration.name == camera }),
      let place = cameras[index].views.firstIndex(where: { $0.name == view })
    else { throw Problem(.conflict, "a scene can be changed only in the configuration") }
    try change(&entry.served)
    preview.show(entry.served)
    cameras[index].views[place] = entry
    changes += 1
    return entry
  }
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
