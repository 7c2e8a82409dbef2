// Objects left over from drawings, for reuse by later ones.

/// Returned objects by key, the least recently used first.
///
/// Everything that one drawing used stays for the next, whatever its size, because recreating it for each
/// frame would cost more than everything else. What it did not use is limited in number and bytes, because
/// clients may request any size.
struct ReusePool<Key: Equatable, Item> {
  private struct Entry {
    let key: Key
    let item: Item
    let byteCount: Int
    let lastUse: Int
  }

  private var entries: [Entry] = []
  private var drawing = 0
  private let mostCount: Int
  private let mostBytes: Int

  /// Keeps at most `mostCount` objects and `mostBytes` bytes that the last drawing did not use.
  init(mostCount: Int, mostBytes: Int = 64 << 20) {
    self.mostCount = mostCount
    self.mostBytes = mostBytes
  }

  var byteCount: Int { entries.reduce(0) { $0 + $1.byteCount } }

  /// The most recently used object with this key, if there is one.
  mutating func take(_ key: Key) -> Item? {
    entries.lastIndex { $0.key == key }.map { entries.remove(at: $0).item }
  }

  mutating func put(_ item: Item, _ key: Key, byteCount: Int) {
    entries.append(Entry(key: key, item: item, byteCount: byteCount, lastUse: drawing))
  }

  /// Starts another drawing: frees what exceeds the limits, least recently used first.
  mutating func beginDrawing() {
    var (count, bytes) = (entries.count, byteCount)
    let dropped = entries.prefix { entry in
      guard entry.lastUse < drawing, count > mostCount || bytes > mostBytes else { return false }
      count -= 1
      bytes -= entry.byteCount
      return true
    }
    entries.removeFirst(dropped.count)
    drawing += 1
  }

  mutating func removeAll() { entries = [] }
}
