import PreviewCore
import Testing

/// A 3x2 picture with letters for pixels, seen through an orientation by moving letters alone.
private func seen(_ orientation: Orientation) -> [String] {
  let stored = [["a", "b", "c"], ["d", "e", "f"]]
  let size = orientation.seen(Size(width: 3, height: 2))
  return (0..<size.height).map { y in
    (0..<size.width).map { x in
      let pixel = orientation.stored(
        Rectangle(x: x, y: y, width: 1, height: 1), in: Size(width: 3, height: 2))
      return stored[pixel.y][pixel.x]
    }.joined()
  }
}

@Test(
  "each of the 8 EXIF orientations shows a picture as the standard defines",
  arguments: zip(
    1...8,
    [
      ["abc", "def"], ["cba", "fed"], ["fed", "cba"], ["def", "abc"],
      ["ad", "be", "cf"], ["da", "eb", "fc"], ["fc", "eb", "da"], ["cf", "be", "ad"],
    ]))
func exifOrientations(number: Int, picture: [String]) throws {
  let orientation = try #require(Orientation(exif: number))
  #expect(seen(orientation) == picture)
  #expect(orientation.exif == number)
}

@Test("EXIF orientations 0, 9 and -1 are rejected", arguments: [0, 9, -1])
func noOtherOrientations(number: Int) { #expect(Orientation(exif: number) == nil) }

@Test("rotations by 90, 180 and 270 degrees are clockwise")
func clockwise() {
  #expect(seen(Orientation(.clockwise90)) == ["da", "eb", "fc"])
  #expect(seen(Orientation(.half)) == ["fed", "cba"])
  #expect(seen(Orientation(.clockwise270)) == ["cf", "be", "ad"])
}

@Test("horizontal mirroring swaps left and right, vertical top and bottom, both rotate by 180")
func mirrors() {
  #expect(seen(Orientation(.horizontal)) == ["cba", "fed"])
  #expect(seen(Orientation(.vertical)) == ["def", "abc"])
  #expect(seen(Orientation(.both)) == seen(Orientation(.half)))
}

@Test("a composed orientation equals its two orientations applied one after another")
func composition() {
  for first in Orientation.allCases {
    for second in Orientation.allCases {
      let size = Size(width: 3, height: 2)
      let both = first.followed(by: second)
      #expect(both.seen(size) == second.seen(first.seen(size)))

      let pixel = Rectangle(x: 1, y: 0, width: 1, height: 1)
      let stepwise = first.stored(second.stored(pixel, in: first.seen(size)), in: size)
      #expect(both.stored(pixel, in: size) == stepwise)
    }
  }
}

@Test("a rectangle is inside a size only with all its pixels, without integer overflow")
func inside() {
  let size = Size(width: 10, height: 5)
  #expect(Rectangle(x: 0, y: 0, width: 10, height: 5).isInside(size))
  #expect(Rectangle(x: 9, y: 4, width: 1, height: 1).isInside(size))
  #expect(!Rectangle(x: 9, y: 4, width: 2, height: 1).isInside(size))
  #expect(!Rectangle(x: -1, y: 0, width: 2, height: 1).isInside(size))
  #expect(!Rectangle(x: 0, y: 0, width: 0, height: 1).isInside(size))
  #expect(!Rectangle(x: .max, y: 0, width: 1, height: 1).isInside(size))
}
