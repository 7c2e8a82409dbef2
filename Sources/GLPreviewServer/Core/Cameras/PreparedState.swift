// Prepares a reload: adds new sources and previews to the session while the old configuration is still
// served.

/// The session's additions for a new configuration, under names that are not served yet. `giveUp` removes all
/// of them.
struct PreparedState: Sendable {
  let configuration: ServerConfiguration
  /// The state that was served when this one was prepared.
  let base: ServedState
  /// The session names of the cameras' sources; unchanged cameras keep theirs.
  private(set) var sources: [String: String] = [:]
  /// The cameras whose sources are new.
  private(set) var newCameras: [CameraConfiguration] = []
  /// The sources whose replay buffers new sources take over.
  private var inherited: Set<String> = []
  /// The cameras whose replay buffers new cameras take over, by the name of the new camera.
  private var predecessors: [String: ServedCamera] = [:]
  /// The previews of new views and scenes.
  private var newViews: [ViewKey: ViewPreview] = [:]
  private var newScenes: [String: ScenePreview] = [:]

  private struct ViewKey: Hashable {
    let camera: String
    let view: String
  }

  /// The objects that a switch leaves behind, no longer reachable by name.
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

  /// The cameras that still need a source.
  var missingCameras: [CameraConfiguration] { configuration.cameras.filter { sources[$0.name] == nil } }

  /// The cameras that will be removed.
  private var goingCameras: [ServedCamera] {
    base.cameras.filter { !sources.values.contains($0.source) }
  }

  /// Adds the sources of `missingCameras`, in their order.
  ///
  /// - Throws: the errors of `add`; the caller must then call `giveUp`.
  mutating func take(
    _ made: [SessionSource], add: (SessionSource, _ replacing: [String]) throws -> Void = { _, _ in }
  ) rethrows {
    for (camera, source) in zip(missingCameras, made) {
      // A removed camera with this name or device must close before the new one opens.
      let others = goingCameras.filter {
        $0.configuration.name == camera.name || $0.configuration.source == camera.source
      }
      var source = source
      let unclaimed = others.filter {
        $0.configuration.givesSamePictures(as: camera) && !inherited.contains($0.source)
      }
      source.inheritsReplay =
        (unclaimed.first { $0.configuration.name == camera.name } ?? unclaimed.first)?.source
      if let source = source.inheritsReplay {
        inherited.insert(source)
        predecessors[camera.name] = base.cameras.first { $0.source == source }
      }
      try add(source, others.map(\.source))
      sources[camera.name] = source.name
      newCameras.append(camera)
    }
  }

  /// Adds previews of the new views and scenes.
  ///
  /// - Throws: `SessionError`; the caller must then call `giveUp`.
  mutating func addPreviews(to session: PreviewSession, naming nextName: () -> String) throws(SessionError) {
    for camera in configuration.cameras {
      for view in camera.views where keptView(view.view.name, of: camera, in: base) == nil {
        let old = predecessors[camera.name]?.views.first { $0.name == view.view.name }?.preview
        let preview = try session.addPreview(
          view.view.named(nextName()), of: sources[camera.name], updateEvery: .zero,
          counting: old?.gpuTime ?? GPUTime())
        preview.show(view)
        // Not every frame of the inherited replay buffer may be shown.
        if let old { preview.preview.succeed(old) }
        newViews[ViewKey(camera: camera.name, view: view.view.name)] = preview
      }
    }
    for scene in configuration.scenes where keptScene(scene, in: base) == nil {
      newScenes[scene.name] = try session.addScene(
        scene.scene.renamed(sources), name: nextName(), updateEvery: scene.served.updateEvery)
    }
  }

  /// Removes the additions from the session.
  func giveUp(in session: PreviewSession) {
    for scene in newScenes.values { session.remove(scene) }
    for view in newViews.values { session.remove(view) }
    for source in newCameras.compactMap({ sources[$0.name] }) { Task { await session.removeSource(source) } }
  }

  /// Returns the new state to serve, and the objects that are no longer served. `current` is `base`, except
  /// for views that changed meanwhile.
  func swapped(_ current: ServedState) -> (state: ServedState, remains: Remains) {
    var state = ServedState(generation: current.generation + 1, changes: current.changes + 1)
    for camera in configuration.cameras {
      guard let source = sources[camera.name] else { continue }
      let known = current[camera: camera.name]?.configuration.views ?? []
      let views = camera.views.compactMap { view -> ServedPreview? in
        let kept = keptView(view.view.name, of: camera, in: current)
        let new = newViews[ViewKey(camera: camera.name, view: view.view.name)]
        guard let content = kept?.content ?? new.map(ServedPreview.Content.view) else { return nil }
        var served = view
        // Run-time changes are kept, unless the file changes this view. Of a changed camera's, only the pose is.
        if known.contains(view) {
          let old = current[camera: camera.name]?.views.first { $0.name == view.view.name }?.served
          served = kept?.served ?? old.map(view.posed(as:)) ?? view
        }
        var entry = ServedPreview(
          camera: camera.name, content: content, served: served, offline: camera.offline,
          triggerDelay: camera.triggerDelay)
        entry.moves = kept?.moves ?? 0
        return entry
      }
      state.cameras.append(ServedCamera(configuration: camera, source: source, views: views))
    }
    for scene in configuration.scenes {
      if let kept = keptScene(scene, in: current) {
        state.scenes.append(kept)
      } else if let preview = newScenes[scene.name] {
        let view = ServedPreview(
          camera: scene.name, content: .scene(preview), served: scene.served, offline: .placeholder)
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

  /// Returns the existing view of an unchanged camera.
  private func keptView(_ view: String, of camera: CameraConfiguration, in state: ServedState)
    -> ServedPreview?
  {
    guard let old = state[camera: camera.name], old.source == sources[camera.name] else { return nil }
    return old.views.first { $0.name == view }
  }

  /// Returns the existing scene, with its new configuration, if it and its cameras show the same.
  private func keptScene(_ scene: SceneConfiguration, in state: ServedState) -> ServedScene? {
    guard let old = state[scene: scene.name], old.configuration.isSamePicture(as: scene),
      scene.scene.sourceNames.allSatisfy({ sources[$0] == state[camera: $0]?.source })
    else { return nil }
    return ServedScene(configuration: scene, view: old.view)
  }
}

extension ServedState {
  /// The views of all cameras, and the scenes.
  var allViews: [ServedPreview] { cameras.flatMap(\.views) + scenes.map(\.view) }

  var previews: [Preview] { allViews.map(\.preview) }
}

extension ServedView {
  /// Returns the view in the pose of another one. A locked view keeps its own.
  fileprivate func posed(as other: ServedView) -> ServedView {
    guard !isLocked, let projection = other.view.projection, projection.shape == view.projection?.shape
    else { return self }
    var posed = self
    posed.view.projection?.pose = projection.pose
    return posed
  }

  /// The shortest interval between two pictures.
  var updateEvery: Duration { framesPerSecond.map { .seconds(1 / $0) } ?? .zero }
}

extension SceneConfiguration {
  /// The scene's single view.
  var served: ServedView {
    var served = ServedView(ViewConfiguration(width: scene.size.width, height: scene.size.height))
    served.framesPerSecond = framesPerSecond
    served.quality = quality
    served.video = video
    return served
  }
}

extension SceneConfiguration {
  /// Whether the preview of the other configuration also fits this one. Sections of features change no picture.
  fileprivate func isSamePicture(as other: SceneConfiguration) -> Bool {
    var same = other
    same.sections = sections
    return self == same
  }
}

extension Scene {
  /// Returns the scene with other source names.
  fileprivate func renamed(_ names: [String: String]) -> Scene {
    var scene = self
    for index in tiles.indices {
      scene.tiles[index].source = names[tiles[index].source] ?? tiles[index].source
    }
    if case .blur(let source) = background {
      scene.background = .blur(source: names[source] ?? source)
    }
    return scene
  }
}

extension CameraConfiguration {
  /// Returns whether a source made for the other configuration also fits this one.
  func isSameSource(as other: CameraConfiguration) -> Bool {
    // Any other difference reopens the camera, so that a reload ignores no key that is missing here.
    var same = other
    (same.views, same.sections, same.motion) = (views, sections, motion)
    (same.home, same.isRequired, same.offline, same.triggerDelay) = (home, isRequired, offline, triggerDelay)
    if replay == nil, other.replay == nil { same.replayBytes = replayBytes }
    return self == same
  }

  /// Returns whether the sources of both configurations deliver identical frames, apart from masks. A lens changes
  /// views only.
  fileprivate func givesSamePictures(as other: CameraConfiguration) -> Bool {
    var options = options
    (options.masks, options.lens) = (other.options.masks, other.options.lens)
    return source == other.source && options == other.options
  }
}

extension ViewConfiguration {
  /// Returns the view configuration with another name.
  package func named(_ name: String) -> ViewConfiguration {
    var view = self
    view.name = name
    return view
  }
}
