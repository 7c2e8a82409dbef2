// Icons: sharp at any size, and the same object when asked for again.
import PreviewCore
import Testing

private func alpha(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> UInt8 {
  bitmap.bytes[(y * bitmap.size.width + x) * 4 + 3]
}

/// How much of it is covered, 0...1.
private func coverage(_ bitmap: Bitmap) -> Double {
  let sum = stride(from: 3, to: bitmap.bytes.count, by: 4).reduce(0) { $0 + Int(bitmap.bytes[$1]) }
  return Double(sum) / 255 / Double(bitmap.size.pixelCount)
}

@Test(
  "an icon has its colour in every pixel, and the same coverage at any size",
  arguments: Fallback.Icon.allCases)
func iconSizes(icon: Fallback.Icon) {
  let large = coverage(icon.bitmap(side: 240))
  #expect((0.1...0.6).contains(large))

  for side in [24, 48, 65, 100] {
    let color = RGBColor(red: 1, green: 2, blue: 3)
    let bitmap = icon.bitmap(side: side, color: color)
    #expect(bitmap.size == Size(width: side, height: side))
    #expect(
      stride(from: 0, to: bitmap.bytes.count, by: 4).allSatisfy {
        bitmap.bytes[$0..<$0 + 3].elementsEqual([1, 2, 3])
      })
    #expect(abs(coverage(bitmap) - large) < 0.012)
  }
}

@Test("an icon's edges are antialiased, and its inside and outside are fully opaque or clear")
func iconEdges() {
  // The camera's body reaches from (2.5, 6) to (15.5, 18) of 24: in 240 pixels, its upper edge is at 60.
  let camera = Fallback.Icon.camera.bitmap(side: 240)
  #expect(alpha(camera, 90, 58) == 0 && alpha(camera, 90, 62) == 255)
  #expect(alpha(camera, 90, 59) == 0 && alpha(camera, 90, 60) == 255)
  // Its left edge is at 25, at 2.5 of 24.
  let small = Fallback.Icon.camera.bitmap(side: 24)
  #expect(alpha(small, 1, 12) == 0 && alpha(small, 2, 12) == 128 && alpha(small, 3, 12) == 255)
  #expect(alpha(camera, 0, 0) == 0 && alpha(camera, 239, 239) == 0)
}

@Test("a struck-out icon has a line where the plain one is clear, and a gap where it is opaque")
func struckOut() {
  for (icon, struck) in [(Fallback.Icon.camera, Fallback.Icon.cameraOff), (.microphone, .microphoneOff)] {
    let (whole, off) = (icon.bitmap(side: 120), struck.bitmap(side: 120))
    let pairs = stride(from: 3, to: whole.bytes.count, by: 4).map { (whole.bytes[$0], off.bytes[$0]) }
    #expect(pairs.contains { $0 == 0 && $1 == 255 })
    #expect(pairs.contains { $0 == 255 && $1 == 0 })
  }
}

@Test("an icon requested again is the same bitmap object, and one with other properties is not")
func iconIdentity() {
  let bitmap = Fallback.Icon.person.bitmap(side: 33, color: .black)
  #expect(Fallback.Icon.person.bitmap(side: 33, color: .black) == bitmap)
  #expect(Fallback.Icon.person.bitmap(side: 33, color: .white) != bitmap)
  #expect(Fallback.Icon.person.bitmap(side: 34, color: .black) != bitmap)
  #expect(Fallback.Icon.warning.bitmap(side: 33, color: .black) != bitmap)
}

@Test("an icon's side is at least 1")
func iconBounds() {
  #expect(Fallback.Icon.camera.bitmap(side: 0).size == Size(width: 1, height: 1))
  #expect(Fallback.Icon.camera.bitmap(side: -5).size == Size(width: 1, height: 1))
}

@Test("a still image of an icon on a colour is opaque")
func iconOnColor() {
  let background = RGBColor(red: 0x6a, green: 0x4c, blue: 0x93)

  let frame = StillImage(.person, side: 24, on: background).frame

  #expect(frame.format == Frame.Format(.rgba, Size(width: 24, height: 24), color: .jfif))
  func pixel(_ x: Int, _ y: Int) -> [UInt8] { Array(frame.bytes[(y * 24 + x) * 4..<(y * 24 + x + 1) * 4]) }
  #expect(pixel(0, 0) == [0x6a, 0x4c, 0x93, 255])
  #expect(pixel(12, 8) == [255, 255, 255, 255], "the middle of the head")
}
