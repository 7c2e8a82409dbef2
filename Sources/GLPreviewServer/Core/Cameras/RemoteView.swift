// Remote views: views of other nodes' cameras. They are in the same session, but not among the configured
// names, and exist only while there are viewers.
internal import Synchronization

/// The state of a remote view, besides its pictures.
package final class RemoteView: Sendable {
  /// Returns the camera's state as its node reports it, if the camera is in trouble. The pictures do not show
  /// it, because the node sends a placeholder then.
  let trouble: @Sendable () -> SourceState?
  private let over = Atomic(false)

  init(trouble: @escaping @Sendable () -> SourceState?) { self.trouble = trouble }

  /// Whether new viewers must not use it, because another camera has taken its name.
  var isOver: Bool { over.load(ordering: .relaxed) }

  func end() { over.store(true, ordering: .relaxed) }
}

extension CameraRegistry {
  /// Adds a stream that another node sends. Its JPEGs are passed through, so URLs can't change the view here.
  /// The caller removes it.
  ///
  /// - Throws: `SessionError` if the session is closed.
  func addRemoteView(
    _ camera: String, _ view: String, at url: String, _ options: SourceOptions, _ remoteView: RemoteView
  ) throws -> ServedPreview {
    var source = SessionSource(url, name: nextName("remote"), options: options)
    source.opensWithin = timeouts.opening
    source.showsFailures = true
    try session.addSource(source)
    let preview = try session.addPreview(ViewConfiguration(name: nextName("view")), of: source.name)
    var served = ServedView(ViewConfiguration(name: view))
    served.isLocked = true
    return ServedPreview(
      camera: camera, content: .view(preview), served: served, offline: .placeholder, remoteView: remoteView)
  }

  /// Removes the stream's source in the background.
  func remove(remoteView target: ServedPreview) {
    guard let source = target.source else { return }
    Task { [session] in await session.removeSource(source) }
  }
}
