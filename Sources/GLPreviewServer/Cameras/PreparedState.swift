// A reload in the making: what the session needs for another configuration, beside all that is being served.
internal import GLPreview

/// What another configuration adds to a session, under names that nobody asks for yet; given up, it leaves no trace.
struct PreparedState: Sendable {
  let configuration: ServerConfiguration
  /// What was being served when it was made.
  let base: ServedState
  /// The names, in the session, of cameras' sources; of those that are the same, what they had.
  private(set) var sources: [String: String] = [:]
  /// The cameras whose sources are new.
  private(set) var newCameras: [CameraConfiguration] = []
  /// Previews for views and scenes that were not there, in order.
  private var newViews: [ViewKey: Preview] = [:]
  private var newScenes: [String: Preview] = [:]

  private struct ViewKey: Hashable {
    let camera: String
    let view: String
  }

  /// What a swap leaves behind: nobody finds it any more.
  struct Remains: Sendable {
    var cameras: [ServedCamera] = []
    var previews: [Preview] = []
  }

  init(_ configuration: ServerConfiguration, from base: ServedState) {
    self.configuration = configuration
    self.base = base
    for camera in configuration.cameras {
      if let old = base[camera: camera.name], old.configuration.isSameSource(as: camera) {
        sources[camera.name] = old.source
      }
    }
  }

  /// The cameras that need a source.
  var missingCameras: [CameraConfiguration] { configuration.cameras.filter { sources[$0.name] == nil } }

  /// The sources of cameras that go.
  private var goingCameras: [ServedCamera] {
    base.cameras.filter { !sources.values.contains($0.source) }
  }

  /// Takes the sources of the missing cameras.
  ///
  /// - Parameters:
  ///   - made: in the order of `missingCameras`.
  ///   - add: adds one to the session, which replaces others.
  /// - Throws: what `add` throws; what was added before is to be given up.
  mutating func take(
    _ made: [SessionSource], add: (SessionSource, _ replacing: [String]) throws -> Void = { _, _ in }
  ) rethrows {
    for (camera, source) in zip(missingCameras, made) {
      // Of the same name or at the same device: it is to be closed before this one opens.
      let others = goingCameras.filter {
        $0.configuration.name == camera.name || $0.configuration.source == camera.source
      }
      try add(source, others.map(\.source))
      sources[camera.name] = source.name
      newCameras.append(camera)
    }
  }

  /// Adds previews of the views and scenes that are not there.
  ///
  /// - Throws: `SessionError`; what was added before is to be given up.
  mutating func addPreviews(to session: PreviewSession, naming nextName: () -> String) throws(SessionError) {
    for camera in configuration.cameras {
      for view in camera.views where keptView(view.view.name, of: camera, in: base) == nil {
        let preview = try session.addPreview(
          view.view.named(nextName()), of: sources[camera.name], updateEvery: view.updateEvery)
        preview.update { configuration in
          configuration.isEnabled = view.isEnabled
          configuration.keepsReferenceSize = view.isLocked
        }
        newViews[ViewKey(camera: camera.name, view: view.view.name)] = preview
      }
    }
    for scene in configuration.scenes where keptScene(scene, in: base) == nil {
      newScenes[scene.name] = try session.addScene(
        scene.scene.renamed(sources), name: nextName(), updateEvery: scene.served.updateEvery)
    }
  }

  /// Takes out what was added.
  func giveUp(in session: PreviewSession) {
    for preview in Array(newScenes.values) + Array(newViews.values) { session.remove(preview) }
    for source in newCameras.compactMap({ sources[$0.name] }) { Task { await session.removeSource(source) } }
  }

  /// What is served by the new configuration, and what is not any more; `current` is `base`, apart from views that were
  /// changed meanwhile.
  func swapped(_ current: ServedState) -> (state: ServedState, remains: Remains) {
    var state = ServedState(generation: current.generation + 1)
    for camera in configuration.cameras {
      guard let source = sources[camera.name] else { continue }
      let views = camera.views.compactMap { view in
        keptView(view.view.name, of: camera, in: current).map { kept in
          // What was changed while it ran stays, unless the file says something new.
          let isTold = current[camera: camera.name]?.configuration.views.contains(view) != true
          return ServedPreview(
            camera: camera.name, source: source, served: isTold ? view : kept.served, preview: kept.preview,
            offline: camera.offline)
        }
          ?? newViews[ViewKey(camera: camera.name, view: view.view.name)].map {
            ServedPreview(
              camera: camera.name, source: source, served: view, preview: $0, offline: camera.offline)
          }
      }
      state.cameras.append(ServedCamera(configuration: camera, source: source, views: views))
    }
    for scene in configuration.scenes {
      if let kept = keptScene(scene, in: current) {
        state.scenes.append(kept)
      } else if let preview = newScenes[scene.name] {
        let view = ServedPreview(
          camera: scene.name, source: nil, served: scene.served, preview: preview, offline: .placeholder)
        state.scenes.append(ServedScene(configuration: scene, view: view))
      }
    }
    let kept = state.previews
    return (
      state,
      Remains(
        cameras: goingCameras,
        previews: current.previews.filter { old in !kept.contains { $0 === old } })
    )
  }

  /// A view that is there already, of a camera that is the same.
  private func keptView(_ view: String, of camera: CameraConfiguration, in state: ServedState)
    -> ServedPreview?
  {
    guard let old = state[camera: camera.name], old.source == sources[camera.name] else { return nil }
    return old.views.first { $0.name == view }
  }

  /// A scene that is there already, and whose cameras are the same.
  private func keptScene(_ scene: SceneConfiguration, in state: ServedState) -> ServedScene? {
    guard let old = state.scenes.first(where: { $0.configuration == scene }),
      scene.scene.sourceNames.allSatisfy({ sources[$0] == state[camera: $0]?.source })
    else { return nil }
    return old
  }
}

extension ServedState {
  /// Of all views and scenes.
  var previews: [Preview] { (cameras.flatMap(\.views) + scenes.map(\.view)).map(\.preview) }
}

extension ServedView {
  /// The shortest time between two pictures.
  var updateEvery: Duration { framesPerSecond.map { .seconds(1 / $0) } ?? .zero }
}

extension SceneConfiguration {
  /// Its one view.
  var served: ServedView {
    var served = ServedView(ViewConfiguration(width: scene.size.width, height: scene.size.height))
    served.framesPerSecond = framesPerSecond
    served.quality = quality
    return served
  }
}

extension Scene {
  /// Of which cameras it is.
  fileprivate var sourceNames: [String] {
    var names = tiles.map(\.source)
    if case .blur(let source, _) = background { names.append(source) }
    return names
  }

  /// The same of sources that are called otherwise.
  fileprivate func renamed(_ names: [String: String]) -> Scene {
    var scene = self
    for index in tiles.indices {
      scene.tiles[index].source = names[tiles[index].source] ?? tiles[index].source
    }
    if case .blur(let source, let blur) = background {
      scene.background = .blur(source: names[source] ?? source, blur)
    }
    return scene
  }
}

extension CameraConfiguration {
  /// Whether a source that was made of the other one serves this one.
  fileprivate func isSameSource(as other: CameraConfiguration) -> Bool {
    source == other.source && options == other.options && keepsWarm == other.keepsWarm
      && avatar == other.avatar
  }
}

extension ViewConfiguration {
  /// The same of another name.
  func named(_ name: String) -> ViewConfiguration {
    var view = self
    view.name = name
    return view
  }
}
