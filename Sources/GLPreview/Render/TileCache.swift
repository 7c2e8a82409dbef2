// Caches the drawn views of frames for compositions, for as long as the same frames are shown.

/// Tiles by frame and view. Owns their targets.
final class TileCache {
  private struct Key: Hashable {
    /// Held, so that no other frame can get the same identity.
    let frame: FrameIdentity
    let view: PlannedView
  }

  private struct Tile {
    let plane: DrawnPlane
    var lastUse: Int
  }

  private let targets: TargetPool
  private var tiles: [Key: Tile] = [:]
  private var uses = 0
  private(set) var drawnCount = 0

  private static let maximumCount = 64
  private static let maximumByteCount = 256 << 20

  init(_ targets: TargetPool) { self.targets = targets }

  func tile(_ view: PlannedView, of frame: Frame) -> DrawnPlane? {
    let key = Key(frame: frame.identity, view: view)
    guard let tile = tiles[key] else { return nil }
    uses += 1
    tiles[key]?.lastUse = uses
    return tile.plane
  }

  /// Takes over drawn views, which are given by their indices in the painter's plan.
  func fill(_ views: [Int], of frame: Frame, from painter: FramePainter) {
    for index in views {
      guard let plane = painter.planes(of: index).first ?? nil else { continue }
      uses += 1
      drawnCount += 1
      tiles[Key(frame: frame.identity, view: painter.view(index))] = Tile(plane: plane, lastUse: uses)
    }
  }

  func holds(_ target: PooledTarget) -> Bool { tiles.values.contains { $0.plane.target === target } }

  var byteCount: Int { tiles.values.reduce(0) { $0 + $1.plane.target.description.byteCount } }

  /// Called between pictures: frees the least recently used tiles if there are too many.
  func trim() {
    var byteCount = byteCount
    guard tiles.count > TileCache.maximumCount || byteCount > TileCache.maximumByteCount else { return }
    for (key, tile) in tiles.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
      guard tiles.count > TileCache.maximumCount || byteCount > TileCache.maximumByteCount else { return }
      byteCount -= tile.plane.target.description.byteCount
      remove(key, tile)
    }
  }

  func removeAll() {
    for (key, tile) in tiles { remove(key, tile) }
  }

  /// Two views may share one drawing, and so one target.
  private func remove(_ key: Key, _ tile: Tile) {
    tiles[key] = nil
    if !holds(tile.plane.target) { targets.giveBack(tile.plane.target) }
  }
}
