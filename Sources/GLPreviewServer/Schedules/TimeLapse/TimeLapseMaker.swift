// Makes time-lapses: decodes, draws and encodes stored pictures one after another into an MP4 file.
internal import HTTPTypes

/// A time-lapse to make.
struct TimeLapseOrder: Sendable {
  let pictures: StoredPictures
  let framesPerSecond: Int
  /// The size in pixels; nil for a side that the first picture determines.
  let width: Int?
  let height: Int?
  let video: VideoConfiguration
  /// Identifies the result: the pictures and all settings.
  let key: String

  init(_ pictures: StoredPictures, _ query: TimeLapseQuery, _ video: VideoConfiguration) {
    self.pictures = pictures
    framesPerSecond = query.framesPerSecond
    (width, height, self.video) = (query.width, query.height, video)
    let settings = "\(query.framesPerSecond) \(query.width ?? 0)x\(query.height ?? 0) \(video)"
    key = Digest.name(of: Array("\(pictures.digest) \(settings)".utf8))
  }
}

/// A finished time-lapse: an MP4 file that has no name and is removed with this value.
struct TimeLapse: Sendable {
  /// The beginning of the file. Everything else is `samples`.
  private let head: [UInt8]
  private let samples: DiskFile
  private let lease: MemoryLease
  /// Its share of `TimeLapseMaker.files`.
  private let room: MemoryLease
  /// The size of the file.
  let byteCount: Int
  let pictureCount: Int
  /// Identifies the bytes of the file. Encoders need not give the same bytes again for the same pictures.
  let entityTag: String

  fileprivate init(
    _ key: String, head: [UInt8], _ samples: DiskFile, in room: MemoryLease, sampleBytes: Int, pictures: Int,
    within budget: MemoryBudget
  ) throws(MemoryBudget.Exceeded) {
    (self.head, self.samples, self.room, pictureCount) = (head, samples, room, pictures)
    lease = try budget.reserve(head.count)
    byteCount = head.count + sampleBytes
    entityTag = "\"\(key)-\(UInt32.random(in: 0...UInt32.max))\""
  }

  /// Reads up to `count` bytes from `offset` on.
  func read(_ offset: Int, _ count: Int) async -> [UInt8] {
    guard offset >= head.count else { return Array(head[offset..<min(offset + count, head.count)]) }
    return await samples.read(offset - head.count, count)
  }
}

struct TimeLapseMaker: Sendable {
  let session: PreviewSession
  let budget: MemoryBudget
  /// The folder of snapshots. The file is written in its file system, or in that of temporary files if that one
  /// supports no files without a name.
  let folder: String
  /// The most pixels of a picture.
  let mostPixels: Int
  /// The most bytes of a file.
  var mostBytes = 4 << 30
  /// Counts the bytes of all files that exist: those being made, those kept, and those that clients still
  /// read.
  let files = MemoryBudget(capacity: .max)

  /// The time between two keyframes, in seconds of the video. Players can seek to keyframes.
  private static let keyframeSeconds = 2
  /// The bytes that are written before the room on the disk is checked again.
  private static let bytesPerCheck = 16 << 20

  /// Makes a time-lapse. Pictures that have been removed or are damaged are left out.
  ///
  /// - Throws: `Problem`: 404 if no picture is left, 400 if the pictures or the file are too large, 507 if the
  ///   disk is full or nearly full; `VideoError`, `MemoryBudget.Exceeded`, and the errors of drawing;
  ///   `CancellationError`.
  func make(_ order: TimeLapseOrder) async throws -> TimeLapse {
    do {
      return try await made(order)
    } catch let error as DiskError {
      throw error.isFull
        ? Self.full("full")
        : Problem(.internalServerError, "the time-lapse can't be written: \(error)")
    }
  }

  private static func full(_ state: String) -> Problem {
    Problem(
      .insufficientStorage,
      "the disk is \(state): a time-lapse needs room in the file system of 'snapshots.folder', or of TMPDIR"
    )
  }

  /// Requires room in the file system in which a file is made.
  private func requireRoom(for file: DiskFile) async throws(Problem) {
    if await DiskSpace(of: file)?.isShort == true { throw Self.full("nearly full") }
  }

  private func made(_ order: TimeLapseOrder) async throws -> TimeLapse {
    let (rate, memory) = (order.framesPerSecond, FramePool(budget: budget))
    let encoder = VideoEncoder(order.video, within: budget)
    let file = try DiskFile(unnamedIn: folder)
    let room = try files.reserve(0)
    var tables = MP4Tables()
    var view: ViewConfiguration?
    var (count, byteCount, nextCheck) = (0, 0, 0)
    for picture in order.pictures.pictures {
      try Task.checkCancellation()
      if byteCount >= nextCheck {
        try await requireRoom(for: file)
        nextCheck = byteCount + Self.bytesPerCheck
      }
      guard let frame = try await order.pictures.frame(of: picture, memory: memory) else { continue }
      let target = try view ?? self.view(of: order, from: frame.format.uprightSize)
      view = target
      // The number of the picture, not the time of its capture, is its time in the video.
      let time = CaptureInstant.start + .nanoseconds(count * 1_000_000_000 / rate)
      guard let drawn = try await session.draw(frame, [target], as: .video, at: time).first else { continue }
      let sample = try await encoder.encode(
        drawn.picture, at: time, isKey: count % (Self.keyframeSeconds * rate) == 0)
      guard byteCount + sample.bytes.count <= mostBytes else { throw tooLarge(count, order) }
      try room.resize(to: byteCount + sample.bytes.count)
      try await file.write(sample.bytes, at: byteCount)
      tables.append(sample)
      (count, byteCount) = (count + 1, byteCount + sample.bytes.count)
    }
    guard count > 0 else {
      throw Problem.noPictures(
        "none of the \(order.pictures.pictures.count) pictures can be decoded", code: "not-stored",
        nearest: [])
    }
    // Rounded up, so that it is not shorter by a tick.
    let last = Duration.nanoseconds((1_000_000_000 + rate - 1) / rate)
    return try TimeLapse(
      order.key, head: tables.head(lastDuration: last), file, in: room, sampleBytes: byteCount,
      pictures: count, within: budget)
  }

  private func tooLarge(_ count: Int, _ order: TimeLapseOrder) -> Problem {
    .badParameter(
      "every",
      "a time-lapse has at most \(mostBytes) bytes, which suffice for \(count) of these \(order.pictures.pictures.count) pictures: set 'every' or a smaller 'width'"
    )
  }

  /// Returns the view for all pictures. Pictures of another shape than the first one get bars.
  private func view(of order: TimeLapseOrder, from first: Size) throws -> ViewConfiguration {
    let size = TimeLapseSize.size(from: first, width: order.width, height: order.height)
    guard size.pixelCount <= mostPixels else {
      throw Problem.badParameter(
        "width", "a time-lapse of \(size) has more than \(mostPixels) pixels (limits.pixels): set 'width'")
    }
    return ViewConfiguration(
      name: "time-lapse", width: size.width, height: size.height, contentMode: .fit)
  }
}

extension HTTPResponse.Status {
  /// RFC 4918.
  static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}
