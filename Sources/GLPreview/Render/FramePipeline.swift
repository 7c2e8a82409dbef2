// Frames in flight on the GPU. Their pictures are read back through pixel buffers.

/// Takes frames whose draws are submitted, and returns their pictures when a fence has passed.
///
/// Only this object holds frames in flight, by number, so that they end before the context does.
final class FramePipeline {
  private let uploads: PixelBufferPool
  private let readbacks: PixelBufferPool
  private let storages: PixelBufferPool
  private let clock: PassClock
  private let wait: Wait
  private var flights: [Int: Flight] = [:]
  private var nextNumber = 0
  /// After a timeout, frames below this number were already in flight then and are not expected to finish.
  private var stalledBefore = 0

  typealias Wait = (_ fence: borrowing Fence, _ atMost: Duration) throws(GLError) -> Fence.State

  /// Drivers give up a hanging GPU after about ten seconds.
  private static let patience = Duration.seconds(30)
  /// The planes of a frame that have their own buffers.
  private static let buffersPerFrame = 3

  /// `capacity` is the number of frames in flight at the same time; `wait` is replaced by tests.
  init(
    capacity: Int, _ clock: PassClock,
    wait: @escaping Wait = { fence, limit throws(GLError) in
      try fence.wait(atMost: limit)
    }
  ) {
    uploads = PixelBufferPool(for: .upload, capacity: capacity * FramePipeline.buffersPerFrame)
    readbacks = PixelBufferPool(for: .readback, capacity: capacity)
    storages = PixelBufferPool(for: .storage, capacity: capacity)
    self.clock = clock
    self.wait = wait
  }

  /// Everything of one frame that the GPU may still use.
  private final class Flight {
    /// Shaders may read their memory in place.
    let frames: [Frame]
    let layouts: [PictureLayout]
    let readback: Shared<PixelBuffer>
    let storage: Shared<PixelBuffer>?
    let upload: BufferedUpload
    let timer: PassTimer?
    let fence: Fence

    init(
      _ frames: [Frame], _ layouts: [PictureLayout], _ readback: Shared<PixelBuffer>,
      _ storage: Shared<PixelBuffer>?, _ upload: BufferedUpload, _ timer: PassTimer?
    ) throws(GLError) {
      self.frames = frames
      self.layouts = layouts
      self.readback = readback
      self.storage = storage
      self.upload = upload
      self.timer = timer
      fence = try Fence()
    }
  }

  var idleByteCount: Int {
    uploads.idle.byteCount + readbacks.idle.byteCount + storages.idle.byteCount
  }

  func removeIdle() {
    uploads.idle.removeAll()
    readbacks.idle.removeAll()
    storages.idle.removeAll()
  }

  func beginDrawing() {
    uploads.idle.beginDrawing()
    readbacks.idle.beginDrawing()
    storages.idle.beginDrawing()
  }

  func upload() -> BufferedUpload { BufferedUpload(uploads) }

  /// A buffer for pictures that compute shaders write.
  func takeStorage(_ byteCount: Int) throws(GLError) -> Shared<PixelBuffer> { try storages.take(byteCount) }

  /// Makes the GPU copy the drawn planes after the draws, and returns the frame's number for `finish`. The
  /// targets may be drawn into again at once, because the GPU executes commands in order. `buffer` has the
  /// planes that have no target.
  func submit(
    _ targets: [PictureTarget], in buffer: PictureBuffer? = nil, of frames: [Frame], _ upload: BufferedUpload,
    _ timer: PassTimer?
  ) throws(GLError) -> Int {
    let layouts = targets.map(\.layout)
    let readback = try readbacks.take(layouts.byteCount)
    // First, because it also copies what is not there.
    try buffer?.buffer.object.copy(layouts.byteCount, to: readback.object)
    var offset = 0
    for (target, layout) in zip(targets, layouts) {
      try target.read(into: readback.object, at: offset)
      offset += layout.byteCount
    }
    defer { nextNumber += 1 }
    flights[nextNumber] = try Flight(frames, layouts, readback, buffer?.buffer, upload, timer)
    return nextNumber
  }

  /// Waits until a frame is drawn, at most half a minute, and copies its pictures out.
  func finish(_ number: Int) throws(GLError) -> DrawnFrame? {
    guard let flight = flights.removeValue(forKey: number) else { return nil }
    // Frames that were in flight with a timed-out one have already had their time; later frames get their
    // own.
    let limit = number < stalledBefore ? .zero : FramePipeline.patience
    guard try wait(flight.fence, limit) == .done else {
      if limit > .zero { stalledBefore = nextNumber }
      throw GLError("drawing a frame", .timeout(FramePipeline.patience))
    }
    stalledBefore = 0
    let time = clock.time(of: flight.timer)
    let pictures = try pictures(of: flight)
    flight.upload.finish()
    readbacks.giveBack(flight.readback)
    if let storage = flight.storage { storages.giveBack(storage) }
    return (pictures, time)
  }

  private func pictures(of flight: Flight) throws(GLError) -> [Picture] {
    guard flight.layouts.byteCount > 0 else { return [] }
    return try flight.readback.object.withBytes(first: flight.layouts.byteCount) { bytes in
      var offset = 0
      return flight.layouts.map { layout in
        defer { offset += layout.byteCount }
        return layout.picture(copying: bytes.extracting(offset..<offset + layout.byteCount))
      }
    }
  }
}

extension [PictureLayout] {
  fileprivate var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
