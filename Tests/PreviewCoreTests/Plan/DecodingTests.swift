// At how many eighths a JPEG is decoded for which views: the rule of `Decoding.fast`, by sizes that can be divided by
// hand.
import PreviewCore
import Testing

private let camera = Frame.Format(.i420, Size(width: 1920, height: 1080), color: .jfif)

private func eighths(
  _ full: Frame.Format = camera, _ words: String..., as format: Picture.Format = .ycbcr(.yuv420)
) throws -> Int {
  let requests = try words.map { ViewRequest(try ViewConfiguration(parsing: "v:" + $0), as: format) }
  return Decoding.fast(for: requests).eighths(of: full)
}

@Test("exact decoding, and fast decoding without views, decode at full size")
func wholePictures() throws {
  #expect(Decoding.exact.eighths(of: camera) == 8)
  #expect(Decoding.fast(for: []).eighths(of: camera) == 8)
}

@Test(
  "area: fast decoding at 1/2, 1/4 and 1/8 needs a remaining reduction of 3/2, 5/2 and 3",
  arguments: [
    ("size=640x360", 4), ("size=641x360,mode=stretch", 8), ("size=640x361,mode=stretch", 8),
    ("size=192x108", 2), ("size=193x108,mode=stretch", 4), ("size=80x45", 1), ("size=81x45,mode=stretch", 2),
  ])
func areaRule(words: String, expected: Int) throws {
  for format in Picture.Format.allCases { #expect(try eighths(camera, words, as: format) == expected) }
  #expect(try eighths(camera, words + ",filter=area") == expected)
}

@Test(
  "area: fast decoding needs no remaining reduction if pixel edges fall on decoded sample edges",
  arguments: [
    ("size=960x540", 4), ("size=480x270", 2), ("size=240x135", 1), ("size=961x540,mode=stretch", 8),
    ("crop=960x540+8+8,size=480x270", 4), ("crop=960x540+7+8,size=480x270", 8),
  ])
func wholeSamples(words: String, expected: Int) throws {
  #expect(try eighths(camera, words) == expected)
}

@Test(
  "bicubic, mitchell and lanczos: fast decoding needs a remaining reduction of 3/2, 3/2 and 7/4",
  arguments: [
    ("size=640x360", 4), ("size=960x540", 8), ("size=320x180", 2), ("size=321x180,mode=stretch", 4),
    ("size=137x77,mode=stretch", 1), ("size=138x77,mode=stretch", 2),
  ])
func widenedRule(words: String, expected: Int) throws {
  for filter in ["bicubic", "mitchell", "lanczos"] {
    #expect(try eighths(camera, words + ",filter=\(filter)") == expected)
  }
}

@Test(
  "fast decoding is at full size for 1:1, enlarged, nearest, bilinear and linear-light views",
  arguments: [
    "size=1920x1080", "crop=640x360+0+0,size=640x360", "crop=64x36+0+0,size=640x360",
    "size=80x45,filter=nearest", "size=80x45,filter=bilinear", "size=80x45,linear=true",
    "size=80x1080,mode=stretch", "crop=9999x9+0+0,size=1x1",
  ])
func wholeViews(words: String) throws {
  #expect(try eighths(camera, words) == 8)
}

@Test("the view that needs the most detail sets the decoding scale")
func manyViews() throws {
  #expect(try eighths(camera, "size=80x45", "size=640x360") == 4)
  #expect(try eighths(camera, "size=80x45", "crop=1080x1080+420+0,size=320x320") == 4)
  #expect(try eighths(camera, "size=80x45", "size=640x360", "crop=9x9+0+0") == 8)
}

@Test("the decoding scale accounts for rotation, mirroring, fit and EXIF orientation")
func turnedViews() throws {
  #expect(try eighths(camera, "rotate=90,size=360x640,mirror=both") == 4)
  #expect(try eighths(camera, "rotate=90,size=361x640,mode=stretch") == 8)
  #expect(try eighths(camera, "size=640x700,mode=fit") == 4)
  let held = Frame.Format(
    .i420, camera.size, color: .jfif, orientation: try #require(Orientation(exif: 8)))
  #expect(try eighths(held, "size=360x640") == 4)
}

@Test("the decoding scale leaves enough reduction for chroma too: 4:2:2 has half the columns")
func chromaRule() throws {
  let webcam = Frame.Format(.yuv422p, camera.size, color: .jfif)
  #expect(try eighths(webcam, "size=640x360") == 4)
  // As R'G'B' a third has 640 columns of chroma, of which 1/2 would leave 480.
  #expect(try eighths(webcam, "size=640x360", as: .rgba) == 8)
  #expect(try eighths(webcam, "size=320x180", as: .rgba) == 4)
}

@Test("grey and RGB frames follow the same decoding rule as Y'CbCr", arguments: [PixelFormat.grey, .rgb24])
func otherLayouts(pixelFormat: PixelFormat) throws {
  let picture = Frame.Format(pixelFormat, camera.size, color: .jfif)
  #expect(try eighths(picture, "size=640x360", as: .rgba) == 4)
  #expect(try eighths(picture, "size=641x360,mode=stretch", as: .rgba) == 8)
}
