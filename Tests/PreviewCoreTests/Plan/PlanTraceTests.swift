// Plans as text, for requests whose passes can be told by hand, and what a planner must refuse.
// A line for the frame, a line a pass: kernel and samples in -> out along each axis of the target.
import PreviewCore
import Testing

private let camera = Frame.Format(
  .nv12, Size(width: 1920, height: 1080),
  color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))
private let gpu = RenderTuning(maximumTargetSide: 16384)

private func trace(
  _ frame: Frame.Format, _ words: String, as format: Picture.Format = .ycbcr(.yuv420),
  tuning: RenderTuning = .unlimited
) throws -> String {
  let view = try ViewConfiguration(parsing: words)
  return try RenderPlanner(tuning: tuning).plan(frame, [ViewRequest(view, as: format)]).description
}

@Test("a third of a BT.601 frame as 4:2:0 filters each plane separately")
func thirdOfACamera() throws {
  #expect(
    try trace(camera, "small:size=640x360") == """
      frame 1920x1080 nv12 bt601 limited left
      small ycbcr420[0] 640x360 <- luma (box 1920->640, box 1080->360)
      small ycbcr420[1] 320x180 <- chroma (box 960->320, box 540->180)
      small ycbcr420[2] 320x180 <- chroma (box 960->320, box 540->180)
      """)
}

@Test("from BT.709, output luma also reads chroma, resampled to the luma size")
func thirdOfAnHDCamera() throws {
  let hd = camera.overriding(ColorDescription.Override(matrix: .bt709))
  #expect(
    try trace(hd, "small:size=640x360") == """
      frame 1920x1080 nv12 bt709 limited left
      small ycbcr420[0] 640x360 <- luma (box 1920->640, box 1080->360), chroma (box 960->640, box 540->360)
      small ycbcr420[1] 320x180 <- chroma (box 960->320, box 540->180)
      small ycbcr420[2] 320x180 <- chroma (box 960->320, box 540->180)
      """)
}

@Test("RGBA output reads luma and chroma in one pass, and upsamples chroma where luma is copied")
func rgbaOfACamera() throws {
  #expect(
    try trace(camera, "all", as: .rgba) == """
      frame 1920x1080 nv12 bt601 limited left
      all rgba[0] 1920x1080 <- luma (box 1920->1920, box 1080->1080), chroma (bilinear 960->1920, bilinear 540->1080)
      """)
}

@Test("rotate=90 swaps the axes and reverses one, and a horizontal mirror cancels the reversal")
func turnedCamera() throws {
  // Clockwise: the seen columns are stored rows from the bottom up; mirrored from the top down again.
  #expect(
    try trace(camera, "a:rotate=90,size=108x192", as: .rgba).hasSuffix(
      "luma (box 1080->108 reversed, box 1920->192, swapped), chroma (box 540->108 reversed, box 960->192, swapped)"
    ))
  #expect(
    try trace(camera, "a:rotate=90,mirror=horizontal,size=108x192", as: .rgba).contains(
      "luma (box 1080->108, box 1920->192, swapped)"))
}

@Test("a plan prints the frame's EXIF orientation, and the opposite rotation cancels it")
func exifTurned() throws {
  let photo = Frame.Format(
    .i420, Size(width: 8, height: 6), color: .jfif, orientation: try #require(Orientation(exif: 6)))

  #expect(
    try trace(photo, "a:rotate=270") == """
      frame 8x6 i420 bt601 full centred exif 6
      a ycbcr420[0] 8x6 <- luma (box 8->8, box 6->6)
      a ycbcr420[1] 4x3 <- chroma (box 4->4, box 3->3)
      a ycbcr420[2] 4x3 <- chroma (box 4->4, box 3->3)
      """)
}

@Test("an RGB frame is filtered as RGB, and its plan prints no colour description")
func rgbTrace() throws {
  let picture = Frame.Format(.rgb24, Size(width: 9, height: 7), color: .jfif)
  #expect(
    try trace(picture, "a:size=3x") == """
      frame 9x7 rgb24
      a ycbcr420[0] 3x2 <- rgb (box 9->3, box 7->2)
      a ycbcr420[1] 2x1 <- rgb (box 9->3, box 7->2)
      a ycbcr420[2] 2x1 <- rgb (box 9->3, box 7->2)
      """)
}

@Test("a linear-light plan filters RGB and prints 'in linear light'")
func linearTrace() throws {
  #expect(
    try trace(camera, "a:size=960x,linear=1", as: .rgba) == """
      frame 1920x1080 nv12 bt601 limited left
      a rgba[0] 960x540 in linear light <- rgb (box 1920->960, box 1080->540)
      """)
}

@Test("a plan of a grey frame reads only luma")
func greyTrace() throws {
  let grey = Frame.Format(.grey, Size(width: 4, height: 4), color: .jfif)
  #expect(
    try trace(grey, "a:size=2x2") == """
      frame 4x4 grey bt601 full centred
      a ycbcr420[0] 2x2 <- luma (box 4->2, box 4->2)
      a ycbcr420[1] 1x1 <- luma (box 4->1, box 4->1)
      a ycbcr420[2] 1x1 <- luma (box 4->1, box 4->1)
      """)
}

@Test("a crop must lie inside the upright picture, and is converted to stored coordinates")
func cropsOfPlans() throws {
  let photo = Frame.Format(
    .rgb24, Size(width: 8, height: 6), color: .jfif, orientation: try #require(Orientation(exif: 6)))

  // Upright it is 6x8.
  for words in ["crop=7x1+0+0", "crop=1x1+6+0", "crop=1x9+0+0", "crop=1x1+999999999+999999999"] {
    let error = #expect(throws: ParameterError.self) { try trace(photo, "a:\(words)") }
    #expect(error?.key == "crop")
  }

  // EXIF 6: the seen top right is the stored top left; seen (x, y) is stored (y, 6 - 1 - x).
  let view = ViewConfiguration(crop: Rectangle(x: 1, y: 2, width: 3, height: 4))
  let plan = try RenderPlanner().plan(photo, [ViewRequest(view, as: .rgba)])
  #expect(plan.views[0].crop == Rectangle(x: 2, y: 2, width: 4, height: 3))
  #expect(plan.views[0].size == Size(width: 3, height: 4))
}

@Test("output sizes above the device's side limit or the pixel limit are rejected")
func limits() {
  func error(_ words: String, _ planner: RenderPlanner) -> ParameterError? {
    #expect(throws: ParameterError.self) {
      try planner.plan(camera, [ViewRequest(ViewConfiguration(parsing: "a:\(words)"), as: .rgba)])
    }
  }

  #expect(error("size=16385x1", RenderPlanner(tuning: gpu))?.key == "size")
  #expect(error("size=1x16385", RenderPlanner(tuning: gpu))?.key == "size")
  #expect(error("size=65535x65535", RenderPlanner())?.key == "size")
  #expect(error("size=10001x10000", RenderPlanner())?.key == "size")
  #expect(error("size=11x10", RenderPlanner(maximumPixels: 109))?.key == "size")
  // 1 column of 1080 rows at 65535 columns would have 70 million rows.
  #expect(error("crop=1x1080+0+0,size=65535x", RenderPlanner())?.key == "size")
  #expect(throws: Never.self) { try trace(camera, "a:size=10000x10000", as: .rgba) }
}

@Test("zero, negative and huge output sides are rejected by the planner without trapping")
func impossibleSides() async {
  await #expect(processExitsWith: .success) {
    let frame = Frame.Format(.grey, Size(width: 4, height: 3), color: .jfif)
    for mode in ContentMode.allCases {
      for (width, height) in [
        (0, 5), (5, 0), (0, nil), (nil, -1), (-3, -3), (Int.max, nil), (Int.max, Int.max),
      ] as [(Int?, Int?)] {
        let view = ViewConfiguration(width: width, height: height, contentMode: mode)
        #expect(throws: ParameterError.self) {
          try RenderPlanner().plan(frame, [ViewRequest(view, as: .rgba)])
        }
      }
    }
  }
}
