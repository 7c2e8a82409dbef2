// Finds and decodes the recorded picture of a time.
internal import HTTPTypes
internal import PreviewCore
internal import Synchronization

/// A picture in a recording.
struct RecordedMoment: Sendable {
  let recording: Recording
  /// The number of the picture in the file.
  let number: Int
  let time: WallTime
  fileprivate let index: RecordedIndex

  fileprivate init(_ recording: Recording, _ number: Int, of index: RecordedIndex) {
    (self.recording, self.number, self.index) = (recording, number, index)
    let ticks = index.index.pictures[number].ticks
    time = WallTime(sinceEpoch: recording.firstTime.sinceEpoch + .microseconds(ticks * 100 / 9))
  }
}

extension Recording {
  /// A time in ticks of 1/90000 s since the first picture.
  fileprivate func ticks(at time: WallTime) -> Int {
    // The limit is never reached by a recording.
    Int(min((time.sinceEpoch - firstTime.sinceEpoch) / .seconds(1), 1e9) * Double(videoTimescale))
  }
}

extension MP4Index {
  /// The keyframe that is nearest to a time; nil if there is none.
  fileprivate func keyframe(nearest ticks: Int) -> Int? {
    let number = picture(at: ticks) ?? 0
    guard pictures.indices.contains(number) else { return nil }
    let before = pictures[...number].lastIndex { $0.isKey }
    let after = pictures[(number + 1)...].firstIndex { $0.isKey }
    return [before, after].compactMap(\.self).min {
      abs(pictures[$0].ticks - ticks) < abs(pictures[$1].ticks - ticks)
    }
  }
}

/// A decoded picture and its size; the coded frame may be a column or a row larger.
struct DecodedPicture: Sendable {
  let frame: Frame
  let size: Size
}

/// The pictures of a file, as far as it was written.
private final class RecordedIndex: Sendable {
  let index: MP4Index
  private let lease: MemoryLease

  init(_ index: MP4Index, holding lease: MemoryLease) { (self.index, self.lease) = (index, lease) }

  /// The memory of an index.
  static func bytes(of index: MP4Index) -> Int {
    index.pictures.count * MemoryLayout<MP4Index.Picture>.stride
  }
}

/// Decodes pictures of recordings. Requests for the same picture share its decoding, and the newest frames are
/// kept.
final class RecordedMoments: Sendable {
  let folder: RecordingFolder
  private let budget: MemoryBudget
  private let maximumPixels: Int
  private let indexes: SingleFlightCache<FileKey, RecordedIndex>
  private let frames: SingleFlightCache<FrameKey, DecodedPicture>
  /// The last indexes of files, from which those of the same files go on when they have grown.
  private let latest: Mutex<LRUCache<StampedFileName, RecordedIndex>>
  private let gate = AdmissionLimit(capacity: 4, subject: "recorded pictures being decoded")

  /// A file, as far as it was written.
  private struct FileKey: Hashable {
    let name: StampedFileName
    let byteCount: Int
  }

  private struct FrameKey: Hashable {
    let name: StampedFileName
    let number: Int
  }

  /// The most bytes of indexes, and of frames, that are kept.
  private static let mostBytes = 32 << 20
  /// The most bytes of the pictures that one depends on.
  private static let mostPathBytes = 64 << 20
  /// How long a request waits for its place at most.
  private static let queueTimeout = Duration.seconds(60)
  /// A time in a gap this short, such as between two files, has the last picture before it.
  private static let shortestGap = Duration.seconds(1)
  /// A time after all recordings.
  static let endOfTime = WallTime(sinceEpoch: .seconds(253_402_300_799))
  /// How much later than requested a picture may be: clocks drift, and times in URLs are rounded.
  private static let drift = Duration.milliseconds(2)

  init(_ folder: RecordingFolder, within budget: MemoryBudget, maximumPixels: Int) {
    (self.folder, self.budget, self.maximumPixels) = (folder, budget, maximumPixels)
    let bytes = min(Self.mostBytes, budget.capacity / 32)
    latest = Mutex(LRUCache(capacity: 16, maximumCost: bytes))
    indexes = SingleFlightCache(capacity: bytes) { RecordedIndex.bytes(of: $0.index) }
    frames = SingleFlightCache(capacity: bytes) { $0.frame.storage.count }
  }

  /// Finds the newest picture at or before a time; the newest of all for nil. `view` is the recorded view; nil
  /// stands for `preferred`, or any other if that was not recorded then. With `nearKey`, the nearest keyframe is
  /// found.
  ///
  /// - Returns: the picture; nil if nothing of that time was recorded.
  /// - Throws: `MemoryBudget.Exceeded`.
  func find(
    _ time: WallTime?, of camera: String, view: String?, preferring preferred: String?, nearKey: Bool
  ) async throws -> RecordedMoment? {
    let isWanted: @Sendable (Recording) -> Bool = { view == nil || $0.view == view }
    let time = time.map { WallTime(sinceEpoch: $0.sinceEpoch + Self.drift) } ?? Self.endOfTime
    let from = WallTime(sinceEpoch: time.sinceEpoch - Self.shortestGap)
    // With nothing requested, the newest recording counts, whenever it was.
    let found =
      time == Self.endOfTime
      ? await newest(of: camera, isWanted)
      : await folder.read(of: camera, from: from, to: time, limit: 100, where: isWanted)
    let order = found.filter { view != nil || $0.view == preferred } + found
    for recording in order {
      if let moment = try await moment(of: recording, at: time, nearKey: nearKey) { return moment }
    }
    return nil
  }

  private func newest(of camera: String, _ isWanted: (Recording) -> Bool) async -> [Recording] {
    await folder.read(of: camera, from: nil, to: nil, limit: 10, where: isWanted)
  }

  /// Returns the newest picture of a recording at or before `time`, or the nearest keyframe; nil if it begins
  /// later.
  private func moment(
    of recording: Recording, at time: WallTime, nearKey: Bool
  ) async throws -> RecordedMoment? {
    guard recording.firstTime <= time else { return nil }
    let index = try await index(of: recording)
    let ticks = recording.ticks(at: time)
    let number = nearKey ? index.index.keyframe(nearest: ticks) : index.index.picture(at: ticks)
    return number.map { RecordedMoment(recording, $0, of: index) }
  }

  /// Returns the keyframe of a recording that is nearest to each time; nil if there is none.
  ///
  /// - Throws: `Problem` 404 if the recording has been removed; `MemoryBudget.Exceeded`.
  func keyframes(of recording: Recording, nearest times: [WallTime]) async throws -> [RecordedMoment?] {
    let index = try await index(of: recording)
    return times.map { time in
      index.index.keyframe(nearest: recording.ticks(at: time)).map {
        RecordedMoment(recording, $0, of: index)
      }
    }
  }

  /// Reads where the pictures of a file are, once for all requests. Of a file that has grown, only what is new is
  /// read.
  private func index(of recording: Recording) async throws -> RecordedIndex {
    let key = FileKey(name: recording.name, byteCount: recording.bytes)
    return try await indexes.value(key, { nil }) { [self] in
      let permit = try await gate.enter(within: Self.queueTimeout)
      defer { withExtendedLifetime(permit) {} }
      guard let file = await folder.open(recording) else { throw Self.removed }
      let earlier = latest.withLock { $0[recording.name] }?.index ?? MP4Index()
      let lease = try budget.reserve(0)
      let found = await file.index(from: earlier, to: recording.bytes) { count in
        (try? lease.resize(to: count * MP4Index.bytesPerPicture)) != nil
      }
      try Task.checkCancellation()
      guard let index = found else { throw MemoryBudget.Exceeded() }
      try lease.resize(to: RecordedIndex.bytes(of: index))
      let known = RecordedIndex(index, holding: lease)
      latest.withLock { $0.insert(known, for: recording.name, cost: RecordedIndex.bytes(of: index)) }
      return known
    }
  }

  private static let removed = Problem.notFound("the recording has been removed")

  /// Decodes a picture, once for all requests that wait for it.
  ///
  /// - Throws: `Problem`: 404 if the file has been removed, 429 and 503 if too many wait, 501 without a
  ///   decoder, 500 for a damaged file; `MemoryBudget.Exceeded`.
  func picture(of moment: RecordedMoment) async throws -> DecodedPicture {
    let index = moment.index.index
    guard let path = index.path(to: moment.number) else { throw Self.damaged }
    let key = FrameKey(name: moment.recording.name, number: moment.number)
    return try await frames.value(key, { nil }) { [self] in
      let permit = try await gate.enter(within: Self.queueTimeout)
      defer { withExtendedLifetime(permit) {} }
      return try await decoded(path, of: index, in: moment.recording)
    }
  }

  private static let damaged = Problem(.internalServerError, "the recording is damaged there")

  private func decoded(
    _ path: ClosedRange<Int>, of index: MP4Index, in recording: Recording
  ) async throws -> DecodedPicture {
    let pictures = index.pictures[path]
    guard let first = pictures.first, let last = pictures.last else { throw Self.damaged }
    let range = first.offset..<last.offset + last.byteCount
    guard range.count <= Self.mostPathBytes else { throw Self.damaged }
    // The bytes of the file, and as samples.
    let lease = try budget.reserve(2 * range.count)
    defer { withExtendedLifetime(lease) {} }
    guard let file = await folder.open(recording) else { throw Self.removed }
    let bytes = await file.read(range.lowerBound, range.count)
    let memory = FramePool(budget: budget)
    guard let decoder = BufferedDecoding.makeDecoder(maximumPixels: maximumPixels, memory: memory) else {
      throw Problem(.notImplemented, "this build can't decode video: it was built without FFmpeg")
    }
    let task = Task(executorPreference: DecodingQueue.shared) { [maximumPixels] in
      let samples = index.samples(of: path, maximumPixels: maximumPixels) { offset, count in
        Array(bytes.dropFirst(offset - range.lowerBound).prefix(count))
      }
      guard let samples, let size = samples.last?.format.size else { throw Self.damaged }
      do { return DecodedPicture(frame: try decoder.frame(of: samples), size: size) } catch {
        try Task.checkCancellation()
        if error.isOutOfMemory { throw MemoryBudget.Exceeded() }
        throw Self.damaged
      }
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
