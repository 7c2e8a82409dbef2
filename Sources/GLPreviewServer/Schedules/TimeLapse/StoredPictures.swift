// Finds the pictures of a time-lapse among the files of schedules.

/// Chooses the pictures of a view from the names in a camera's folder, without I/O.
struct PictureSearch: Sendable {
  private let view: String
  /// The stamps of the first and the last time. Stamps sort by time.
  private let first: String
  private let last: String
  /// The times found, in seconds since 1970, in no particular order.
  private var found: [Int] = []
  /// The stamps of the pictures closest before the first and after the last time.
  private var before: String?
  private var after: String?

  /// The end of the stamps of schedules, whose moments are whole seconds.
  private static let wholeSecond = ".000Z"

  /// `view` is the view's name as in file names; both times are included.
  init(of view: Substring, from: WallTime, to: WallTime) {
    self.view = String(view)
    (first, last) = (StampedFileName.stamp(from), StampedFileName.stamp(to))
  }

  /// Considers a file.
  mutating func see(_ name: StampedFileName) {
    let stamp = name.stamp
    guard stamp.hasSuffix(Self.wholeSecond), name.view == view else { return }
    if stamp < first {
      if before.map({ $0 < stamp }) ?? true { before = String(stamp) }
    } else if stamp > last {
      if after.map({ $0 > stamp }) ?? true { after = String(stamp) }
    } else if let time = Self.time(stamp) {
      found.append(time)
    }
  }

  /// The times of the closest pictures before and after the span, in order.
  var nearest: [WallTime] {
    [before, after].compactMap { stamp in
      stamp.flatMap { Self.time($0[...]) }.map { WallTime(sinceEpoch: .seconds($0)) }
    }
  }

  /// Returns the times found in order, in seconds since 1970, without those that follow another one after less
  /// than `interval`.
  func times(every interval: Duration?) -> [Int] {
    let sorted = found.sorted()
    guard let interval else { return sorted }
    var chosen: [Int] = []
    for time in sorted where chosen.last.map({ Duration.seconds(time - $0) >= interval }) ?? true {
      chosen.append(time)
    }
    return chosen
  }

  /// Returns the seconds since 1970 of a stamp; nil if it is not a valid date and time.
  private static func time(_ stamp: Substring) -> Int? {
    var text = Array(stamp.utf8)
    for index in [13, 16] { text[index] = UInt8(ascii: ":") }
    return WallTime(rfc3339: String(decoding: text, as: UTF8.self)).map {
      Int($0.sinceEpoch.components.seconds)
    }
  }
}

/// The pictures of a time-lapse: files of schedules, in the order of time.
struct StoredPictures: Sendable {
  struct Picture: Sendable, Hashable {
    /// In seconds since 1970.
    let time: Int
    let byteCount: Int
  }

  let camera: String
  let view: String
  /// At least one.
  let pictures: [Picture]
  private let files: FolderReader

  /// The most pictures of a time-lapse.
  static let mostPictures = 20_000
  /// The limits of a picture are those of cameras.
  private static let limits = CameraConfiguration.usualOptions

  /// Lists the folder at `path`.
  ///
  /// - Throws: `Problem`: 404 if there are no pictures, 400 if there are too many; `FolderError`.
  init(
    of camera: String, _ view: String, in path: String, _ query: TimeLapseQuery,
    atMost limit: Int = Self.mostPictures
  ) throws {
    (self.camera, self.view) = (camera, view)
    let first = StampedFileName(camera: camera, view: view, time: query.from)
    var search = PictureSearch(of: first.view, from: query.from, to: query.to)
    let folder = try FolderReader(path, camera: first.camera)
    folder?.forEachName { search.see($0) }
    let times = search.times(every: query.every)
    guard times.count <= limit else { throw Self.tooMany(times, limit) }
    var found: [Picture] = []
    for time in times {
      guard let byteCount = folder?.size(of: Self.name(camera, view, time)) else { continue }
      found.append(Picture(time: time, byteCount: byteCount))
    }
    guard let folder, !found.isEmpty else {
      throw Problem.noPictures(
        "no pictures of view '\(view)' of '\(camera)' are stored from \(query.from) to \(query.to)",
        code: "not-stored", nearest: search.nearest)
    }
    (files, pictures) = (folder, found)
  }

  private static func tooMany(_ times: [Int], _ limit: Int) -> Problem {
    let span = (times.last ?? 0) - (times.first ?? 0)
    let interval = span / (limit - 1) + 1
    return .badParameter(
      "every",
      "there are \(times.count) pictures then, and a time-lapse has at most \(limit): set 'every', such as every=\(interval)s"
    )
  }

  private static func name(_ camera: String, _ view: String, _ time: Int) -> StampedFileName {
    StampedFileName(camera: camera, view: view, time: WallTime(sinceEpoch: .seconds(time)))
  }

  /// Identifies the pictures by their names and sizes.
  var digest: String {
    var text = "\(camera)/\(view)\n"
    for picture in pictures { text += "\(picture.time) \(picture.byteCount)\n" }
    return Digest.name(of: Array(text.utf8))
  }

  /// Reads and decodes a picture; nil if its file has been removed, is damaged or too large.
  ///
  /// - Throws: `MemoryBudget.Exceeded`; `CancellationError`.
  func frame(of picture: Picture, memory: FramePool) async throws -> Frame? {
    let limit = Self.limits.pictureLimit
    guard picture.byteCount <= limit else { return nil }
    let lease = try memory.budget?.reserve(picture.byteCount)
    defer { withExtendedLifetime(lease) {} }
    let name = Self.name(camera, view, picture.time)
    let read = await onDiskThread { [files] in files.read(name, atMost: picture.byteCount) }
    guard let bytes = read else { return nil }
    do {
      return try await Task(executorPreference: DecodingQueue.shared) {
        try JPEGDecoder.decode(bytes, maximumPixels: Self.limits.maximumPixels, memory: memory)
      }.value
    } catch let error as CodecError {
      switch error.kind {
      case .noMemory: throw MemoryBudget.Exceeded()
      case .stopped: throw CancellationError()
      default: return nil
      }
    }
  }
}
