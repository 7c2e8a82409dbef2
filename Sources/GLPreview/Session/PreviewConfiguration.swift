// What a preview shows and how often: everything that can change while it runs.

package enum PreviewContent: Sendable, Hashable {
  /// A view of one source.
  case view(ViewConfiguration, of: String)
  /// Several sources in one picture.
  case scene(Scene)
}

package struct PreviewConfiguration: Sendable, Hashable {
  package private(set) var content: PreviewContent
  /// Whether it delivers pictures. A disabled preview costs nothing, and its readers wait. Default: true.
  package var isEnabled = true
  /// The minimum time between two pictures. Zero, the default, delivers every frame; for a scene, at most 30
  /// a second.
  package var updateEvery: Duration
  /// Whether a camera is set to its reference size (`SourceOptions.referenceSize`) while the preview exists,
  /// read or not. A crop or masks of the camera have the same effect. Default: false.
  package var keepsReferenceSize = false

  /// Whether a JPEG may be decoded at a reduced size for it while no other reader needs its samples; the
  /// pictures are then nearly the same. Default: false.
  package var takesReduced = false

  /// The most pixels of pictures whose size follows from a field of view, which moves change; larger ones are
  /// reduced to that. Default: no limit.
  package var maximumPixels = Int.max

  /// The latest moves of the view; a change of the part that the view shows forgets them. Default: none.
  package internal(set) var path = ViewPath()

  package init(_ content: PreviewContent, updateEvery: Duration = .zero) {
    self.content = content
    self.updateEvery = updateEvery
  }
}

extension Duration {
  /// The update interval of a picture in a corner: four pictures per second.
  public static let pictureInPicture = Duration.milliseconds(250)
}

extension PreviewConfiguration {
  /// The view as it is configured, which is where its moves end; nil for a scene. `ViewPreview` sets it. Frames are
  /// drawn with `view(at:)`.
  package internal(set) var view: ViewConfiguration? {
    get { if case .view(let view, _) = content { view } else { nil } }
    set {
      guard let newValue, case .view(let old, let source) = content else { return }
      if !newValue.isPlaced(as: old) { path = ViewPath() }
      content = .view(newValue, of: source)
    }
  }

  /// Returns the view as it is drawn in a frame that was captured at `time`; nil for a scene.
  package func view(at time: CaptureInstant) -> ViewConfiguration? {
    guard var view = self.view, view.projection != nil, let pose = path.pose(at: time) else {
      return self.view
    }
    view.projection?.pose = pose
    return view
  }

  /// The configuration without the pose and the moves of its view: all that a move does not change.
  package var unposed: PreviewConfiguration {
    var configuration = self
    configuration.view = view?.unposed
    configuration.path = ViewPath()
    return configuration
  }

  /// The scene; nil for a view. `ScenePreview` sets it.
  package internal(set) var scene: Scene? {
    get { if case .scene(let scene) = content { scene } else { nil } }
    set {
      guard let newValue, case .scene = content else { return }
      content = .scene(newValue)
    }
  }

  /// Whether it is a view with a crop, which is in pixels of the source's reference size.
  var isCropped: Bool { view?.isCropped == true }

  /// Whether it requires the camera's reference size.
  var isPinned: Bool { keepsReferenceSize || isCropped }

  /// The wanted size of pictures in pixels; nil follows the source. For a scene, it is the scene's size.
  package internal(set) var preferredSize: Size? {
    get {
      switch content {
      case .view(let view, _):
        guard let width = view.width, let height = view.height else { return nil }
        return Size(width: width, height: height)
      case .scene(let scene): return scene.size
      }
    }
    set {
      view?.width = newValue?.width
      view?.height = newValue?.height
      if let newValue { scene?.size = newValue }
    }
  }
}
