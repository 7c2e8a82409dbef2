import Bench
import Testing

@testable import GLPreview

@Suite("JPEGBaseline")
struct JPEGBaselineTests {
  @Test(
    "JPEGBaseline encodes to as many bytes as JPEGEncoder, and rejects truncated and grey JPEGs",
    arguments: [16, 180, 33])
  func baseline(width: Int) throws {
    let size = Size(width: width, height: 50)
    let chroma = Size(width: (width + 1) / 2, height: 25)
    let bytes = (0..<size.pixelCount + 2 * chroma.pixelCount).map {
      UInt8(truncatingIfNeeded: $0 * $0 >> 5)
    }
    let picture = Picture(tight: size, format: .ycbcr(.yuv420), bytes: bytes)
    let encoded = try JPEGEncoder(quality: 80).encode(picture)
    let baseline = try JPEGBaseline()

    for _ in 0..<2 {
      #expect(try baseline.encode(JPEGBlocks(picture), quality: 80) == encoded.count)
      try baseline.decode(encoded)
    }

    #expect(throws: CodecError.self) { try baseline.decode(Array(encoded.prefix(20))) }
    #expect(throws: CodecError.self) { try baseline.decode(fixture("grey.jpg")) }
    try baseline.decode(encoded)
    #expect(JPEGBaseline.libraryVersion.contains("."))
  }
}
