// Concatenated JPEGs: recorded streams of webcams and multipart servers, and pipes.
internal import Glibc

actor MJPEGSource: FrameSource {
  nonisolated let name: String
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let options: SourceOptions
  private let memory: FramePool
  private let rate: FrameRate
  private var pictures: MJPEGReader
  private var waiting: [UInt8]?
  private var sequence = 0
  /// Pictures that are decoded in parallel, in the order of delivery.
  private var ahead: [Task<Frame, any Error>] = []

  /// The most pictures to decode at the same time.
  private static let width = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4)

  /// Larger frames, in bytes, are decoded one at a time: decoding a progressive JPEG takes several times the
  /// frame's memory.
  private static let largestSideBySide = 32 << 20

  /// Starts with `first`, a picture that was already read, and continues with the rest of `pictures`.
  init(_ pictures: consuming MJPEGReader, first: [UInt8]? = nil, _ options: SourceOptions) {
    name = pictures.path
    queue = ReadingQueue(named: pictures.path)
    rate = options.framesPerSecond.flatMap { FrameRate($0) } ?? .usual
    waiting = first
    memory = options.memory ?? FramePool()
    self.options = options
    self.pictures = pictures
  }

  deinit { for task in ahead { task.cancel() } }

  func nextFrame() async throws -> Frame? {
    // The first picture is decoded alone: the caller may want no other, and the next picture of a stream may
    // take long.
    let isSmall = memory.byteCount <= Self.largestSideBySide
    let width = sequence > 0 && pictures.isRegularFile && isSmall ? Self.width : 1
    while ahead.count < width, let next = nextDecoding() { ahead.append(next) }
    return ahead.isEmpty ? nil : try await ahead.removeFirst().value
  }

  /// Returns the next picture without decoding it, for a reader that may not need its frame. Don't mix with
  /// `nextFrame`.
  func nextCapture() throws -> Capture? {
    guard let picture = try waiting ?? pictures.next() else { return nil }
    waiting = nil
    sequence += 1
    return Capture(jpeg: picture, timestamp: CaptureClock.now, options, memory: memory)
  }

  var framesPerSecond: Double? { rate.framesPerSecond }

  func rewind() throws {
    try pictures.rewind()
    for task in ahead { task.cancel() }
    ahead = []
    waiting = nil
    sequence = 0
  }

  /// Reads a picture and starts to decode it. Errors are thrown when its frame is requested.
  private func nextDecoding() -> Task<Frame, any Error>? {
    let (index, path, rate, options, memory) = (sequence, name, rate, options, memory)
    do {
      guard let picture = try waiting ?? pictures.next() else { return nil }
      waiting = nil
      sequence += 1
      // Damage in a file is an error; a stream continues after a damaged frame.
      let damage: JPEGDecoder.DamagePolicy = pictures.isRegularFile ? .isAnError : .isTolerated
      return Task(executorPreference: DecodingQueue.shared) {
        try Task.checkCancellation()
        do throws(CodecError) {
          let frame = try JPEGDecoder.decode(
            picture, maximumPixels: options.maximumPixels, damage: damage, decoding: options.decoding,
            memory: memory)
          return frame.with(sequence: index, timestamp: rate.time(of: index), color: options.color)
        } catch {
          throw SourceError(decoding: error, path: path, reason: "frame \(index): \(error)")
        }
      }
    } catch {
      return Task { throw error }
    }
  }
}

struct MJPEGReader: ~Copyable {
  private var stream: ByteStream
  private var splitter: MJPEGSplitter
  private var intake: StreamIntake
  private var count = 0

  init(_ stream: consuming ByteStream, _ options: SourceOptions) {
    splitter = MJPEGSplitter(pictureLimit: options.pictureLimit)
    // A file is read only on demand, so it needs no rate limit.
    intake = StreamIntake(options, isPaced: !stream.isRegularFile)
    self.stream = stream
  }

  var path: String { stream.path }
  var isRegularFile: Bool { stream.isRegularFile }

  /// Returns the next picture from its SOI to its EOI; nil at the end. The EOI may be missing before another
  /// SOI and at the end of the stream: the decoder then finds whether the picture is complete.
  mutating func next() throws -> [UInt8]? {
    var picture: [UInt8]?
    do {
      while picture == nil {
        var taken = 0
        let isMore = try stream.take { (bytes) throws(MJPEGSplitter.TooLarge) in
          let (count, found) = try splitter.take(bytes)
          picture = found
          taken = count
          return count
        }
        guard isMore else { break }
        let pause = try intake.took(
          taken, waiting: splitter.partialPicture.count, foundPicture: picture != nil)
        try StreamIntake.rest(pause)
      }
    } catch is MJPEGSplitter.TooLarge {
      throw badPicture("is larger than \(splitter.pictureLimit >> 20) MiB")
    }
    if picture == nil, !splitter.partialPicture.isEmpty {
      picture = splitter.partialPicture
      splitter = MJPEGSplitter(pictureLimit: splitter.pictureLimit)
    }
    if picture != nil { count += 1 }
    return picture
  }

  mutating func rewind() throws(SourceError) {
    try stream.rewind()
    splitter = MJPEGSplitter(pictureLimit: splitter.pictureLimit)
    count = 0
  }

  private func badPicture(_ reason: String) -> SourceError {
    SourceError(.badData, path: path, reason: "frame \(count) \(reason)")
  }
}
