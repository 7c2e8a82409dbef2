// A camera's current mode, and the conversion of its buffers to captures.
internal import CV4L2

struct V4L2Stream: Sendable {
  let fourCC: FourCC
  let size: Size
  let buffers: V4L2Buffers
  /// Why no renderer can read the pictures in place; nil if one that can will do.
  let obstacle: String?
  /// Why the renderer that was asked does not; nil if it does, or none was.
  let refusal: String?
  private let content: Content
  /// Whether captures must not borrow buffers, because libv4l2 frees the buffers that it creates with the
  /// device.
  private let isEmulated: Bool

  private static let sharesWithin = Duration.seconds(5)

  private enum Content: Sendable {
    case samples(V4L2Layout, V4L2Color)
    case jpeg
  }

  /// Starts a stream of the current format; `format` is the driver's response.
  /// If `sharing` makes buffers, the driver takes them, and its pictures are frames as they are, then they are read in place.
  init(
    _ node: V4L2Node, _ format: glp_v4l2_format, isEmulated: Bool, maximumPixels: Int,
    sharing: (any BufferSharing)? = nil, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    fourCC = FourCC(code: format.fourcc)
    size = Size(width: Int(format.width), height: Int(format.height))
    self.isEmulated = isEmulated
    guard let reading = V4L2PixelFormat(fourCC) else {
      throw V4L2Refusal("only accepts \(fourCC), which is not supported")
    }
    guard V4L2Field.isWhole(format.field) else {
      throw V4L2Refusal("sends its two fields one after the other, which is not supported")
    }
    if let refusal = size.refusal(maximumPixels: maximumPixels) { throw V4L2Refusal(refusal) }
    switch reading {
    case .jpeg: content = .jpeg
    case .samples(let samples):
      let strides = format.memoryPlanes.map { Int($0.bytes_per_line) }
      guard let layout = V4L2Layout(samples, size, bytesPerLine: strides) else {
        throw V4L2Refusal(
          "gives \(fourCC) of \(size) in \(format.plane_count) pieces, which is not supported")
      }
      let color = V4L2Color(
        colorspace: format.colorspace, encoding: format.ycbcr_encoding, quantization: format.quantization)
      content = .samples(layout, color)
    }
    obstacle =
      switch content {
      case _ where isEmulated: "libv4lconvert converts the pictures"
      case .jpeg: "JPEGs are decoded"
      case .samples(let layout, let color): layout.obstacle(color)
      }
    var shared: V4L2Buffers?
    var refusal: String?
    if let sharing, obstacle == nil, case .samples(let layout, let color) = content {
      do {
        shared = try await Self.buffers(node, format, layout, color, sharing)
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        // The driver's own buffers do for every camera.
        node.releaseBuffers(areShared: true)
        refusal = "\(error)"
      }
    }
    buffers = if let shared { shared } else { try V4L2Buffers(node, format) }
    self.refusal = refusal
  }

  private static func buffers(
    _ node: V4L2Node, _ format: glp_v4l2_format, _ layout: V4L2Layout, _ color: V4L2Color,
    _ sharing: any BufferSharing, isolation: isolated (any Actor)? = #isolation
  ) async throws -> V4L2Buffers {
    let byteCount = Int(format.planes.0.size_image)
    let (frame, planes) = (layout.frameFormat(color), layout.framePlanes())
    // A driver that hangs must not hold up the camera, which can do without.
    let made = try await withDeadline(Self.sharesWithin) {
      try await sharing.makeBuffers(V4L2Buffers.wantedCount(byteCount), of: byteCount, for: frame, planes)
    }
    guard let made else { throw V4L2Refusal("the renderer made no buffers within \(Self.sharesWithin)") }
    try Task.checkCancellation()
    return try V4L2Buffers(node, format, sharing: made)
  }

  /// Converts a filled buffer to a capture. The buffer returns to the driver immediately, or when the capture
  /// is released.
  func capture(
    _ buffer: glp_v4l2_buffer, skipped: Int, _ options: SourceOptions, _ memory: FramePool
  ) throws -> Capture {
    var isLent = false
    defer { if !isLent { buffers.queue(buffer.index) } }
    if buffer.has_error { throw DamagedCapture("the driver says that the picture is damaged") }
    let time = buffer.time
    switch content {
    case .jpeg:
      let bytes = unsafe buffers.withBytes(buffer) { unsafe Array($0[0]) }
      let capture = Capture(jpeg: bytes, timestamp: time, skipped: skipped, options, memory: memory)
      guard capture.jpeg != nil else {
        throw DamagedCapture("no JPEG begins in a buffer of \(bytes.count) bytes")
      }
      return capture
    case .samples(let layout, let color):
      let counts = unsafe buffers.withBytes(buffer) { unsafe $0.map(\.count) }
      let needed = layout.neededByteCounts
      guard zip(counts, needed).allSatisfy({ $0 >= $1 }) else {
        throw DamagedCapture(
          "a buffer of \(counts.reduce(0, +)) bytes where \(needed.reduce(0, +)) make a picture")
      }
      guard !isEmulated, let lease = buffers.lend(buffer) else {
        let frame = try unsafe buffers.withBytes(buffer) { try unsafe layout.frame($0, color, memory) }
        return Capture(frame.with(timestamp: time), skipped: skipped)
      }
      isLent = true
      if let shared = lease.shared(layout.neededByteCounts[0]) {
        return Capture(timestamp: time, skipped: skipped, byteCount: layout.byteCount, isBorrowed: true) {
          _ in
          try layout.frame(in: shared, from: lease.start, color)
        }
      }
      return Capture(timestamp: time, skipped: skipped, byteCount: layout.byteCount, isBorrowed: true) { _ in
        try unsafe lease.withBytes { try unsafe layout.frame($0, color, memory) }
      }
    }
  }
}

extension glp_v4l2_buffer {
  /// The driver's timestamp if it is measured by `CaptureClock`, otherwise the current time.
  fileprivate var time: CaptureInstant {
    let now = CaptureClock.now
    let stamp = CaptureInstant(sinceStart: .seconds(seconds) + .microseconds(microseconds))
    // Some drivers claim to use that clock but use a different one, or none.
    return has_monotonic_time && stamp > .start && stamp <= now ? stamp : now
  }
}
