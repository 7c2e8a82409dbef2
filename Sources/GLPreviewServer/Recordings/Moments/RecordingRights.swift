// Decides which recordings a client may see, and what is hidden in pictures of them.

/// The rights to see recordings, by how their cameras are served now.
struct RecordingRights: Sendable {
  let registry: CameraRegistry
  let assignment: CameraAssignment
  let others: PeerRecordings
  let metrics: ServiceMetrics
  /// Nil if nothing is recorded.
  let folder: RecordingFolder?

  /// Returns what clients with the role `read` may see of a recording now.
  func showing(_ recording: Recording) -> RecordingNote.Showing {
    let camera = registry.served[camera: recording.camera]
    let view = camera?.views.first { $0.name == recording.view }
    let isShown =
      camera == nil
      ? others.shows(recording.view, of: recording.camera)
      : recording.isShown(by: view?.served, through: camera?.configuration.options.lens)
    guard isShown,
      // The masks of a camera that another node serves now, too.
      let options = (camera?.configuration ?? assignment.camera(recording.camera))?.options
    else { return .hidden }
    guard !options.masks.isEmpty else { return .whole }
    // Before the camera's first picture since the start, the size that it had at last.
    let reference =
      view?.preview.reference ?? options.referenceSize ?? folder?.latestReference(of: recording.camera)
    return recording.note.showing(under: options.masks, reference: reference)
  }

  /// Whether a client may see pictures of a recording. The role `control` may see all.
  func mayShowPictures(of recording: Recording, to role: Role?) -> Bool {
    role == .control || showing(recording) != .hidden
  }

  /// Whether a client may have the whole file. The role `control` may have all.
  func isShown(_ recording: Recording, to role: Role?) -> Bool {
    role == .control || showing(recording) == .whole
  }
}
