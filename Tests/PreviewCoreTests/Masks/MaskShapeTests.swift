// Where masks lie: rectangles and polygons, outwards, and the words that say them.
import Testing

@testable import PreviewCore

@Suite("Mask shapes")
struct MaskShapeTests {
  /// The region as rows of `#` and `.`.
  private func drawn(_ shape: PrivacyMask.Shape, in size: Size, reference: Size? = nil) -> [String] {
    let region = MaskRegion(shape, reference: reference ?? size, in: Frame.Format(.grey, size, color: .jfif))
    var rows = [[Character]](repeating: [Character](repeating: ".", count: size.width), count: size.height)
    for span in region.spans {
      for column in span.columns {
        #expect(rows[span.row][column] == ".", "a pixel twice")
        rows[span.row][column] = "#"
      }
    }
    return rows.map { String($0) }
  }

  private let eight = Size(width: 8, height: 5)

  @Test("a rectangle is clipped to the picture")
  func rectangles() {
    #expect(
      drawn(.rectangle(Rectangle(x: 6, y: 3, width: 9, height: 9)), in: eight)
        == ["........", "........", "........", "......##", "......##"])
    #expect(
      drawn(.rectangle(Rectangle(x: -3, y: -1, width: 4, height: 3)), in: eight)
        == ["#.......", "#.......", "........", "........", "........"])
    #expect(
      drawn(.rectangle(Rectangle(x: 8, y: 0, width: 4, height: 3)), in: eight).joined().contains("#") == false
    )
  }

  @Test("a polygon along pixel edges equals the rectangle that it outlines, in either direction")
  func straight() {
    let expected = drawn(.rectangle(Rectangle(x: 2, y: 1, width: 4, height: 3)), in: eight)
    let corners: [SIMD2<Int>] = [[2, 1], [6, 1], [6, 4], [2, 4]]
    #expect(drawn(.polygon(corners), in: eight) == expected)
    #expect(drawn(.polygon(corners.reversed()), in: eight) == expected)
  }

  @Test("a mask includes every pixel that a polygon's edge crosses")
  func slanted() {
    #expect(
      drawn(.polygon([[0, 0], [8, 0], [0, 5]]), in: eight)
        == ["########", "#######.", "#####...", "####....", "##......"])
    // A needle takes the pixels that it pierces.
    #expect(
      drawn(.polygon([[0, 1], [8, 1], [8, 2]]), in: eight)
        == ["........", "########", "........", "........", "........"])
  }

  @Test("every area that a self-intersecting polygon encloses, once or twice, is hidden")
  func crossing() {
    // A bow tie.
    #expect(
      drawn(.polygon([[0, 0], [8, 4], [8, 0], [0, 4]]), in: eight)
        == ["##....##", "########", "########", "##....##", "........"])
    let pentagram: [SIMD2<Int>] = [[20, 0], [32, 36], [0, 14], [40, 14], [8, 36]]
    let star = drawn(.polygon(pentagram), in: Size(width: 40, height: 40))
    #expect(star[20].split(separator: ".").count == 1, "its middle, which is gone round twice, is hidden")
  }

  @Test("a polygon without area hides its bounding rectangle")
  func degenerate() {
    #expect(
      drawn(.polygon([[2, 1], [5, 1], [2, 1]]), in: eight)
        == ["........", "..###...", "........", "........", "........"])
    #expect(drawn(.polygon([[3, 2], [3, 2], [3, 2]]), in: eight)[2] == "...#....")
  }

  @Test("a random polygon hides every pixel that it overlaps, at three picture sizes", arguments: 0..<24)
  func random(seed: Int) {
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
    func next(_ range: ClosedRange<Int>) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return range.lowerBound + Int(state >> 33) % range.count
    }
    let reference = Size(width: 30, height: 20)
    let points = (0..<next(3...7)).map { _ in SIMD2(next(-6...36), next(-6...26)) }
    let size = [reference, Size(width: 47, height: 31), Size(width: 15, height: 10)][seed % 3]

    let rows = drawn(.polygon(points), in: size, reference: reference).map { Array($0) }

    var missed: Set<SIMD2<Int>> = []
    // Points of a grid of 4 x 4 in each pixel, by the winding number in whole numbers.
    for y in 0..<size.height * 4 {
      for x in 0..<size.width * 4 {
        let (px, py) = ((2 * x + 1) * reference.width, (2 * y + 1) * reference.height)
        var winding = 0
        for (index, from) in points.enumerated() {
          let to = points[(index + 1) % points.count]
          let a = SIMD2(from.x * 8 * size.width, from.y * 8 * size.height)
          let b = SIMD2(to.x * 8 * size.width, to.y * 8 * size.height)
          // Points as px / (8 width), corners scaled to the same.
          let side = (b.x - a.x) * (py - a.y) - (px - a.x) * (b.y - a.y)
          if a.y <= py, b.y > py, side > 0 { winding += 1 }
          if a.y > py, b.y <= py, side < 0 { winding -= 1 }
        }
        if winding != 0, rows[y / 4][x / 4] != "#" { missed.insert([x / 4, y / 4]) }
      }
    }

    #expect(missed.isEmpty, "\(points)")
  }

  @Test(
    "a mask's description equals the text that it was parsed from",
    arguments: [
      "10x20+3+4:fill=#102030", "10x20+3+4:pixelate=12", "1,2 30,2 -5,40:blur=9",
      "0,0 1,0 1,1 0,1:fill=#000000",
    ])
  func words(text: String) throws { #expect(try PrivacyMask(parsing: text).description == text) }

  @Test("a mask without effect is filled black, and blur and pixelate default to 1")
  func defaults() throws {
    #expect(try PrivacyMask(parsing: "10x20+3+4").description == "10x20+3+4:fill=#000000")
    #expect(try PrivacyMask(parsing: "3,4,10,20:fill").description == "10x20+3+4:fill=#000000")
    #expect(try PrivacyMask(parsing: "10x20+3+4:blur").description == "10x20+3+4:blur=1")
    #expect(try PrivacyMask(parsing: "10x20+3+4:pixelate").description == "10x20+3+4:pixelate=1")
  }

  @Test(
    "an invalid mask is rejected with the key 'mask'",
    arguments: [
      "", "10x20", "0x20+3+4", "10x20+3+4:", "10x20+3+4:erase", "10x20+3+4:fill=red", "10x20+3+4:blur=0",
      "10x20+3+4:pixelate=-3", "1,2 3,4", "1,2 3,4 5", "1,2 3,4 a,b", "1,2 3,4 5,6,7", "1,2 3,4 9999999,1",
      "10x20+3+4:pixelate=12:blur=3",
    ])
  func nonsense(text: String) {
    let error = #expect(throws: ParameterError.self) { try PrivacyMask(parsing: text) }
    #expect(error?.key == "mask")
  }

  @Test("a mask outside the picture throws an error that quotes it, and a two-point polygon throws")
  func outside() {
    let masks = [
      PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 1, height: 1))),
      PrivacyMask(.polygon([[9, 0], [12, 0], [9, 4]]), effect: .blur(radius: 3)),
    ]

    let error = #expect(throws: ParameterError.self) { try masks.check(in: eight) }
    #expect(error?.description == "mask: '9,0 12,0 9,4:blur=3' lies outside the 8x5 picture")

    #expect(throws: ParameterError.self) {
      try [PrivacyMask(.polygon([[0, 0], [4, 4]]))].check(in: eight)
    }
    #expect(throws: Never.self) { try Array(masks.prefix(1)).check(in: eight) }
  }

  @Test("a frame of another aspect ratio than the masks' reference is rejected, a nearly equal one is not")
  func otherShapes() {
    let masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 9, height: 9)))]
    func plan(_ width: Int, _ height: Int, _ orientation: Orientation = .upright) throws {
      let size = Size(width: width, height: height)
      _ = try MaskPlan(
        masks, reference: Size(width: 640, height: 360),
        format: Frame.Format(.grey, size, color: .jfif, orientation: orientation))
    }

    #expect(throws: Never.self) { try plan(1920, 1080) }
    #expect(throws: Never.self) { try plan(1920, 1088) }
    #expect(throws: Never.self) { try plan(360, 640, Orientation(.clockwise90)) }
    #expect(throws: ParameterError.self) { try plan(640, 480) }
    #expect(throws: ParameterError.self) { try plan(360, 640) }
  }
}
