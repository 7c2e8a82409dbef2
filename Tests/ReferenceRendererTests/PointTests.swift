// Points of pictures and of their sources: by hand, and by where a drawn pixel comes from.
import PreviewCore
import ReferenceRenderer
import Testing

private let size = Size(width: 100, height: 60)

@Test("a point of a view maps to the source point that is visible there")
func sourcePoints() throws {
  let half = ViewConfiguration(width: 50, height: 30)
  #expect(try half.sourcePoint(of: [10, 5], in: size) == [20, 10])
  let mirrored = ViewConfiguration(mirroring: .horizontal)
  #expect(try mirrored.sourcePoint(of: [10, 5], in: size) == [90, 5])
  // The left edge comes to the top: the first row is the first column, from below.
  let turned = ViewConfiguration(rotation: .clockwise90)
  #expect(try turned.sourcePoint(of: [10, 5], in: size) == [5, 50])
  let cropped = ViewConfiguration(crop: Rectangle(x: 40, y: 20, width: 20, height: 20), width: 40)
  #expect(try cropped.sourcePoint(of: [0, 40], in: size) == [40, 40])
  // A square of a 5:3 picture is its middle 60 columns.
  let filled = ViewConfiguration(width: 30, height: 30)
  #expect(try filled.sourcePoint(of: [0, 0], in: size) == [20, 0])
  #expect(try filled.sourcePoint(of: [31, 0], in: size) == nil)
}

@Test("a view point in a bar has no source point, and a source point cut off by fill no view point")
func bars() throws {
  let fitted = ViewConfiguration(width: 100, height: 100, contentMode: .fit)
  #expect(try fitted.sourcePoint(of: [50, 10], in: size) == nil)
  #expect(try fitted.sourcePoint(of: [50, 50], in: size) == [50, 30])
  #expect(try fitted.picturePoint(of: [0, 0], in: size) == [0, 20])

  let filled = ViewConfiguration(width: 30, height: 30)
  #expect(try filled.picturePoint(of: [10, 10], in: size) == nil)
  #expect(throws: ParameterError.self) {
    try ViewConfiguration(crop: Rectangle(x: 90, y: 0, width: 20, height: 20)).sourcePoint(
      of: [0, 0], in: size)
  }
}

@Test(
  "each pixel of a view has the colour of its source point, and maps back exactly",
  arguments: Rotation.allCases)
func pixels(rotation: Rotation) throws {
  let small = Size(width: 7, height: 5)
  let codes = (0..<UInt8(35)).map { $0 * 7 }
  let frame = try Frame(tight: Frame.Format(.grey, small, color: .jfif), bytes: codes)

  for mirroring in Mirroring.allCases {
    let view = ViewConfiguration(
      crop: Rectangle(x: 1, y: 1, width: 5, height: 3), rotation: rotation, mirroring: mirroring)
    let plan = try RenderPlanner().plan(frame.format, [ViewRequest(view, as: .rgba)])
    let picture = ReferenceRenderer().render(frame, plan)[0]

    for y in 0..<picture.size.height {
      for x in 0..<picture.size.width {
        let middle = SIMD2(Double(x) + 0.5, Double(y) + 0.5)
        let point = try #require(try view.sourcePoint(of: middle, in: small))
        let code = codes[Int(point.y.rounded(.down)) * 7 + Int(point.x.rounded(.down))]
        #expect(picture.bytes[4 * (y * picture.size.width + x)] == code)
        #expect(try view.picturePoint(of: point, in: small) == middle)
      }
    }
  }
}
