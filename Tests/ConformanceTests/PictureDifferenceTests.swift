// The comparator must be able to fail.
import Conformance
import GLPreview
import Testing

private func picture(_ width: Int, _ height: Int, changing index: Int? = nil, by step: UInt8 = 0) -> Picture {
  var bytes = (0..<width * height * 4).map { UInt8(truncatingIfNeeded: $0 * 7) }
  if let index { bytes[index] &+= step }
  return Picture(tight: Size(width: width, height: height), format: .rgba, bytes: bytes)
}

@Test("equal pictures have no difference")
func same() {
  let difference = PictureDifference(expected: picture(5, 3), actual: picture(5, 3))
  #expect(difference.worst == 0)
  #expect(difference.worstSample == nil)
  #expect(difference.compared == 60)
}

@Test("a difference of 2 in one channel, also alpha, is found with its position", arguments: [0, 17, 59])
func offByTwo(index: Int) {
  let difference = PictureDifference(expected: picture(5, 3), actual: picture(5, 3, changing: index, by: 2))
  #expect(difference.worst == 2)
  #expect(difference.differing == 1)
  #expect(difference.worstSample?.x == index / 4 % 5)
  #expect(difference.worstSample?.y == index / 20)
  #expect(difference.worstSample?.channel == index % 4)
}

@Test("pictures with swapped width and height have the maximum difference of 256")
func swappedSizes() {
  #expect(PictureDifference(expected: picture(5, 3), actual: picture(3, 5)).worst == 256)
}

@Test("row padding is not compared")
func padding() {
  let tight = Picture(tight: Size(width: 1, height: 2), format: .rgba, bytes: [1, 2, 3, 4, 5, 6, 7, 8])
  let padded = Picture(
    size: Size(width: 1, height: 2), format: .rgba,
    planes: [Picture.Plane(size: Size(width: 1, height: 2), offset: 1, bytesPerRow: 6)],
    bytes: [99, 1, 2, 3, 4, 99, 99, 5, 6, 7, 8])
  #expect(PictureDifference(expected: tight, actual: padded).worst == 0)
}
