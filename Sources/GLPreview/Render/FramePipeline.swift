// Frames in flight on the GPU. Their pictures are read back through pixel buffers.

/// Takes frames whose draws are submitted, and returns their pictures when a fence has passed.
///
/// Only this object holds frames in flight, by number, so that they end before the context does.
final class FramePipeline {
  private let uploads: PixelBufferPool
  private let readbacks: PixelBufferPool
  private let storages: PixelBufferPool
  private let coder: JPEGCoder?
  private let clock: PassClock
  private let wait: Wait
  private var flights: [Int: Flight] = [:]
  private var nextNumber = 0
  /// After a timeout, frames below this number were already in flight then and are not expected to finish.
  private var stalledBefore = 0

  typealias Wait = (_ fence: borrowing Fence, _ atMost: Duration) throws(GLError) -> Fence.State

  /// Drivers give up a hanging GPU after about ten seconds.
  private static let longestWait = Duration.seconds(30)
  /// The planes of a frame that have their own buffers.
  private static let buffersPerFrame = 3

  /// `capacity` is the number of frames in flight at the same time; `coder` codes pictures on request; `wait` is
  /// replaced by tests.
  init(
    capacity: Int, _ clock: PassClock, coder: JPEGCoder? = nil,
    wait: @escaping Wait = { fence, limit throws(GLError) in
      try fence.wait(atMost: limit)
    }
  ) {
    uploads = PixelBufferPool(for: .upload, capacity: capacity * FramePipeline.buffersPerFrame)
    readbacks = PixelBufferPool(for: .readback, capacity: capacity)
    storages = PixelBufferPool(for: .storage, capacity: capacity)
    self.clock = clock
    self.coder = coder
    self.wait = wait
  }

  /// Everything of one frame that the GPU may still use.
  private final class Flight {
    /// Shaders may read their memory in place.
    let frames: [Frame]
    let pictures: FrameReadback
    let readback: Shared<PixelBuffer>
    let upload: BufferedUpload
    let timer: PassTimer?
    let fence: Fence

    init(
      _ frames: [Frame], _ pictures: FrameReadback, _ readback: Shared<PixelBuffer>,
      _ upload: BufferedUpload, _ timer: PassTimer?
    ) throws(GLError) {
      self.frames = frames
      self.pictures = pictures
      self.readback = readback
      self.upload = upload
      self.timer = timer
      fence = try Fence()
    }
  }

  var idleByteCount: Int {
    uploads.idle.byteCount + readbacks.idle.byteCount + storages.idle.byteCount
      + (coder?.idleByteCount ?? 0)
  }

  func removeIdle() {
    uploads.idle.removeAll()
    readbacks.idle.removeAll()
    storages.idle.removeAll()
    coder?.removeIdle()
  }

  func removePrograms() { coder?.removePrograms() }

  func beginDrawing() {
    uploads.idle.beginDrawing()
    readbacks.idle.beginDrawing()
    storages.idle.beginDrawing()
    coder?.beginDrawing()
  }

  func upload() -> BufferedUpload { BufferedUpload(uploads) }

  /// A buffer for pictures that compute shaders write.
  func takeStorage(_ byteCount: Int) throws(GLError) -> Shared<PixelBuffer> { try storages.take(byteCount) }

  /// Makes the GPU code the drawn pictures on request. `buffer` has the planes that have no target.
  func code(
    _ targets: [PictureTarget], in buffer: PictureBuffer? = nil
  ) throws(GLError) -> FrameReadback {
    try FrameReadback(targets, in: buffer, coder) { count throws(GLError) in try storages.take(count) }
  }

  /// Makes the GPU copy the pictures after the draws, and returns the frame's number for `finish`. The targets may be
  /// drawn into again at once, because the GPU executes commands in order.
  func submit(
    _ pictures: FrameReadback, of frames: [Frame], _ upload: BufferedUpload, _ timer: PassTimer?
  ) throws(GLError) -> Int {
    var pictures = pictures
    let readback = try readbacks.take(pictures.byteCount)
    try pictures.copy(to: readback.object)
    defer { nextNumber += 1 }
    flights[nextNumber] = try Flight(frames, pictures, readback, upload, timer)
    return nextNumber
  }

  /// Waits until a frame is drawn, at most half a minute, and copies its pictures out.
  func finish(_ number: Int) throws(GLError) -> DrawnFrame? {
    guard let flight = flights.removeValue(forKey: number) else { return nil }
    // Frames that were in flight with a timed-out one have already had their time; later frames get their
    // own.
    let limit = number < stalledBefore ? .zero : FramePipeline.longestWait
    guard try wait(flight.fence, limit) == .done else {
      if limit > .zero { stalledBefore = nextNumber }
      throw GLError("drawing a frame", .timeout(FramePipeline.longestWait))
    }
    stalledBefore = 0
    let time = clock.time(of: flight.timer)
    let pictures = try flight.pictures.pictures(from: flight.readback.object)
    flight.upload.finish()
    readbacks.giveBack(flight.readback)
    flight.pictures.finish { storages.giveBack($0) }
    return (pictures, time)
  }
}
