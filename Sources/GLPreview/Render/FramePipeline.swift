// Frames on their way over the GPU: told it, not done yet. Their pictures come back through pixel buffers.
internal import PreviewCore

/// What a frame came to: a picture a view, and the passes' time by the GPU's clock where that is known.
typealias DrawnFrame = (pictures: [Picture], gpuTime: Duration?)

/// Takes frames whose draws were told, and gives their pictures when a fence says that they are there.
///
/// Frames in flight are held here, by number, and nowhere else, so that they end before the context does.
final class FramePipeline {
  private let uploads: PixelBufferPool
  private let readbacks: PixelBufferPool
  private let clock: PassClock
  private let wait: Wait
  private var flights: [Int: Flight] = [:]
  private var nextNumber = 0
  /// Frames below this number were on their way when one was not done in time: they will hardly be.
  private var stalledBefore = 0

  /// How a fence is waited for.
  typealias Wait = (_ fence: borrowing Fence, _ atMost: Duration) throws(GLError) -> Fence.State

  /// A driver gives a GPU that hangs up after some ten seconds.
  private static let patience = Duration.seconds(30)
  /// Planes of a frame that have a buffer each.
  private static let buffersPerFrame = 3

  /// `capacity` is the number of frames that are in flight at the same time; `wait` is for tests.
  init(
    capacity: Int, _ clock: PassClock,
    wait: @escaping Wait = { fence, limit throws(GLError) in
      try fence.wait(atMost: limit)
    }
  ) {
    uploads = PixelBufferPool(for: .upload, capacity: capacity * FramePipeline.buffersPerFrame)
    readbacks = PixelBufferPool(for: .readback, capacity: capacity)
    self.clock = clock
    self.wait = wait
  }

  /// All of one frame that the GPU may still use.
  private final class Flight {
    /// Shaders may read their memory in place.
    let frames: [Frame]
    let layouts: [PictureLayout]
    let readback: PooledPixelBuffer
    let upload: BufferedUpload
    let timer: PassTimer?
    let fence: Fence

    init(
      _ frames: [Frame], _ layouts: [PictureLayout], _ readback: PooledPixelBuffer, _ upload: BufferedUpload,
      _ timer: PassTimer?
    ) throws(GLError) {
      self.frames = frames
      self.layouts = layouts
      self.readback = readback
      self.upload = upload
      self.timer = timer
      fence = try Fence()
    }
  }

  /// Bytes of buffers that are held for later.
  var idleByteCount: Int { uploads.idleByteCount + readbacks.idleByteCount }

  /// Lets go of what is held for later.
  func removeIdle() {
    uploads.removeAll()
    readbacks.removeAll()
  }

  /// Before each drawing.
  func beginDrawing() {
    uploads.beginDrawing()
    readbacks.beginDrawing()
  }

  /// The way up for a frame's planes.
  func upload() -> BufferedUpload { BufferedUpload(uploads) }

  /// Lets the GPU copy what was drawn, behind the draws, and returns a number to ask for it. The targets may then be drawn
  /// into again: the GPU does one thing after another.
  func submit(
    _ targets: [PictureTarget], of frames: [Frame], _ upload: BufferedUpload, _ timer: PassTimer?
  ) throws(GLError) -> Int {
    let layouts = targets.map(\.layout)
    let readback = try readbacks.take(layouts.byteCount)
    var offset = 0
    for (target, layout) in zip(targets, layouts) {
      try target.read(into: readback.memory, at: offset)
      offset += layout.byteCount
    }
    defer { nextNumber += 1 }
    flights[nextNumber] = try Flight(frames, layouts, readback, upload, timer)
    return nextNumber
  }

  /// Waits until a frame is drawn, and copies its pictures out.
  ///
  /// - Throws: where the GPU is not done in half a minute, or not at all. The frame's buffers are then not used again.
  func finish(_ number: Int) throws(GLError) -> DrawnFrame? {
    guard let flight = flights.removeValue(forKey: number) else { return nil }
    // Frames that were on their way with one that took too long have had that time too; later ones have their own.
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
    return (pictures, time)
  }

  private func pictures(of flight: Flight) throws(GLError) -> [Picture] {
    guard flight.layouts.byteCount > 0 else { return [] }
    return try flight.readback.memory.withBytes(first: flight.layouts.byteCount) { bytes in
      var offset = 0
      return flight.layouts.map { layout in
        defer { offset += layout.byteCount }
        return layout.picture(copying: bytes.extracting(offset..<offset + layout.byteCount))
      }
    }
  }
}

extension [PictureLayout] {
  /// Of all pictures, one behind another.
  fileprivate var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
