// Frames whose pixels have an alpha that hides nothing are frames without one, which cost half as much to draw.

extension Frame {
  /// The same frame, of a format without alpha, if every pixel is opaque.
  ///
  /// Looking takes 0.05 of the time that adding up rows saves; a picture that is transparent somewhere near its top is
  /// given up at once.
  var withoutUnusedAlpha: Frame? {
    guard let plain = format.pixelFormat.opaque, isOpaque else { return nil }
    return with(pixelFormat: plain)
  }

  /// Of four bytes a pixel, alpha last: whether all alphas are 255.
  private var isOpaque: Bool {
    let (plane, size) = (planes[0], format.size)
    return storage.withSpan { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        for row in 0..<size.height {
          let start = plane.offset + row * plane.bytesPerRow
          var all = UInt32.max
          // Bounds were checked when the frame was made.
          for pixel in 0..<size.width {
            all &= unsafe bytes.loadUnaligned(fromByteOffset: start + pixel * 4, as: UInt32.self)
          }
          guard UInt32(littleEndian: all) >> 24 == 255 else { return false }
        }
        return true
      }
    }
  }
}
