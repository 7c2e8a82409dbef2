// How many bytes a frame has and where in them each sample stands, format by format; names and orders as in
// V4L2 ("YUV Formats") and FFmpeg (pixfmt.h).
import PreviewCore
import Testing

/// Bytes of a tight frame of 5x3 pixels.
private let tightBytes: [(PixelFormat, Int)] = [
  // 4:2:0: 15 + 2 * (3 * 2)
  (.nv12, 27), (.nv21, 27), (.i420, 27), (.yv12, 27),
  // 4:2:2: 15 + 2 * (3 * 3); in one row of 3 pairs of 4 bytes: 36
  (.nv16, 33), (.yuv422p, 33), (.yuyv, 36), (.uyvy, 36), (.yvyu, 36),
  // 4:4:4: 3 * 15; 4:4:0: 15 + 2 * (5 * 2); 4:1:1: 15 + 2 * (2 * 3)
  (.yuv444p, 45), (.yuv440p, 35), (.yuv411p, 27),
  (.grey, 15), (.rgb24, 45), (.bgr24, 45), (.rgba, 60), (.bgra, 60), (.rgbx, 60), (.bgrx, 60),
  (.rgba64, 120),
]

@Test(
  "a tightly packed 5x3 frame has the expected byte count in every format, chroma rounded up",
  arguments: tightBytes)
func tightByteCounts(format: PixelFormat, count: Int) {
  #expect(format.tightByteCount(of: Size(width: 5, height: 3)) == count)
}

@Test("there are 20 pixel formats, as many as have an expected byte count above")
func allFormatsAreCounted() { #expect(Set(tightBytes.map(\.0)) == Set(PixelFormat.allCases)) }

@Test(
  "a tightly packed 1x1 frame has the expected byte count in every format",
  arguments: zip(PixelFormat.allCases, [3, 3, 3, 3, 3, 4, 4, 4, 3, 3, 3, 3, 1, 3, 3, 4, 4, 4, 4, 8]))
func onePixel(format: PixelFormat, count: Int) {
  #expect(format.tightByteCount(of: Size(width: 1, height: 1)) == count)
}

@Test("planes of a 7x5 frame have the expected texels and bytes per row")
func planeRows() {
  let size = Size(width: 7, height: 5)
  func rows(_ format: PixelFormat) -> [[Int]] {
    format.planes.map {
      [$0.texels(of: size).width, $0.texels(of: size).height, $0.tightBytesPerRow(of: size)]
    }
  }

  #expect(rows(.nv12) == [[7, 5, 7], [4, 3, 8]])
  #expect(rows(.i420) == [[7, 5, 7], [4, 3, 4], [4, 3, 4]])
  #expect(rows(.nv16) == [[7, 5, 7], [4, 5, 8]])
  #expect(rows(.yuyv) == [[8, 5, 16]])
  #expect(rows(.yuv440p) == [[7, 5, 7], [7, 3, 7], [7, 3, 7]])
  #expect(rows(.yuv411p) == [[7, 5, 7], [2, 5, 2], [2, 5, 2]])
  #expect(rows(.bgr24) == [[7, 5, 21]])
  #expect(rows(.rgba64) == [[7, 5, 56]])
}

/// The byte of sample (x, y) of a component in a tight 4x2 frame.
private func byte(_ component: Component, _ x: Int, _ y: Int, of format: PixelFormat) -> Int {
  let size = Size(width: 4, height: 2)
  let before = format.planes[..<component.plane].reduce(0) {
    $0 + $1.tightBytesPerRow(of: size) * $1.texels(of: size).height
  }
  let plane = format.planes[component.plane]
  return before + y * plane.tightBytesPerRow(of: size)
    + (x * component.texelStep + component.texelOffset) * plane.texel.byteCount
    + component.channel * plane.texel.bytesPerChannel
}

@Test(
  "Y', Cb and Cr lie at the byte offsets that the pixel format's name implies",
  arguments: [
    // Y' plane of 8 bytes, then chroma.
    (PixelFormat.nv12, 5, 10, 11), (.nv21, 5, 11, 10), (.i420, 5, 9, 11), (.yv12, 5, 11, 9),
    (.nv16, 5, 10, 11),
    // Rows of Y0 U0 Y1 V0 Y2 U1 Y3 V1 and its kin, 8 bytes a row.
    (.yuyv, 10, 5, 7), (.uyvy, 11, 4, 6), (.yvyu, 10, 7, 5),
    (.yuv444p, 5, 9, 17), (.yuv422p, 5, 9, 13), (.yuv440p, 5, 9, 13),
  ] as [(PixelFormat, Int, Int, Int)])
func componentPositions(format: PixelFormat, luma: Int, cb: Int, cr: Int) throws {
  guard case .ycbcr(let first, let second, let third) = format.model else {
    Issue.record("\(format) is Y'CbCr")
    return
  }
  #expect(byte(first, 1, 1, of: format) == luma)
  #expect(byte(second, 1, 0, of: format) == cb)
  #expect(byte(third, 1, 0, of: format) == cr)
}

@Test(
  "R, G, B and A lie at the byte offsets that the pixel format's name implies",
  arguments: [
    (PixelFormat.rgb24, [3, 4, 5]), (.bgr24, [5, 4, 3]), (.rgba, [4, 5, 6, 7]), (.bgra, [6, 5, 4, 7]),
    (.rgba64, [8, 10, 12, 14]),
  ])
func rgbPositions(format: PixelFormat, bytes: [Int]) {
  guard case .rgb(let red, let green, let blue, let alpha) = format.model else {
    Issue.record("\(format) is RGB")
    return
  }
  let components = [red, green, blue] + (alpha.map { [$0] } ?? [])
  #expect(components.map { byte($0, 1, 0, of: format) } == bytes)
  #expect(format.isRGB)
}

@Test("every component lies inside its plane", arguments: PixelFormat.allCases)
func componentsAreInside(format: PixelFormat) {
  let components: [Component] =
    switch format.model {
    case .rgb(let red, let green, let blue, let alpha): [red, green, blue] + (alpha.map { [$0] } ?? [])
    case .luma(let luma): [luma]
    case .ycbcr(let luma, let cb, let cr): [luma, cb, cr]
    }

  for size in [(1, 1), (2, 2), (3, 5), (9, 4)].map({ Size(width: $0.0, height: $0.1) }) {
    for component in components {
      let plane = format.planes[component.plane]
      let samples = component.subsampling.planeSize(of: size)
      #expect(
        (samples.width - 1) * component.texelStep + component.texelOffset < plane.texels(of: size).width)
      #expect(samples.height == plane.texels(of: size).height)
      #expect((component.channel + 1) * plane.texel.bytesPerChannel <= plane.texel.byteCount)
    }
  }
}

@Test("tightByteCount returns nil if the count overflows Int")
func byteCountOverflow() {
  let side = 1 << 32
  #expect(PixelFormat.grey.tightByteCount(of: Size(width: side, height: side)) == nil)
  #expect(PixelFormat.rgba64.tightByteCount(of: Size(width: side, height: 1 << 29)) == nil)
  #expect(PixelFormat.grey.tightByteCount(of: Size(width: side, height: 1 << 29)) == 1 << 61)
  #expect(PixelFormat.i420.tightByteCount(of: Size(width: side, height: (1 << 31) - 1)) == nil)
}
