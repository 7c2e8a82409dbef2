// A camera before which something moves when a test says so.
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview

final class MovingCamera: CaptureDevice, CaptureConnection {
  static let size = Size(width: 128, height: 72)
  /// Where it moves, in pixels.
  static let path = Rectangle(x: 0, y: 30, width: 128, height: 12)

  let name = "camera"
  let mode = SourceStatus.Mode(format: "GREY", transport: "test")
  private let place = Mutex<Int?>(nil)

  /// Something goes from left to right again and again, or leaves.
  func move(_ isMoving: Bool) { place.withLock { $0 = isMoving ? 0 : nil } }

  /// As a session takes it.
  func source(named name: String, _ options: SourceOptions) -> SessionSource {
    var options = options
    options.live = LiveOptions(
      stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs, connectsWithin: allTheTimeThereIs)
    return SessionSource(
      name: name, options: options,
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(self as any CaptureDevice, $0) })
  }

  func connect() async throws -> any CaptureConnection { self }

  func next() async throws -> Capture? {
    try await pause(.milliseconds(20))
    let left = place.withLock { place in
      defer { place = place.map { ($0 + 2) % Self.size.width } }
      return place
    }
    var codes = (0..<Self.size.pixelCount).map { UInt8(80 + $0 % Self.size.width / 4) }
    if let left {
      for y in Self.path.y..<Self.path.y + Self.path.height {
        for x in left..<min(left + Self.path.height, Self.size.width) { codes[y * Self.size.width + x] = 250 }
      }
    }
    return Capture(
      try Frame(
        tight: Frame.Format(.grey, Self.size, color: .jfif), bytes: codes, timestamp: CaptureClock.now))
  }

  func close() async {}
}
