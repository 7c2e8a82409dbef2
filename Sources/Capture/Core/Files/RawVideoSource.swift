// Frames without headers: the user must describe them.

/// Raw frames of one format and size, one after another.
actor RawVideoSource: FrameSource {
  nonisolated let name: String
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let format: Frame.Format
  private let byteCount: Int
  private let rate: FrameRate
  private let memory: FramePool
  private var stream: ByteStream
  private var sequence = 0

  /// Checks that a regular file holds a whole number of frames.
  init(
    _ stream: consuming ByteStream, _ pixelFormat: PixelFormat, _ size: Size, _ options: SourceOptions
  ) throws(SourceError) {
    name = stream.path
    guard size.width > 0, size.height > 0 else {
      throw SourceError(.badRequest, path: stream.path, reason: "frames of \(size) have no pixels")
    }
    if let refusal = size.refusal(maximumPixels: options.maximumPixels) {
      throw SourceError(.badRequest, path: stream.path, reason: refusal)
    }
    guard let byteCount = pixelFormat.tightByteCount(of: size) else {
      throw SourceError(.badRequest, path: stream.path, reason: "frames of \(size) are too large")
    }
    if let count = stream.remainingByteCount, count % byteCount != 0 {
      throw SourceError(
        .badData, path: stream.path,
        reason: "\(count) bytes are not a whole number of \(size) \(pixelFormat) frames of \(byteCount) bytes"
      )
    }
    // Chroma is sited left, as in cameras' formats; R'G'B' ignores all of this. Unspecified grey is full
    // range, as in FFmpeg, GStreamer and OpenCV.
    let color =
      pixelFormat.isRGB
      ? .jfif
      : ColorDescription(
        guessedFor: size, matrix: nil, range: pixelFormat == .grey ? .full : nil, siting: .left)
    format = Frame.Format(pixelFormat, size, color: color).overriding(options.color)
    rate = options.framesPerSecond.flatMap { FrameRate($0) } ?? .usual
    memory = options.memory ?? FramePool()
    queue = ReadingQueue(named: stream.path)
    self.byteCount = byteCount
    self.stream = stream
  }

  func nextFrame() throws -> Frame? {
    let (bytes, count) = try stream.readFrame(byteCount, memory)
    guard count > 0 else { return nil }
    guard count == byteCount else {
      throw SourceError(
        .badData, path: name, reason: "frame \(sequence) is cut short: \(count) of \(byteCount) bytes")
    }
    defer { sequence += 1 }
    return try Frame(
      tight: format, storage: bytes, sequence: sequence, timestamp: rate.time(of: sequence)
    )
  }

  var framesPerSecond: Double? { rate.framesPerSecond }

  func rewind() throws {
    try stream.rewind()
    sequence = 0
  }
}
