// What drawings have used and the next may use again.

/// Things that came back, by what they are for, the longest unused first.
///
/// What one drawing used stays for the next, however much that is: making it anew for each frame costs more than all else.
/// What was not used since is bounded, in number and in bytes: anybody may ask for a size of its own.
struct IdleStock<Key: Equatable, Item> {
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

  /// Of what the last drawing did not use, at most `mostCount` things and `mostBytes` bytes are kept.
  init(mostCount: Int, mostBytes: Int = 64 << 20) {
    self.mostCount = mostCount
    self.mostBytes = mostBytes
  }

  /// Bytes of all that is there.
  var byteCount: Int { entries.reduce(0) { $0 + $1.byteCount } }

  /// The one of this key that was used last, if there is any.
  mutating func take(_ key: Key) -> Item? {
    entries.lastIndex { $0.key == key }.map { entries.remove(at: $0).item }
  }

  /// Takes something back.
  mutating func put(_ item: Item, _ key: Key, byteCount: Int) {
    entries.append(Entry(key: key, item: item, byteCount: byteCount, lastUse: drawing))
  }

  /// Another drawing begins: lets go of what is too much, the longest unused first.
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

  /// Lets go of all.
  mutating func removeAll() { entries = [] }
}
