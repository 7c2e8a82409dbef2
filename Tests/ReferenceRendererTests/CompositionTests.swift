// What the reference makes of layers, worked out by hand.
import PreviewCore
import ReferenceRenderer
import Testing

private let white = RGBColor(red: 255, green: 255, blue: 255)
private let grey = RGBColor(red: 100, green: 100, blue: 100)

/// A composition's red codes, row by row; `pixels` is the frame that its views are of.
private func red(
  _ layers: [Layer], width: Int, height: Int = 1, of pixels: [UInt8] = [0]
) throws -> [[UInt8]] {
  let format = Frame.Format(.rgb24, Size(width: pixels.count, height: 1), color: .jfif)
  let frame = try Frame(tight: format, bytes: pixels.flatMap { [$0, $0, $0] })
  let plan = try RenderPlanner().plan(
    [format], Composition(size: Size(width: width, height: height), layers: layers), as: .rgba)
  let bytes = ReferenceRenderer().render([frame], plan).bytes
  return (0..<height).map { y in (0..<width).map { bytes[(y * width + $0) * 4] } }
}

private func all(_ width: Int, _ height: Int = 1) -> Rectangle {
  Rectangle(x: 0, y: 0, width: width, height: height)
}

@Suite("Composition rendering")
struct CompositionTests {
  @Test("a composition without layers is black and opaque")
  func black() throws {
    let plan = try RenderPlanner().plan([], Composition(size: Size(width: 2, height: 1)), as: .rgba)
    #expect(ReferenceRenderer().render([], plan).bytes == [0, 0, 0, 255, 0, 0, 0, 255])
  }

  @Test("blending rounds halves up, after each layer")
  func opacity() throws {
    let half = Layer(.color(white), in: all(1), opacity: 0.5)
    #expect(try red([Layer(.color(grey), in: all(1)), half], width: 1) == [[178]])
    // (178 + 255) / 2 = 216.5
    #expect(try red([Layer(.color(grey), in: all(1)), half, half], width: 1) == [[217]])
  }

  @Test("a pixel-aligned layer has hard edges, also where it extends beyond the picture")
  func edges() throws {
    #expect(
      try red([Layer(.color(white), in: Rectangle(x: 1, y: 0, width: 2, height: 1))], width: 4) == [
        [0, 255, 255, 0]
      ])
    #expect(
      try red([Layer(.color(white), in: Rectangle(x: -3, y: -1, width: 5, height: 9))], width: 4) == [
        [255, 255, 0, 0]
      ])
  }

  @Test("a circle in 2x2 pixels covers 0.793 of each pixel")
  func circle() throws {
    // d = sqrt(1/2) - 1 = -0.2929, coverage 0.7929, of 255: 202.2.
    #expect(
      try red([Layer(.color(white), in: all(2, 2), shape: .circle)], width: 2, height: 2) == [
        [202, 202], [202, 202],
      ])
  }

  @Test("a corner of radius 1 covers 0.793 of its pixel and leaves the other pixels whole")
  func corners() throws {
    #expect(
      try red([Layer(.color(white), in: all(3, 3), shape: .rounded(1))], width: 3, height: 3) == [
        [202, 255, 202], [255, 255, 255], [202, 255, 202],
      ])
  }

  @Test(
    "a 1.5-pixel border covers one and a half pixels, and its colour is not adjusted"
  )
  func border() throws {
    let layer = Layer(
      .color(white), in: all(5, 5), border: Border(width: 1.5, color: grey), adjustment: .dimmed(to: 0.5))
    let rows = try red([layer], width: 5, height: 5)
    // The middle is 127.5; half of it and of 100 is 113.75.
    #expect(rows[2] == [100, 114, 128, 114, 100])
    #expect(rows[0] == [100, 100, 100, 100, 100])
  }

  @Test("a gradient reaches its end colours at the layer's edges, not at pixel centres")
  func gradient() throws {
    let layer = Layer(.gradient(LinearGradient(from: .black, to: white, angle: 90)), in: all(5))
    #expect(try red([layer], width: 5) == [[26, 77, 128, 179, 230]])
    let up = Layer(.gradient(LinearGradient(from: .black, to: white, angle: 0)), in: all(1, 2))
    #expect(try red([up], width: 1, height: 2) == [[191], [64]])
  }

  @Test("a diagonal gradient reaches its end colours in the corners")
  func diagonal() throws {
    // Along (1, 1) / sqrt 2 over a square of 2: a pixel is a quarter further in each direction.
    let layer = Layer(.gradient(LinearGradient(from: .black, to: white, angle: 135)), in: all(2, 2))
    #expect(try red([layer], width: 2, height: 2) == [[64, 128], [128, 191]])
  }

  @Test("a blur interpolates two samples over four pixels by quadratic B-splines, repeating the edges")
  func blur() throws {
    // Samples 0 and 200, at 1/4, 3/4, 5/4 and 7/4 of them. At 1/4 the second weighs b(5/4) = 1/32, at 3/4 b(3/4) = 9/32.
    let content = LayerContent.blurred(input: 0, ViewConfiguration(), Blur(cell: 2))
    #expect(try red([Layer(content, in: all(4))], width: 4, of: [0, 0, 200, 200]) == [[6, 56, 144, 194]])
  }

  @Test("a view shifted by half a pixel averages neighbours, and its end pixels are half covered")
  func halfPixel() throws {
    let layer = Layer(
      .view(input: 0, ViewConfiguration()), in: Rectangle(x: 1, y: 0, width: 2, height: 1),
      transform: .translation(x: 0.5, y: 0))
    // Between black and the first, 100, half covered: 50; then the mean of both; then half of the second.
    #expect(try red([layer], width: 5, of: [100, 200]) == [[0, 50, 150, 100, 0]])
  }

  @Test("a layer rotated by a quarter turn has its first pixel on top")
  func quarterTurn() throws {
    let layer = Layer(
      .view(input: 0, ViewConfiguration()), in: Rectangle(x: 0, y: 1, width: 3, height: 1),
      transform: AffineTransform(a: 0, b: 1, c: -1, d: 0, tx: 0, ty: 0))
    #expect(
      try red([layer], width: 3, height: 3, of: [10, 20, 30]) == [[0, 10, 0], [0, 20, 0], [0, 30, 0]])
  }

  @Test("a colour adjustment is clamped to 0...255")
  func adjustment() throws {
    func adjusted(_ scale: Double, _ offset: Double) throws -> UInt8 {
      let adjustment = ColorAdjustment(
        scale: SIMD3(repeating: scale), offset: SIMD3(repeating: offset))
      return try red([Layer(.color(grey), in: all(1), adjustment: adjustment)], width: 1)[0][0]
    }

    #expect(try adjusted(0.4, 0) == 40)
    #expect(try adjusted(3, 0) == 255)
    #expect(try adjusted(1, -101) == 0)
    #expect(try adjusted(-1, 300) == 200)
  }

  @Test("a bitmap is blended by its alpha, and clear pixels add no colour to interpolated ones")
  func bitmap() throws {
    let bitmap = try Bitmap(size: Size(width: 2, height: 1), bytes: [200, 0, 0, 51, 250, 0, 0, 0])
    let below = Layer(.color(grey), in: all(3))
    let layer = Layer(.bitmap(bitmap), in: all(2))
    #expect(try red([below, layer], width: 3) == [[120, 100, 100]])
    // In the middle alpha is 0.1, and the colour 200 alone; at the left end 0.2, half covered: the same 110.
    let moved = Layer(.bitmap(bitmap), in: all(2), transform: .translation(x: 0.5, y: 0))
    #expect(try red([below, moved], width: 3) == [[110, 110, 100]])
  }

  @Test("4:2:0 chroma of a composition is the mean of the converted pixels")
  func planes() throws {
    let layer = Layer(.color(RGBColor(red: 255, green: 0, blue: 0)), in: all(1))
    let plan = try RenderPlanner().plan(
      [], Composition(size: Size(width: 2, height: 1), layers: [layer]), as: .ycbcr(.yuv420))
    // Red is Y' 76.245, Cb 128 - 43.03, Cr 128 + 127.5; black is 0, 128, 128.
    #expect(ReferenceRenderer().render([], plan).bytes == [76, 0, 106, 192])
  }
}
