// What is drawn of frames that were decoded at n/8 of their size, in numbers.
import PreviewCore
import ReferenceRenderer
import Testing

/// 8x4 grey pixels, decoded at 4/8.
private func halved(_ rows: [[UInt8]], exif: Int = 1) throws -> Frame {
  let format = Frame.Format(
    .grey, Size(width: 8, height: 4), color: .jfif,
    orientation: try #require(Orientation(exif: exif)), eighths: 4)
  return try Frame(tight: format, bytes: rows.flatMap { $0 })
}

private let rows: [[UInt8]] = [[0, 100, 200, 40], [8, 16, 24, 32]]

@Test("a view at half size copies a frame decoded at 4/8")
func scaledCopy() throws {
  #expect(try render(halved(rows), "size=4x2").rows() == rows)
}

@Test("crops and default view sizes of a frame decoded at 4/8 are in full-size pixels")
func scaledCrop() throws {
  #expect(try render(halved(rows), "crop=4x2+2+0,size=2x1").rows() == [[100, 200]])
  #expect(try render(halved(rows), "crop=2x2+3+0,size=1x1").rows() == [[150]])
  let whole = try render(halved(rows), "filter=nearest")
  #expect(whole.size == Size(width: 8, height: 4))
  #expect(whole.rows()[1] == [0, 0, 100, 100, 200, 200, 40, 40])
}

@Test("the EXIF orientation of a frame decoded at 4/8 applies to the picture and to its crops")
func scaledOrientation() throws {
  // Clockwise: the seen columns are the stored rows from the bottom up.
  let seen: [[UInt8]] = [[8, 0], [16, 100], [24, 200], [32, 40]]
  #expect(try render(halved(rows, exif: 6), "size=2x4").rows() == seen)
  #expect(try render(halved(rows, exif: 6), "crop=4x2+0+2,size=2x1").rows() == [[16, 100]])
}

@Test("a frame 7 pixels wide decoded at 4/8 has half weight for its last sample")
func scaledOddEdge() throws {
  let format = Frame.Format(.grey, Size(width: 7, height: 2), color: .jfif, eighths: 4)
  let source = try Frame(tight: format, bytes: [70, 70, 70, 140])
  // (3 * 70 + 140 / 2) / 3.5
  #expect(try render(source, "size=1x1,mode=stretch").rows() == [[80]])
  #expect(try render(source, "size=1x1,mode=stretch,mirror=horizontal").rows() == [[80]])
}

@Test("in linear light, a crop of a frame decoded at 4/8 reads only the chroma that it touches")
func scaledLinearLight() throws {
  // 4:2:2 of 16 pixels, 8 decoded ones; the crop touches samples 1 and 2 of chroma. Outside of it is poison.
  let format = Frame.Format(.yuv422p, Size(width: 16, height: 2), color: .jfif, eighths: 4)
  let luma: [UInt8] = [255, 255, 90, 90, 90, 90, 255, 255]
  let source = try Frame(tight: format, bytes: luma + [0, 100, 100, 0] + [255, 140, 140, 255])
  for words in ["", ",size=2x1", ",size=16x2,mode=stretch"] {
    let picture = try render(source, "crop=8x2+4+0,linear=true" + words)
    #expect(picture.colors.allSatisfy { $0.allSatisfy { $0 == [107, 91, 40] } }, "\(words)")
  }
}
