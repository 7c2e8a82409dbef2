// What cameras of tests share: one connection, which a test may break.
import Synchronization
import TestSupport

@testable import GLPreview

protocol BreakableCamera: CaptureDevice, CaptureConnection, AnyObject {
  var isLost: Mutex<Bool> { get }
}

extension BreakableCamera {
  /// As a session takes it.
  func source(named name: String, _ options: SourceOptions) -> SessionSource {
    var options = options
    options.live = LiveOptions(
      stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs, connectsWithin: allTheTimeThereIs)
    return SessionSource(
      name: name, options: options,
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(self as any CaptureDevice, $0) })
  }

  func connect() async throws -> any CaptureConnection {
    if isLost.withLock({ $0 }) { throw SourceError(.unavailable, path: name, reason: "was unplugged") }
    return self
  }

  func close() async {}
}
