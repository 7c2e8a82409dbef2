// Pure copies: at 1:1 a crop, a turn and a mirror move pixels and change none, whatever EXIF says.
// The oracle moves letters about, step by step in the order of DESIGN.md ("Rendering semantics", 1).
import PreviewCore
import ReferenceRenderer
import Testing

private typealias Rows = [[UInt8]]

private func transposed(_ rows: Rows) -> Rows { rows[0].indices.map { x in rows.map { $0[x] } } }
private func flipped(_ rows: Rows) -> Rows { rows.map { $0.reversed() } }
private func upsideDown(_ rows: Rows) -> Rows { rows.reversed() }

private func turned(_ rows: Rows, _ rotation: Rotation) -> Rows {
  switch rotation {
  case .none: rows
  // Clockwise: the left column, read from below, becomes the top row.
  case .clockwise90: flipped(transposed(rows))
  case .half: flipped(upsideDown(rows))
  case .clockwise270: upsideDown(transposed(rows))
  }
}

private func mirrored(_ rows: Rows, _ mirroring: Mirroring) -> Rows {
  switch mirroring {
  case .none: rows
  case .horizontal: flipped(rows)
  case .vertical: upsideDown(rows)
  case .both: flipped(upsideDown(rows))
  }
}

private func cropped(_ rows: Rows, _ crop: Rectangle) -> Rows {
  rows[crop.y..<crop.y + crop.height].map { Array($0[crop.x..<crop.x + crop.width]) }
}

private let distinct: Rows = [[10, 20, 30], [40, 50, 60]]

/// A 3x2 picture as each EXIF number shows it (CIPA DC-008, figure of tag 0x0112).
private let upright: [Rows] = [
  [[10, 20, 30], [40, 50, 60]], [[30, 20, 10], [60, 50, 40]], [[60, 50, 40], [30, 20, 10]],
  [[40, 50, 60], [10, 20, 30]], [[10, 40], [20, 50], [30, 60]], [[40, 10], [50, 20], [60, 30]],
  [[60, 30], [50, 20], [40, 10]], [[30, 60], [20, 50], [10, 40]],
]

@Test("a 3x2 picture is drawn upright from each of the 8 EXIF orientations", arguments: 1...8)
func exifOrientations(number: Int) throws {
  for filter in ["auto", "nearest", "area", "bilinear", "bicubic", "lanczos"] {
    let picture = try render(grey(distinct, exif: number), "filter=\(filter)")
    #expect(picture.rows() == upright[number - 1], "\(filter)")
  }
}

@Test("EXIF orientation, crop, rotation and mirroring are applied in this order", arguments: 1...8)
func order(number: Int) throws {
  let seen = upright[number - 1]
  let whole = Rectangle(x: 0, y: 0, width: seen[0].count, height: seen.count)

  for crop in [whole, Rectangle(x: 1, y: 0, width: 1, height: 2), Rectangle(x: 0, y: 1, width: 2, height: 1)]
  {
    for rotation in Rotation.allCases {
      for mirroring in Mirroring.allCases {
        let view = ViewConfiguration(crop: crop, rotation: rotation, mirroring: mirroring)
        let expected = mirrored(turned(cropped(seen, crop), rotation), mirroring)
        let shown = try render(grey(distinct, exif: number), view).rows()
        #expect(shown == expected, "crop \(crop) rotate \(rotation) mirror \(mirroring)")
      }
    }
  }
}

@Test("rotate=90 moves the left edge to the top, and rotate=-90 the right edge")
func clockwise() throws {
  #expect(try render(grey(distinct), "rotate=90").rows() == [[40, 10], [50, 20], [60, 30]])
  #expect(try render(grey(distinct), "rotate=-90").rows() == [[30, 60], [20, 50], [10, 40]])
  #expect(
    try render(grey(distinct), "rotate=90,mirror=horizontal").rows() == [[10, 40], [20, 50], [30, 60]])
}

@Test(
  "a copy keeps every code of every channel",
  arguments: ["", "filter=nearest", "mirror=both"])
func allCodes(words: String) throws {
  let ramp = (0...255).map { [UInt8($0), UInt8(255 - $0), UInt8($0 ^ 0x55)] }
  let expected = words == "mirror=both" ? ramp.reversed() : ramp
  #expect(try render(rgb([ramp]), words).colors == [expected])
  #expect(try render(rgb([ramp]), words).rows(3) == [many(255, 256)])
  #expect(try render(grey([ramp.map { $0[0] }]), words).rows() == [expected.map { $0[0] }])
}

@Test(
  "a copy keeps JFIF planes unchanged, including at odd sizes",
  arguments: [(5, 3), (4, 4), (1, 1), (3, 1), (1, 3)])
func planeCopies(width: Int, height: Int) throws {
  let size = Size(width: width, height: height)
  let kinds: [(PixelFormat, Picture.ChromaSubsampling)] = [
    (.i420, .yuv420), (.yuv422p, .yuv422), (.yuv444p, .yuv444),
  ]

  for (pixelFormat, chroma) in kinds {
    let count = try #require(pixelFormat.tightByteCount(of: size))
    // 37 and 256 have no divisor in common: all codes are different for the first 256 bytes.
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) }
    let picture = try render(frame(pixelFormat, width, height, bytes), "", as: .ycbcr(chroma))
    #expect(picture.bytes == bytes, "\(pixelFormat)")
  }
}

@Test("a single pixel keeps its code when rotated, mirrored and enlarged")
func onePixel() throws {
  for (words, rows) in [
    ("rotate=90,mirror=both", [[77]]), ("size=3x2,mode=stretch", [[77, 77, 77], [77, 77, 77]]),
    ("size=1x1,filter=lanczos", [[77]]), ("size=2x,filter=bilinear", [[77, 77], [77, 77]]),
  ] as [(String, [[UInt8]])] {
    #expect(try render(grey([[77]]), words).rows() == rows, "\(words)")
  }
  #expect(try render(grey([[77]]), "size=3x2,mode=fit").rows() == [[77, 77, 0], [77, 77, 0]])
}

@Test("a frame with row padding and separate planes shows only its samples")
func paddedFrames() throws {
  // 3x2 NV12: rows of 3 in 5 bytes from 2 on, rows of 2 pairs in 7 bytes from 20 on; 99 is padding.
  var bytes = many(99, 32)
  bytes.replaceSubrange(2..<5, with: [1, 2, 3])
  bytes.replaceSubrange(7..<10, with: [4, 5, 6])
  bytes.replaceSubrange(20..<24, with: [101, 201, 102, 202])
  let padded = try Frame(
    Frame.Format(.nv12, Size(width: 3, height: 2), color: .jfif), bytes: bytes,
    planes: [Frame.Plane(offset: 2, bytesPerRow: 5), Frame.Plane(offset: 20, bytesPerRow: 7)])

  let picture = try render(padded, "", as: .ycbcr(.yuv420))

  #expect(picture.samples == [[[1, 2, 3], [4, 5, 6]], [[101, 102]], [[201, 202]]])
}

@Test("several views of one frame are drawn in the requested order")
func severalViews() throws {
  let source = try grey(distinct)
  let requests = try ["a", "b:rotate=180", "a:size=1x1"].map {
    ViewRequest(try ViewConfiguration(parsing: $0), as: .rgba)
  }
  let plan = try RenderPlanner().plan(source.format, requests)
  let pictures = ReferenceRenderer().render(source, plan)
  #expect(pictures.map(\.size.description) == ["3x2", "3x2", "1x1"])
  #expect(pictures[0].rows() == distinct && pictures[1].rows() == [[60, 50, 40], [30, 20, 10]])
}
