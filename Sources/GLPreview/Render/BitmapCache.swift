// Caches the textures of bitmaps.
internal import PreviewCore

/// Textures by their bitmap.
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

  /// Bitmaps compare by identity and live as long as they are keys.
  private var entries = LRUCache<Bitmap, Entry>(capacity: 128, maximumCost: 64 << 20)

  init() {}

  /// Binds a bitmap's texture to texture unit `unit`.
  func bind(_ bitmap: Bitmap, unit: Int) throws(GLError) {
    if let known = entries[bitmap] { return known.texture.bind(unit: unit) }
    let entry = try Entry(bitmap)
    entries.hold(entry, for: bitmap, cost: bitmap.bytes.count)
    entry.texture.bind(unit: unit)
  }

  /// Called between pictures, when no pass reads a texture.
  func trim() { entries.trim() }
}
