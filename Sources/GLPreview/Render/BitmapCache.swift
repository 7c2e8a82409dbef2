// Pictures of the program's own as textures, which are made once.
internal import PreviewCore

/// Textures by the bitmap that they hold.
final class BitmapCache {
  private final class Entry {
    let texture: Texture

    init(_ bitmap: Bitmap) throws(GLError) {
      let texture = try Texture(.rgba8, width: bitmap.size.width, height: bitmap.size.height)
      let bytes = bitmap.bytes
      try texture.replace(with: bytes.span, bytesPerRow: bitmap.size.width * 4)
      self.texture = texture
    }
  }

  /// Bitmaps are equal only to themselves, and live as long as they are keys.
  private var entries = LRUCache<Bitmap, Entry>(capacity: 128, maximumCost: 64 << 20)

  init() {}

  /// Makes a bitmap what the sampler of texture unit `unit` reads.
  func bind(_ bitmap: Bitmap, unit: Int) throws(GLError) {
    if let known = entries[bitmap] { return known.texture.bind(unit: unit) }
    let entry = try Entry(bitmap)
    entries.insert(entry, for: bitmap, cost: bitmap.bytes.count, trims: false)
    entry.texture.bind(unit: unit)
  }

  /// Between pictures, when no pass reads one.
  func trim() { entries.trim() }
}
