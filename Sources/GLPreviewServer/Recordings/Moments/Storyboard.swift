// The layout of a storyboard, and the WebVTT that describes it. It does no I/O.
internal import Hummingbird

/// A span of time in equal parts, each with a tile. A sheet is a picture of 25 tiles; each tile has a fixed
/// place, so that sheets and the description can be made independently.
struct Storyboard: Sendable, Hashable {
  /// The ends of the span, in milliseconds since 1970.
  let from, to: Int
  /// The number of parts.
  let count: Int

  /// The tiles in a row of a sheet, and in a column.
  static let columns = 5
  static let rows = 5
  static let tilesPerSheet = columns * rows

  var sheetCount: Int { (count + Self.tilesPerSheet - 1) / Self.tilesPerSheet }
  var parts: Range<Int> { 0..<count }
  var start: WallTime { start(of: 0) }

  /// The length of a part.
  var partLength: Duration { Duration.milliseconds(to - from) / count }

  /// The parts of a sheet; the last sheet may have fewer.
  func parts(ofSheet number: Int) -> Range<Int> {
    let first = min(number * Self.tilesPerSheet, count)
    return first..<min(first + Self.tilesPerSheet, count)
  }

  // MARK: Times

  /// The milliseconds from the start of the span to that of a part; `count` gives the end.
  private func offset(of part: Int) -> Int { (to - from) * part / count }

  /// When a part starts; `count` gives the end of the span.
  func start(of part: Int) -> WallTime { WallTime(sinceEpoch: .milliseconds(from + offset(of: part))) }

  func middle(of part: Int) -> WallTime {
    WallTime(sinceEpoch: .microseconds((2 * from + offset(of: part) + offset(of: part + 1)) * 500))
  }

  /// Returns the parts that may overlap a time span: one more at each end, because of rounding.
  func parts(near start: WallTime, _ end: WallTime) -> Range<Int> {
    func place(_ time: WallTime) -> Int {
      let elapsed = time.sinceEpoch - Duration.milliseconds(from)
      let share = elapsed / Duration.milliseconds(to - from)
      return Int((min(max(share, -1), 2) * Double(count)).rounded(.down))
    }
    let first = min(max(place(start) - 1, 0), count)
    return first..<min(max(place(end) + 2, first), count)
  }

  // MARK: Places

  /// The size of a sheet with tiles of a size.
  func size(ofSheet number: Int, tile: Size) -> Size {
    let tiles = parts(ofSheet: number).count
    let rows = (tiles + Self.columns - 1) / Self.columns
    return Size(width: min(tiles, Self.columns) * tile.width, height: rows * tile.height)
  }

  /// The place of a part's tile on its sheet.
  func place(of part: Int, tile: Size) -> Rectangle {
    let number = part % Self.tilesPerSheet
    return Rectangle(
      x: number % Self.columns * tile.width, y: number / Self.columns * tile.height, width: tile.width,
      height: tile.height)
  }

  // MARK: WebVTT

  /// Returns ranges of parts: adjacent parts with equal tiles are joined, and parts without a tile left out.
  static func joined<Tile: Equatable>(_ tiles: [Tile?]) -> [Range<Int>] {
    var (ranges, last): ([Range<Int>], Tile?) = ([], nil)
    for (part, tile) in tiles.enumerated() {
      if tile != nil {
        if tile == last, let open = ranges.popLast() {
          ranges.append(open.lowerBound..<part + 1)
        } else {
          ranges.append(part..<part + 1)
        }
      }
      last = tile
    }
    return ranges
  }

  /// Returns WebVTT with a cue for each of `cues`, ranges of parts, which shows the tile of its first part.
  /// `tile` is the size of a tile, and `url` the URL of the sheets, with all parameters but `sheet`.
  func text(of cues: [Range<Int>], tile: Size, at url: String) -> String {
    var text = "WEBVTT\n"
    for parts in cues {
      let place = place(of: parts.lowerBound, tile: tile)
      let (begin, end) = (offset(of: parts.lowerBound), offset(of: parts.upperBound))
      text += "\n\(Self.clock(begin)) --> \(Self.clock(end))\n"
      text += "\(url)&sheet=\(parts.lowerBound / Self.tilesPerSheet)"
      text += "#xywh=\(place.x),\(place.y),\(place.width),\(place.height)\n"
    }
    return text
  }

  /// Formats milliseconds as a cue's time.
  private static func clock(_ time: Int) -> String {
    let seconds = time / 1000
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    return
      "\(hours.digits(2)):\(minutes.digits(2)):\((seconds % 60).digits(2)).\((time % 1000).digits(3))"
  }
}

/// A request for a storyboard.
struct StoryboardQuery: Sendable, Hashable {
  /// The answers about a storyboard.
  enum Answer: Sendable {
    /// The description: WebVTT.
    case cues
    /// A sheet of tiles.
    case sheet

    /// The parameters.
    var query: [QueryEntry] {
      let all = [QueryEntry].of(
        StoryboardQuery.from, StoryboardQuery.to, StoryboardQuery.views, StoryboardQuery.counts,
        StoryboardQuery.widths, StoryboardQuery.heights, StoryboardQuery.qualities, StoryboardQuery.timeouts)
      return self == .sheet ? all + [QueryEntry].of(StoryboardQuery.sheets) : all
    }
  }

  let storyboard: Storyboard
  /// The recorded view; nil if none is requested.
  let view: String?
  /// The size of a tile, in pixels. The height is nil if the first picture decides it.
  let width: Int
  let height: Int?
  let quality: Int
  /// The number of the sheet.
  let sheet: Int
  /// The time for the whole answer.
  let timeout: Duration

  private static let longestSpan = Duration.seconds(31 * 86_400)
  private static let usualSpan = Duration.seconds(3600)
  private static let shortestSpan = Duration.seconds(1)
  private static let mostTiles = 400
  private static let usualTiles = 100
  private static let tallest = 1280
  private static let usualTimeout = 30_000

  private static let from = QueryKey<TimePoint>.timePoint(
    "from",
    "the start: a time before now such as `-2h`, seconds since 1970, or RFC 3339; an hour before `to` by default"
  )
  private static let to = QueryKey<TimePoint>.timePoint(
    "to", "the end, in the same forms; now by default. The span has from 1 second to 31 days")
  private static let views = QueryKey<String>.text(
    "view", "the recorded view; by default the one that the camera's `record` names")
  private static let counts = QueryKey<Int>.integer(
    "count", in: 1...mostTiles, usual: usualTiles, "the number of parts of the span, each with a tile")
  private static let widths = QueryKey<Int>.integer(
    "width", in: 16...640, usual: 160, "the width of a tile in pixels")
  private static let heights = QueryKey<Int>.integer(
    "height", in: 1...tallest,
    "the height of a tile in pixels; by default from the shape of the first picture")
  private static let qualities = QueryKey<Int>.integer(
    "quality", or: "q", in: 1...100, usual: 75, "the quality of the sheets")
  private static let timeouts = QueryKey<Int>.integer(
    "timeout", in: 1...60_000, usual: usualTimeout, "the maximum time for the answer in ms")
  private static let sheets = QueryKey<Int>.integer(
    "sheet", in: 0...(mostTiles - 1) / Storyboard.tilesPerSheet, usual: 0,
    "the number of the sheet, which has 25 tiles in rows of 5")

  /// Parses the parameters of a URL that is requested at `now`.
  ///
  /// - Throws: `ParameterError`, `Problem`.
  init(_ request: Request, for answer: Answer, at now: WallTime) throws {
    var query = try QueryParameters(request)
    let end = try query.take(Self.to)?.time(before: now) ?? now
    let start =
      try query.take(Self.from)?.time(before: now) ?? WallTime(sinceEpoch: end.sinceEpoch - Self.usualSpan)
    let (from, to) = (try Self.milliseconds(start, "from"), try Self.milliseconds(end, "to"))
    let count = try query.take(Self.counts) ?? Self.usualTiles
    view = try query.take(Self.views)
    width = try query.take(Self.widths) ?? 160
    height = try query.take(Self.heights)
    quality = try query.take(Self.qualities) ?? 75
    timeout = .milliseconds(try query.take(Self.timeouts) ?? Self.usualTimeout)
    sheet = answer == .sheet ? try query.take(Self.sheets) ?? 0 : 0
    try query.finish(known: answer.query)
    let span = Duration.milliseconds(to - from)
    guard span >= Self.shortestSpan else {
      throw Problem.badParameter("from", "'from' must be at least a second before 'to'")
    }
    guard span <= Self.longestSpan else {
      throw Problem.badParameter("from", "a storyboard has at most 31 days")
    }
    storyboard = Storyboard(from: from, to: to, count: count)
    guard sheet < storyboard.sheetCount else {
      throw Problem.badParameter(
        "sheet", "the storyboard has \(storyboard.sheetCount) sheets, which are counted from 0")
    }
  }

  /// Returns milliseconds since 1970.
  private static func milliseconds(_ time: WallTime, _ key: String) throws(Problem) -> Int {
    let milliseconds = (time.sinceEpoch / .milliseconds(1)).rounded()
    guard (0...1e14).contains(milliseconds) else {
      throw .badParameter(key, "'\(key)' is before 1970, or too late")
    }
    return Int(milliseconds)
  }

  /// Returns the size of a tile, if the first picture has the size `first`.
  func tile(of first: Size) -> Size {
    let scaled = Placement(of: first, width: width, height: nil, mode: .stretch).target
    return Size(width: width, height: height ?? min(scaled.height, Self.tallest))
  }

  /// Returns the URL of the sheets of a camera, with all parameters but `sheet`. It stays valid, because its
  /// times are absolute.
  func sheetURL(of camera: String, tile: Size) -> String {
    var words = [
      "from=\(Self.seconds(storyboard.from))", "to=\(Self.seconds(storyboard.to))",
      "count=\(storyboard.count)",
      "width=\(tile.width)", "height=\(tile.height)", "quality=\(quality)",
    ]
    if let view { words.append("view=\(view.inURL)") }
    let milliseconds = Int(timeout / .milliseconds(1))
    if milliseconds != Self.usualTimeout { words.append("timeout=\(milliseconds)") }
    return "/recordings/\(camera.inURL)/storyboard.jpg?\(words.joined(separator: "&"))"
  }

  private static func seconds(_ milliseconds: Int) -> String {
    "\(milliseconds / 1000).\((milliseconds % 1000).digits(3))"
  }
}

extension String {
  /// The text with all but letters, digits, `-`, `_`, `.` and `~` percent-encoded (RFC 3986).
  fileprivate var inURL: String {
    utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: "~"):
        String(UnicodeScalar(byte))
      default: "%\(Hexadecimal.text(of: CollectionOfOne(byte)).uppercased())"
      }
    }.joined()
  }
}
