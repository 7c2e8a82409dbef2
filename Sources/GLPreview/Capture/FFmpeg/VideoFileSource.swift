// A video in a file: every picture in order, with the times that the file gives them.
#if FFmpeg
  internal import PreviewCore

  /// The pictures of the best video in a file.
  ///
  /// A picture that is damaged is an error; after it come those that do not rest on it, from the next key picture on. What a
  /// cut-out recording begins with, and can't be decoded because what it rests on is missing, is left out without a word.
  actor VideoFileSource: FrameSource {
    nonisolated let name: String
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
    private let queue: ReadingQueue
    private let options: SourceOptions
    private let memory: FramePool
    private let reader: VideoReader
    /// As the file says.
    nonisolated let framesPerSecond: Double?
    private var sequence = 0
    /// The first picture's, by the file's clock.
    private var start: Duration?
    /// Whether pictures rest on one that is lost.
    private var isLost = false
    private var isOver = false

    /// Opens the file, as far as its first packets.
    ///
    /// - Throws: `VideoFailure`: `.unknownFormat` where it is no video.
    init(_ path: String, _ options: SourceOptions, name: String) throws(VideoFailure) {
      let reader = try VideoReader(file: path, maximumPixels: options.maximumPixels)
      self.name = name
      framesPerSecond = reader.frameRate.map { Double($0.numerator) / Double($0.denominator) }
      queue = ReadingQueue(named: name)
      memory = options.memory ?? FramePool()
      self.options = options
      self.reader = reader
    }

    func nextFrame() throws -> Frame? {
      while !isOver {
        try Task.checkCancellation()
        guard let picture = try nextPicture() else { break }
        defer { sequence += 1 }
        if isLost, !picture.isKey { continue }
        isLost = picture.isDamaged
        guard !isLost else { throw badFrame("is damaged") }
        let time = picture.time ?? rate.time(of: sequence)
        if start == nil { start = time }
        do {
          let frame = try picture.frame(maximumPixels: options.maximumPixels, memory: memory)
          return frame.with(sequence: sequence, timestamp: time - (start ?? time), color: options.color)
        } catch {
          throw badFrame("\(error)")
        }
      }
      return nil
    }

    /// For pictures without a time.
    private var rate: FrameRate {
      options.framesPerSecond.flatMap { FrameRate($0) } ?? reader.frameRate ?? .usual
    }

    func rewind() throws {
      sequence = 0
      (start, isLost, isOver) = (nil, false, false)
      do {
        try reader.rewind()
      } catch {
        isOver = true
        throw SourceError(.badData, path: name, reason: error.description)
      }
    }

    /// Nil at the end.
    private func nextPicture() throws -> VideoPicture? {
      do {
        return try reader.next()
      } catch {
        switch error.kind {
        case .ended:
          isOver = true
          return nil
        case .damaged:
          isLost = true
          defer { sequence += 1 }
          throw badFrame(error.description)
        default:
          isOver = true
          throw badFrame(error.description)
        }
      }
    }

    private func badFrame(_ reason: String) -> SourceError {
      SourceError(.badData, path: name, reason: "frame \(sequence): \(reason)")
    }
  }
#endif
