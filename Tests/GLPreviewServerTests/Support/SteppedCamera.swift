// A camera whose frames differ from each other in each place, captured when a test says.
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview

final class SteppedCamera: BreakableCamera {
  let name = "camera"
  let mode = SourceStatus.Mode(format: "GREY", transport: "test")
  static let size = Size(width: 640, height: 640)
  let isLost = Mutex(false)
  private let captures: AsyncStream<Capture>
  private let input: AsyncStream<Capture>.Continuation
  private let noise: [UInt8]

  init() {
    (captures, input) = AsyncStream.makeStream()
    var random = SeededGenerator(seed: 1)
    noise = (0..<Self.size.pixelCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  /// Gives the frame of a number, which may be captured in the future. Returns it.
  func give(_ number: Int, at time: CaptureInstant) throws -> Frame {
    let start = number * 9973 % noise.count
    let frame = try Frame(
      tight: Frame.Format(.grey, Self.size, color: .jfif), bytes: Array(noise[start...] + noise[..<start]),
      timestamp: time)
    input.yield(Capture(frame))
    return frame
  }

  func next() async throws -> Capture? {
    var captures = captures.makeAsyncIterator()
    return await captures.next()
  }
}
