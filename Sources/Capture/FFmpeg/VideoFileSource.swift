// Reads every picture of a video file in order, with the file's timestamps.

/// The pictures of the best video stream in a file.
///
/// A damaged picture is an error; the following ones are skipped up to the next keyframe, because they depend
/// on it. At the start of a cut recording, pictures that depend on missing ones can't be decoded and are
/// skipped silently.
package actor VideoFileSource: FrameSource {
  package nonisolated let name: String
  package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let options: SourceOptions
  private let memory: FramePool
  private let reader: VideoReader
  package nonisolated let framesPerSecond: Double?
  private var sequence = 0
  /// The time of the first picture, measured by the file's clock.
  private var start: Duration?
  /// Whether pictures are skipped because they depend on a lost one.
  private var isLost = false
  private var isOver = false

  /// Opens the file and reads its first packets.
  ///
  /// - Throws: `VideoFailure`; `.unknownFormat` if it is not a video.
  init(_ path: String, _ options: SourceOptions, name: String) throws(VideoFailure) {
    let reader = try VideoReader(
      file: path, maximumPixels: options.maximumPixels, within: options.memory?.budget)
    self.name = name
    framesPerSecond = reader.frameRate?.framesPerSecond
    queue = ReadingQueue(named: name)
    memory = options.memory ?? FramePool()
    self.options = options
    self.reader = reader
  }

  package func nextFrame() throws -> Frame? {
    while !isOver {
      try Task.checkCancellation()
      guard let picture = try nextPicture() else { break }
      defer { sequence += 1 }
      if isLost, !picture.isKey { continue }
      isLost = picture.isDamaged
      guard !isLost else { throw badFrame("is damaged") }
      let time = picture.time ?? rate.time(of: sequence).sinceStart
      if start == nil { start = time }
      do {
        let frame = try picture.frame(maximumPixels: options.maximumPixels, memory: memory)
        let timestamp = CaptureInstant(sinceStart: time - (start ?? time))
        return frame.with(sequence: sequence, timestamp: timestamp, color: options.color)
      } catch {
        throw SourceError(decoding: error, path: name, reason: "frame \(sequence): \(error)")
      }
    }
    return nil
  }

  /// The rate for pictures without a timestamp.
  private var rate: FrameRate {
    options.framesPerSecond.flatMap { FrameRate($0) } ?? reader.frameRate ?? .usual
  }

  package func rewind() throws {
    sequence = 0
    (start, isLost, isOver) = (nil, false, false)
    do {
      try reader.rewind()
    } catch {
      isOver = true
      throw SourceError(.badData, path: name, reason: error.description)
    }
  }

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
        throw SourceError(decoding: error, path: name, reason: "frame \(sequence): \(error)")
      }
    }
  }

  private func badFrame(_ reason: String) -> SourceError {
    SourceError(.badData, path: name, reason: "frame \(sequence): \(reason)")
  }
}
