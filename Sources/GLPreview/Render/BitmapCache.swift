// Pictures of the program's own as textures, which are made once.
internal import PreviewCore

/// Textures by the bitmap that they hold.
final class BitmapCache {
  private final class Entry {
    let texture: Texture
    var lastUse = 0

    init(_ bitmap: Bitmap) throws(GLError) {
      let texture = try Texture(.rgba8, width: bitmap.size.width, height: bitmap.size.height)
      let bytes = bitmap.bytes
      try texture.replace(with: bytes.span, bytesPerRow: bitmap.size.width * 4)
      self.texture = texture
    }
  }

  /// Bitmaps are equal only to themselves, and live as long as they are keys.
  private var entries: [Bitmap: Entry] = [:]
  private var uses = 0

  private static let maximumCount = 128
  private static let maximumByteCount = 64 << 20

  init() {}

  /// Makes a bitmap what the sampler of texture unit `unit` reads.
  func bind(_ bitmap: Bitmap, unit: Int) throws(GLError) {
    let entry = if let known = entries[bitmap] { known } else { try Entry(bitmap) }
    entries[bitmap] = entry
    uses += 1
    entry.lastUse = uses
    entry.texture.bind(unit: unit)
  }

  /// Between pictures: lets go of those that were not used for longest, where there are too many.
  func trim() {
    var byteCount = entries.keys.reduce(0) { $0 + $1.bytes.count }
    guard entries.count > BitmapCache.maximumCount || byteCount > BitmapCache.maximumByteCount else { return }
    for (bitmap, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
      guard entries.count > BitmapCache.maximumCount || byteCount > BitmapCache.maximumByteCount else {
        return
      }
      byteCount -= bitmap.bytes.count
      entries[bitmap] = nil
    }
  }
}
