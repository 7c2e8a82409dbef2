// JPEGs decoded at n/8 of their size: sizes, layouts, and where their samples lie.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import Codecs
@testable import GLPreview

/// The samples of plane `index`, row by row.
private func rows(_ frame: Frame, _ index: Int) -> [[Int]] {
  let size = frame.format.pixelFormat.planes[index].texels(of: frame.format.size)
  let plane = frame.planes[index]
  return (0..<size.height).map { y in
    (0..<size.width).map { Int(frame.bytes[plane.offset + y * plane.bytesPerRow + $0]) }
  }
}

private func decode(_ data: [UInt8], eighths: Int) throws -> Frame {
  try JPEGDecoder.decode(data, maximumPixels: 1 << 20) { _ in eighths }
}

/// Blobs of light and colour: no code is near its ends, so that nothing is clipped.
private func blobs(_ size: Size, _ chroma: Picture.ChromaSubsampling, seed: UInt64 = 5) -> Picture {
  var noise = SeededGenerator(seed: seed)
  var bytes: [UInt8] = []
  var planes: [Picture.Plane] = []
  for plane in Picture.Format.ycbcr(chroma).planeSizes(of: size) {
    planes.append(Picture.Plane(size: plane, offset: bytes.count, bytesPerRow: plane.width))
    bytes += (0..<plane.width * plane.height).map { _ in UInt8.random(in: 70...180, using: &noise) }
  }
  return Picture(size: size, format: .ycbcr(chroma), planes: planes, bytes: bytes)
}

@Suite("JPEGDecoder scaling to n/8")
struct JPEGScaleTests {
  @Test(
    "a JPEG of any layout decodes at n/8 of its size with the same colours",
    arguments: [
      ("ycc444.jpg", PixelFormat.yuv444p), ("ycc444-1x2.jpg", .yuv444p), ("ycc422.jpg", .yuv422p),
      ("ycc422-2x2.jpg", .yuv422p), ("ycc420.jpg", .yuv444p), ("ycc440.jpg", .yuv440p),
      ("ycc411.jpg", .yuv411p), ("ycc410.jpg", .yuv444p), ("ycc441.jpg", .yuv444p),
      ("ycc-mixed.jpg", .yuv444p), ("progressive420.jpg", .yuv444p), ("arithmetic422.jpg", .yuv422p),
      ("scans420.jpg", .yuv444p), ("adobe-rgb.jpg", .rgb24), ("adobe-cmyk.jpg", .rgb24),
      ("adobe-ycck.jpg", .rgb24), ("grey.jpg", .grey), ("grey-2x2.jpg", .grey),
    ], 1...7)
  func layouts(file: (name: String, format: PixelFormat), eighths: Int) throws {
    let frame = try decode(fixture(file.name), eighths: eighths)

    #expect(
      frame.format == Frame.Format(file.format, Size(width: 35, height: 29), color: .jfif, eighths: eighths))
    #expect(
      frame.format.size == Size(width: (35 * eighths + 7) / 8, height: (29 * eighths + 7) / 8))

    // Below, a sample of chroma may stand for more than a quarter of the picture.
    guard eighths >= 4 else { return }
    let whole = try decode(fixture(file.name), eighths: 8)
    for (x, y) in [(8, 7), (26, 7), (8, 21), (26, 21)] {
      let (there, here) = (rgb(whole, x, y), rgb(frame, x * eighths / 8, y * eighths / 8))
      #expect(zip(there, here).allSatisfy { abs($0 - $1) <= 14 }, "\(here) instead of \(there) at \(x),\(y)")
    }
  }

  @Test(
    "decoding at 8/8 gives the same bytes as unscaled decoding",
    arguments: ["ycc420.jpg", "ycc411.jpg", "ycc410.jpg", "adobe-cmyk.jpg"])
  func whole(name: String) throws {
    let (exact, scaled) = (
      try JPEGDecoder.decode(fixture(name), maximumPixels: 2000), try decode(fixture(name), eighths: 8)
    )
    #expect(exact.format == scaled.format && exact.bytes == scaled.bytes)
  }

  @Test(
    "at 1/2, 1/4 and 1/8 each sample is the mean of the pixels that it covers",
    arguments: Picture.ChromaSubsampling.allCases, [4, 2, 1])
  func means(chroma: Picture.ChromaSubsampling, eighths: Int) throws {
    let jpeg = try JPEGEncoder(quality: 96).encode(blobs(Size(width: 53, height: 37), chroma))
    let (whole, scaled) = (try decode(jpeg, eighths: 8), try decode(jpeg, eighths: eighths))

    for index in 0..<3 {
      let (all, few) = (rows(whole, index), rows(scaled, index))
      // Pixels of the whole plane to a sample: one side of 4:2:0's chroma is twice that of luma's share.
      let isEnlarged = index > 0 && chroma == .yuv420
      let step = 8 / eighths / (isEnlarged ? 2 : 1)
      var compared = 0
      for y in 0..<min(few.count, all.count / step) {
        for x in 0..<min(few[0].count, all[0].count / step) {
          let sum = all[y * step..<(y + 1) * step].reduce(0) {
            $0 + $1[x * step..<(x + 1) * step].reduce(0, +)
          }
          let mean = Double(sum) / Double(step * step)
          #expect(abs(Double(few[y][x]) - mean) <= 1, "plane \(index) (\(x), \(y))")
          compared += 1
        }
      }

      #expect(compared >= few.count * few[0].count / 2)
    }
  }

  @Test("at every n/8 each sample lies at the centre of the area that it covers", arguments: 1...8)
  func positions(eighths: Int) throws {
    // Luma runs from 0 to 255 over 128 columns: a step of 2 a pixel; Cb's rows from 64 to 191.
    let jpeg = try JPEGEncoder(quality: 100).encode(ramps(Size(width: 128, height: 96), .yuv444))
    let frame = try decode(jpeg, eighths: eighths)

    for (x, code) in rows(frame, 0)[5 * eighths / 8].enumerated() {
      let position = (Double(x) + 0.5) * 8 / Double(eighths)
      #expect(abs(Double(code) - 255 / 127 * (position - 0.5)) < 2.5, "column \(x)")
    }

    for (y, row) in rows(frame, 1).enumerated() {
      let position = (Double(y) + 0.5) * 8 / Double(eighths)
      #expect(abs(Double(row[0]) - 64 - 127.5 / 95 * (position - 0.5)) < 2.5, "row \(y)")
    }
  }

  @Test(
    "tiny and elongated JPEGs decode to the expected size at every n/8",
    arguments: Picture.ChromaSubsampling.allCases,
    [
      Size(width: 1, height: 1), Size(width: 2, height: 3), Size(width: 7, height: 65),
      Size(width: 65, height: 7), Size(width: 17, height: 16),
    ])
  func sizes(chroma: Picture.ChromaSubsampling, size: Size) throws {
    let jpeg = try JPEGEncoder(quality: 90).encode(ramps(size, chroma))
    for eighths in 1...8 {
      let frame = try decode(jpeg, eighths: eighths)
      #expect(frame.format.referenceSize == size && frame.format.size == size.scaled(toEighths: eighths))
    }
  }

  @Test("a scaled frame keeps the EXIF orientation, and its upright size is the rotated full size")
  func orientation() throws {
    let data = inserting(0xE1, Array("Exif\0\0".utf8) + exif(orientation: 6), into: try smallJPEG())
    let format = try decode(data, eighths: 4).format
    #expect(format.orientation.exif == 6)
    #expect(format.size == Size(width: 12, height: 8) && format.uprightSize == Size(width: 16, height: 24))
  }

  @Test(
    "a truncated JPEG throws .cutShort at any scale and decodes if damage is tolerated",
    arguments: ["ycc420.jpg", "progressive420.jpg", "ycc410.jpg"], [1, 4])
  func damage(name: String, eighths: Int) throws {
    let cut = Array(try fixture(name).dropLast(20))
    let error = #expect(throws: CodecError.self) { try decode(cut, eighths: eighths) }
    #expect(error?.kind == .cutShort)
    let frame = try JPEGDecoder.decode(cut, maximumPixels: 2000, damage: .isTolerated) { _ in eighths }
    #expect(frame.format.size == Size(width: 35, height: 29).scaled(toEighths: eighths))
  }
}

@Suite("Sources that decode at n/8")
struct ScaledSourceTests {
  private static let thumbnail = {
    var options = SourceOptions()
    options.decoding = .fast(for: [
      ViewRequest(ViewConfiguration(width: 12, height: 8, contentMode: .stretch), as: .ycbcr(.yuv420))
    ])
    return options
  }()

  @Test("each JPEG in an MJPEG stream is decoded at the scale that fits its own size")
  func changingSizes() async throws {
    let sizes = [(96, 64), (24, 16), (12, 8), (48, 32), (96, 64)].map { Size(width: $0.0, height: $0.1) }
    let stream = try sizes.flatMap { try smallJPEG($0) }
    let all = try await withFile(stream, named: "a.mjpeg") { try await frames($0, Self.thumbnail) }
    #expect(all.map(\.format.eighths) == [1, 4, 8, 2, 1])
    #expect(all.map(\.format.referenceSize) == sizes)
    #expect(all.dropFirst(2).first?.format.pixelFormat == .i420)
  }

  @Test("a JPEG file is decoded at a scale that fits its views, and in full by default")
  func still() async throws {
    let jpeg = try smallJPEG(Size(width: 48, height: 32))
    let scales = try await withFile(jpeg, named: "a.jpg") { path in
      [try await frames(path, Self.thumbnail), try await frames(path)].map { $0.map(\.format.eighths) }
    }
    #expect(scales == [[2], [8]])
  }
}
