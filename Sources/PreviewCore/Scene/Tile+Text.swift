// A tile in a line, as a view's words are: `ann:crop=640x640+320+0,mode=fit,background=blur`.

extension Tile {
  /// The keys that are known: a view's, but for its size, which the layout says, and a tile's own.
  public static let keys =
    ViewConfiguration.keys.filter { !["size", "width", "height"].contains($0) } + ownKeys

  private static let ownKeys = ["at", "z", "radius", "opacity"]

  /// Reads `SOURCE` or `SOURCE:KEY=VALUE,KEY=VALUE...`.
  ///
  /// The view's words are those of `ViewConfiguration`, `background=blur` among them; `at=WxH+X+Y` is its place in the
  /// layout `free`, `z=NUMBER` its `zIndex` (0), `radius=PIXELS` its corners', and `opacity=PART` from 0 to 1 (1).
  ///
  /// - Throws: `SceneError` for a tile without a source, an unknown or repeated key, or a bad value.
  public init(parsing text: String) throws(SceneError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else { throw SceneError("tile", "'\(text)' names no source") }
    self.init(String(name))
    guard parts.count == 2 else { return }
    var seen: Set<String> = []
    for pair in ViewConfiguration.pairs(of: parts[1]) {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { throw SceneError("tile '\(name)'", "'\(pair)' is not KEY=VALUE") }
      let key = String(sides[0])
      guard seen.insert(key).inserted else { throw SceneError(key, "given twice in tile '\(name)'") }
      do throws(ViewError) {
        try set(key, to: String(sides[1]))
      } catch {
        throw SceneError(error.key, "\(error.reason) (tile '\(name)')")
      }
    }
  }

  private mutating func set(_ key: String, to value: String) throws(ViewError) {
    switch key {
    case "at":
      do throws(ViewError) { rectangle = try ViewConfiguration.crop(value) } catch {
        throw ViewError(key, error.reason)
      }
    case "z":
      guard let number = Int(value), (-1000...1000).contains(number) else {
        throw ViewError(key, "'\(value)' is not a whole number from -1000 to 1000")
      }
      zIndex = number
    case "radius":
      guard let radius = Double(value), (0...Double(ViewConfiguration.maximumSide)).contains(radius) else {
        throw ViewError(key, "'\(value)' is not a number from 0 to \(ViewConfiguration.maximumSide)")
      }
      cornerRadius = radius
    case "opacity":
      guard let part = Double(value), (0...1).contains(part) else {
        throw ViewError(key, "'\(value)' is not a number from 0 to 1")
      }
      opacity = part
    case _ where Tile.keys.contains(key): try view.set(key, to: value)
    default:
      throw ViewError("tile", "unknown key '\(key)' (there are \(Tile.keys.joined(separator: ", ")))")
    }
  }
}
