// The right to send or store a picture that waits: it may have been drawn long before.

/// The right to show a picture after it was drawn. Unlike a `ViewRight`, it outlives the preview that drew the picture:
/// a reload that replaces the camera, but not its masks, does not end it.
package struct PictureRight: Sendable {
  /// The name of the camera or scene.
  package let camera: String
  package let view: String
  /// The configuration of the view; nil if it changed while the picture was drawn, or has been moved.
  private let drawn: ViewConfiguration?
  /// The tiles of the scene and their places; nil for a picture of a camera.
  fileprivate let scene: Scene?
  /// The masks of the camera, or of each camera of the scene, by the names of the cameras.
  private let masks: [String: Masks]

  /// The masks of a camera, the size in whose pixels they and crops are given, and the lens of its views.
  private struct Masks: Sendable {
    let masks: [PrivacyMask]
    let reference: Size?
    let lens: Lens?

    init(_ camera: CameraConfiguration) {
      (masks, reference) = (camera.options.masks, camera.options.referenceSize)
      lens = camera.options.lens
    }
  }

  /// Creates the right to a picture that has been drawn of `target`, whose preview `served` still has. A preview never
  /// outlives a change of masks.
  package init(_ target: ServedPreview, in served: ServedState) {
    (camera, view) = (target.camera, target.name)
    let now = try? served.view(target.name, of: target.camera)
    drawn = now.flatMap { now -> ViewConfiguration? in
      let isExact = target.served.isLocked || now.moves == 0
      return now.served.view == target.served.view && isExact ? target.served.view : nil
    }
    scene = served[scene: target.camera]?.configuration.scene
    var masks: [String: Masks] = [:]
    for name in Self.cameras(of: target.camera, in: scene) {
      masks[name] = served[camera: name].map { Masks($0.configuration) }
    }
    self.masks = masks
  }

  /// The names of the cameras that the picture shows.
  var cameras: [String] { Self.cameras(of: camera, in: scene) }

  private static func cameras(of name: String, in scene: Scene?) -> [String] {
    scene.map { Array($0.sourceNames) } ?? [name]
  }

  /// Whether the picture may be shown while no node serves its scene, which is configured as `scene`. Its cameras are
  /// looked at separately.
  func allows(_ scene: SceneConfiguration) -> Bool { view == scene.served.view.name && shows(scene) }

  /// Whether the tiles are those of the configured scene.
  func shows(_ scene: SceneConfiguration?) -> Bool { self.scene == scene?.scene }

  /// Whether the picture may be shown while no node serves its camera, which is configured as `camera`.
  func allows(_ camera: CameraConfiguration) -> Bool {
    guard let now = camera.views.first(where: { $0.view.name == view }) else { return false }
    return allows(now) && allows(masksOf: camera, in: now)
  }

  /// Whether its view is on, and not locked in another form.
  fileprivate func allows(_ now: ServedView) -> Bool {
    now.isEnabled && (!now.isLocked || now.view == drawn)
  }

  /// Whether a camera has the masks with which the picture was drawn. If there are masks, or its view is locked with a
  /// crop now, or its tile of the scene has a crop, the reference size and the lens must be the same too.
  func allows(masksOf camera: CameraConfiguration, in now: ServedView? = nil) -> Bool {
    guard let drawn = masks[camera.name] else { return false }
    let current = Masks(camera)
    let isCropped =
      now.map { $0.isLocked && $0.view.isCropped } ?? false
      || scene?.tiles.contains { $0.source == camera.name && $0.view.isCropped } ?? false
    let hidesParts = isCropped || !current.masks.isEmpty
    let isSamePart = current.reference == drawn.reference && current.lens == drawn.lens
    return current.masks == drawn.masks && (!hidesParts || isSamePart)
  }
}

extension ServedState {
  /// Whether a picture may be shown now; nil if this node does not serve its camera, which another node may do.
  package func allows(_ right: PictureRight) -> Bool? {
    guard let views = try? views(of: right.camera) else { return nil }
    guard let now = views.first(where: { $0.name == right.view })?.served, right.allows(now),
      right.shows(self[scene: right.camera]?.configuration)
    else { return false }
    return right.cameras.allSatisfy { name in
      self[camera: name].map { right.allows(masksOf: $0.configuration, in: now) } ?? false
    }
  }
}
