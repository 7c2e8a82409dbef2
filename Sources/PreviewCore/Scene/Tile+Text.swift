// The text form of a tile, similar to a view's: `ann:crop=640x640+320+0,mode=fit,background=blur`.

extension Tile {
  /// The accepted keys: a view's, except for its size, which the layout sets, and a tile's own.
  package static let keys =
    ViewConfiguration.keys.filter { !["size", "width", "height"].contains($0) } + ownKeys

  private static let ownKeys = ["at", "z", "radius", "opacity"]

  /// Parses `SOURCE` or `SOURCE:KEY=VALUE,KEY=VALUE...`.
  ///
  /// The view's keys are those of `ViewConfiguration`, including `background=blur`. The tile's are `at=WxH+X+Y`, its
  /// rectangle in the layout `free`; `z=NUMBER`, its `zIndex` (0); `radius=PIXELS`; and `opacity=PART` from 0 to 1
  /// (1).
  ///
  /// - Throws: `WordError` for a tile without a source, an unknown or repeated key, or a bad value.
  public init(parsing text: String) throws(WordError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else { throw WordError("tile", "'\(text)' names no source") }
    self.init(String(name))
    guard parts.count == 2 else { return }
    for (key, value) in try Words.pairs(parts[1], of: "tile '\(name)'") {
      do throws(WordError) {
        try set(key, to: value)
      } catch {
        throw WordError(error.key, "\(error.reason) (tile '\(name)')")
      }
    }
  }

  private mutating func set(_ key: String, to value: String) throws(WordError) {
    switch key {
    case "at": rectangle = try Words.rectangle(key, value)
    case "z": zIndex = try Words.whole(key, value, in: -1000...1000)
    case "radius": cornerRadius = try Words.number(key, value, in: 0...Double(Size.maximumSide))
    case "opacity": opacity = try Words.number(key, value, in: 0...1)
    case _ where Tile.keys.contains(key): try view.set(key, to: value)
    default:
      throw WordError("tile", "unknown key '\(key)' (there are \(Tile.keys.joined(separator: ", ")))")
    }
  }
}
