// A camera whose pictures are grey of a code each, captured when a test says.
import PreviewCore
import Synchronization

@testable import GLPreview

final class CountingCamera: BreakableCamera {
  let name = "camera"
  let mode = SourceStatus.Mode(format: "MJPG", transport: "test")
  static let size = Size(width: 32, height: 32)
  private let captures: AsyncStream<Capture>
  private let input: AsyncStream<Capture>.Continuation
  let isLost = Mutex(false)
  private let taken = Watched(0)

  init() { (captures, input) = AsyncStream.makeStream() }

  /// A JPEG in one grey.
  static func jpeg(_ code: UInt8) throws -> [UInt8] {
    let grey = [UInt8](repeating: code, count: size.pixelCount)
    let neutral = [UInt8](repeating: 128, count: size.pixelCount)
    return try JPEGEncoder(quality: 95).encode(
      Picture(tight: size, format: .ycbcr(.yuv444), bytes: grey + neutral + neutral))
  }

  /// Gives a picture that was captured so long before `now`. Returns its time.
  @discardableResult
  func give(
    _ code: UInt8, ago: Duration = .zero, now: CaptureInstant = CaptureClock.now,
    memory: FramePool = FramePool()
  ) throws -> CaptureInstant {
    let time = now - ago
    input.yield(Capture(jpeg: try Self.jpeg(code), timestamp: time, SourceOptions(), memory: memory))
    return time
  }

  /// Waits until so many pictures were taken by the connection's reader, and kept.
  func took(_ count: Int) async throws { _ = try await taken.first { $0 > count ? true : nil } }

  /// Breaks the connection for good.
  func lose() {
    isLost.withLock { $0 = true }
    input.finish()
  }

  func next() async throws -> Capture? {
    // Counted when the next one is asked for: then the one before is kept.
    taken.update { $0 += 1 }
    var captures = captures.makeAsyncIterator()
    if let capture = await captures.next() { return capture }
    throw SourceError(.unavailable, path: name, reason: "was unplugged")
  }
}
