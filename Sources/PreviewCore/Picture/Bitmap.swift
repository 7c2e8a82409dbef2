// A picture made by the program, such as text or an icon.

/// R', G', B' and straight (not premultiplied) alpha. Bitmaps compare by identity, so that a renderer can find an
/// uploaded texture without comparing bytes.
public final class Bitmap: Sendable, Hashable {
  /// In pixels.
  public let size: Size
  /// R, G, B, A; `width * 4` bytes a row, top row first.
  public let bytes: [UInt8]

  /// - Throws: `FrameError` if there are not `width * height * 4` bytes, or a side is not positive.
  package init(size: Size, bytes: [UInt8]) throws(FrameError) {
    guard size.width > 0, size.height > 0, size.pixelCount < .max / 4, bytes.count == size.pixelCount * 4
    else {
      throw FrameError("\(bytes.count) bytes are no bitmap of \(size)")
    }
    self.size = size
    self.bytes = bytes
  }

  /// Whether both are the same object.
  public static func == (one: Bitmap, other: Bitmap) -> Bool { one === other }

  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
