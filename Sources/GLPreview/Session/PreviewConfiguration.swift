// What a preview shows and how often: all that may change while it runs.
public import PreviewCore

/// What a preview shows.
package enum PreviewContent: Sendable, Hashable {
  /// A view of one source.
  case view(ViewConfiguration, of: String)
  /// Several sources in one picture.
  case scene(Scene)
}

/// How a preview is.
package struct PreviewConfiguration: Sendable, Hashable {
  /// What it shows.
  package private(set) var content: PreviewContent
  /// Whether it gives pictures. One that does not costs nothing, and its readers wait. True unless told.
  package var isEnabled: Bool
  /// The shortest time between two pictures; zero, the default, gives every frame, and of a scene at most 30 a second.
  package var updateEvery: Duration
  /// Whether a camera is set to its reference size (`SourceOptions.referenceSize`) for as long as the preview is there, read or
  /// not. It is so anyway where the preview has a crop, or the camera masks. False unless told.
  package var keepsReferenceSize = false

  /// A preview of `content`.
  package init(_ content: PreviewContent, isEnabled: Bool = true, updateEvery: Duration = .zero) {
    self.content = content
    self.isEnabled = isEnabled
    self.updateEvery = updateEvery
  }
}

extension Duration {
  /// How often a picture in a corner is renewed: four times a second.
  public static let pictureInPicture = Duration.milliseconds(250)
}

extension PreviewConfiguration {
  /// The view; nil for a scene.
  package var view: ViewConfiguration? {
    get { if case .view(let view, _) = content { view } else { nil } }
    set {
      guard let newValue, case .view(_, let source) = content else { return }
      content = .view(newValue, of: source)
    }
  }

  /// The scene; nil for a view.
  package var scene: Scene? {
    get { if case .scene(let scene) = content { scene } else { nil } }
    set {
      guard let newValue, case .scene = content else { return }
      content = .scene(newValue)
    }
  }

  /// Whether it matters to it in which size a camera is.
  var isPinned: Bool { keepsReferenceSize || view?.crop != nil }

  /// In pixels, what pictures should have; nil follows the source. Of a scene it is its size.
  package var preferredSize: Size? {
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
