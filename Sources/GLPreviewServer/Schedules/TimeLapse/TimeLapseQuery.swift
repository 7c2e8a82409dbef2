// The parameters of a time-lapse's URL.
internal import Hummingbird

/// A requested time-lapse: which pictures it shows, how fast, and in which size.
struct TimeLapseQuery: Sendable, Hashable {
  /// The times of the first and the last picture at most; both are included.
  let from: WallTime
  let to: WallTime
  /// The least time between two pictures; nil for all pictures.
  let every: Duration?
  let framesPerSecond: Int
  /// The size in pixels; nil for a side that the first picture determines.
  let width: Int?
  let height: Int?
  /// Whether browsers should save it as a file.
  let isDownload: Bool

  private static let usualSpan = Duration.seconds(86400)
  private static let usualRate = 25

  private static let start = QueryKey<TimePoint>.timePoint(
    "from",
    "the time of the first picture: `2026-11-30T06:00:00Z`, seconds since 1970, or a time before now such as `-1d`; by default a day before `to`"
  )
  private static let end = QueryKey<TimePoint>.timePoint(
    "to", "the time of the last picture, in the same forms; by default now")
  private static let interval = QueryKey<Duration>(
    "every", .text, "the least time between two pictures, such as `10m`; by default all pictures are shown"
  ) { name, text throws(ParameterError) in try SnapshotMoment.duration(text, key: name) }
  private static let rate = QueryKey<Int>.integer(
    "fps", in: 1...60, usual: usualRate, "the pictures per second")
  private static let columns = QueryKey<Int>.integer(
    "width", in: TimeLapseSize.sides,
    "the width in pixels, rounded to an even number; by default that of the first picture, at most 1920")
  private static let rows = QueryKey<Int>.integer(
    "height", in: TimeLapseSize.sides,
    "the height in pixels, rounded to an even number; by default in the first picture's aspect ratio")
  private static let download = QueryKey<Bool>.flag("download", "whether browsers save the answer as a file")

  static let query = [QueryEntry].of(start, end, interval, rate, columns, rows, download)

  /// Parses the URL of a request that came at `now`.
  ///
  /// - Throws: `Problem`, `ParameterError`.
  init(_ request: Request, now: WallTime = .now) throws {
    var query = try QueryParameters(request)
    let (start, end) = (try query.take(Self.start), try query.take(Self.end))
    to = end?.time(before: now) ?? now
    from = start?.time(before: now) ?? WallTime(sinceEpoch: to.sinceEpoch - Self.usualSpan)
    every = try query.take(Self.interval)
    framesPerSecond = try query.take(Self.rate) ?? Self.usualRate
    (width, height) = (try query.take(Self.columns), try query.take(Self.rows))
    isDownload = try query.take(Self.download) ?? false
    try query.finish(known: Self.query)
    guard from < to else {
      throw Problem.badParameter("from", "from, \(from), must be before to, \(to)")
    }
  }
}

/// The sizes of time-lapses.
enum TimeLapseSize {
  /// The sides that a URL may request.
  static let sides = 16...8192
  /// The greatest width that is not requested.
  private static let usualWidth = 1920

  /// Returns the size of a time-lapse whose first picture has the size `first`. Both sides are even, as H.264
  /// requires.
  static func size(from first: Size, width: Int?, height: Int?) -> Size {
    switch (width, height) {
    case (let width?, let height?): even(width, height)
    case (let width?, nil): even(width, scaled(first.height, width, first.width))
    case (nil, let height?): even(scaled(first.width, height, first.height), height)
    case (nil, nil): size(from: first, width: min(first.width, usualWidth), height: nil)
    }
  }

  /// Returns `side * numerator / denominator`, rounded.
  private static func scaled(_ side: Int, _ numerator: Int, _ denominator: Int) -> Int {
    (side * numerator + denominator / 2) / max(denominator, 1)
  }

  private static func even(_ width: Int, _ height: Int) -> Size {
    func rounded(_ side: Int) -> Int { max((side + 1) / 2 * 2, sides.lowerBound) }
    return Size(width: rounded(width), height: rounded(height))
  }
}
