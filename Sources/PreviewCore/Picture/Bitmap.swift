// A picture that the program made itself: text, an icon.

/// R', G', B' and alpha, not multiplied by it. Two are equal where they are the same object, so that a renderer can keep
/// its texture without looking at every byte.
public final class Bitmap: Sendable, Hashable {
  /// In pixels.
  public let size: Size
  /// R, G, B, A, `width * 4` bytes a row, top row first.
  public let bytes: [UInt8]

  /// - Throws: `FrameError` where `bytes` are not `width * height * 4`, or a side is not positive.
  public init(size: Size, bytes: [UInt8]) throws(FrameError) {
    guard size.width > 0, size.height > 0, size.pixelCount < .max / 4, bytes.count == size.pixelCount * 4
    else {
      throw FrameError("\(bytes.count) bytes are no bitmap of \(size)")
    }
    self.size = size
    self.bytes = bytes
  }

  /// Whether they are the same object.
  public static func == (one: Bitmap, other: Bitmap) -> Bool { one === other }

  /// By identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
