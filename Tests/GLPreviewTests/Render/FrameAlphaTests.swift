// Pixels whose alpha hides nothing.
import PreviewCore
import Testing

@testable import GLPreview

private func format(_ pixelFormat: PixelFormat) -> Frame.Format {
  Frame.Format(pixelFormat, Size(width: 5, height: 3), color: .jfif)
}

@Test(
  "a fully opaque RGBA or BGRA frame becomes RGBX or BGRX; one non-opaque pixel prevents it",
  arguments: [20, 23])
func unusedAlpha(bytesPerRow: Int) throws {
  let planes = [Frame.Plane(offset: 1, bytesPerRow: bytesPerRow)]
  for (transparent, plain) in [(PixelFormat.rgba, PixelFormat.rgbx), (.bgra, .bgrx)] {
    var bytes = [UInt8](repeating: 0, count: 1 + 3 * bytesPerRow)
    for row in 0..<3 { for pixel in 0..<5 { bytes[1 + row * bytesPerRow + pixel * 4 + 3] = 255 } }

    let opaque = try #require(
      try Frame(format(transparent), bytes: bytes, planes: planes, sequence: 4).withoutUnusedAlpha())
    #expect(opaque.format == format(plain) && opaque.bytes == bytes && opaque.sequence == 4)

    bytes[1 + 2 * bytesPerRow + 4 * 4 + 3] = 254
    let other = try Frame(format(transparent), bytes: bytes, planes: planes).withoutUnusedAlpha()
    #expect(other == nil)
  }
  let wide = try Frame(tight: format(.rgba64), bytes: [UInt8](repeating: 255, count: 5 * 3 * 8))
  #expect(wide.withoutUnusedAlpha() == nil)
}
