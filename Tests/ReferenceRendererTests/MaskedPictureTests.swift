// Masks that are drawn into a picture of a view afterwards: nothing of what they hide in the source is left,
// whatever the view, its filter and the source's format.
import PreviewCore
import ReferenceRenderer
import TestSupport
import Testing

/// A random source, its masks and a view of it.
private struct Trial {
  let frame: Frame
  let masks: [PrivacyMask]
  let view: ViewConfiguration

  private static let formats: [PixelFormat] = [
    .i420, .i420, .nv12, .yuyv, .yuv422p, .yuv440p, .yuv411p, .yuv444p, .grey, .rgb24,
  ]

  init(frame: Frame, masks: [PrivacyMask], view: ViewConfiguration) {
    (self.frame, self.masks, self.view) = (frame, masks, view)
  }

  init(_ numbers: inout SeededGenerator) throws {
    let size = Size(width: numbers.pick(4...40), height: numbers.pick(4...30))
    let format = Frame.Format(
      numbers.oneOf(Self.formats), size, color: numbers.oneOf([.jfif, .camera601, .camera709, .jfifLeft]))
    let count = try #require(format.pixelFormat.tightByteCount(of: size))
    frame = try Frame(tight: format, bytes: (0..<count).map { _ in UInt8(numbers.pick(0...255)) })
    masks = (0..<numbers.pick(1...2)).map { _ in PrivacyMask(Self.shape(in: size, &numbers)) }
    view = Self.view(of: size, &numbers)
  }

  private static func shape(in size: Size, _ numbers: inout SeededGenerator) -> PrivacyMask.Shape {
    guard numbers.pick(0...1) == 0 else {
      return .polygon(
        (0..<numbers.pick(3...6)).map { _ in
          SIMD2(numbers.pick(-5...size.width + 5), numbers.pick(-5...size.height + 5))
        })
    }
    let (x, y) = (numbers.pick(-3...size.width - 1), numbers.pick(-3...size.height - 1))
    return .rectangle(
      Rectangle(x: x, y: y, width: numbers.pick(1...size.width), height: numbers.pick(1...size.height)))
  }

  private static func view(of size: Size, _ numbers: inout SeededGenerator) -> ViewConfiguration {
    var view = ViewConfiguration(
      rotation: numbers.oneOf(Rotation.allCases), mirroring: numbers.oneOf(Mirroring.allCases),
      contentMode: numbers.oneOf(ContentMode.allCases), filter: numbers.oneOf(Filter.allCases),
      light: numbers.oneOf([.encoded, .encoded, .encoded, .linear]))
    if numbers.pick(0...1) == 0 {
      let (width, height) = (numbers.pick(1...size.width), numbers.pick(1...size.height))
      view.crop = Rectangle(
        x: numbers.pick(0...size.width - width), y: numbers.pick(0...size.height - height), width: width,
        height: height)
    }
    if numbers.pick(0...3) > 0 { view.width = numbers.pick(1...70) }
    if numbers.pick(0...3) > 0 { view.height = numbers.pick(1...70) }
    return view
  }

  /// Draws the view as for a recorder, with this colour in the hidden part of the source. Nil if a mask hides
  /// nothing.
  func picture(hiding color: RGBColor) throws -> Picture? {
    let filled = masks.map { PrivacyMask($0.shape, effect: .fill(color)) }
    let size = frame.format.uprightSize
    guard let plan = try? MaskPlan(filled, reference: size, format: frame.format) else { return nil }
    return try render(frame.masked(by: plan), view, as: .ycbcr(.yuv420, .limited))
  }
}

extension Picture {
  /// The picture as decoders give it: at its own size, or with both sides even.
  fileprivate func decoded(isEven: Bool) throws -> Frame {
    let color = ColorDescription(matrix: .bt601, range: .limited, siting: .centred)
    let coded = Size(
      width: isEven ? (size.width + 1) / 2 * 2 : size.width,
      height: isEven ? (size.height + 1) / 2 * 2 : size.height)
    let luma = (0..<coded.height).flatMap { y in
      (0..<coded.width).map { x in
        bytes[min(y, size.height - 1) * planes[0].bytesPerRow + min(x, size.width - 1)]
      }
    }
    return try Frame(
      tight: Frame.Format(.i420, coded, color: color), bytes: luma + bytes[size.pixelCount...])
  }
}

extension Trial {
  /// The numbers of samples in which two pictures differ whose sources differ only where the masks hide them:
  /// as drawn, and with the masks. Nil if the picture has no geometry, or a mask hides nothing.
  fileprivate func differences(isEven: Bool) throws -> (drawn: Int, masked: Int)? {
    guard let geometry = ViewGeometry(of: view, in: frame.format.uprightSize),
      let dark = try picture(hiding: .black),
      let bright = try picture(hiding: RGBColor(red: 255, green: 60, blue: 220))
    else { return nil }
    #expect(dark.size == geometry.size)
    let (one, other) = (try dark.decoded(isEven: isEven), try bright.decoded(isEven: isEven))
    let plan = MaskPlan(masks, shownBy: geometry, format: one.format)
    func count(_ one: [UInt8], _ other: [UInt8]) -> Int { zip(one, other).count { $0 != $1 } }
    return (
      drawn: count(one.bytes, other.bytes),
      masked: count(one.masked(by: plan).bytes, other.masked(by: plan).bytes)
    )
  }
}

@Test("a picture drawn without masks shows nothing of what they hide after they are drawn into it")
func masksAfterwards() throws {
  var numbers = SeededGenerator(seed: 20)
  var (trials, shown) = (0, 0)
  var leaks: [String] = []
  while trials < 400 {
    let trial = try Trial(&numbers)
    guard let found = try trial.differences(isEven: numbers.pick(0...1) == 0) else { continue }
    trials += 1
    if found.drawn > 0 { shown += 1 }
    guard found.masked > 0 else { continue }
    leaks.append("\(found.masked) samples, of \(trial.frame.format) by \(trial.view) with \(trial.masks)")
  }
  // Otherwise nothing was hidden to begin with.
  #expect(shown > 100)
  #expect(leaks.isEmpty, "\(leaks.count) of \(trials): \(leaks.prefix(3).joined(separator: "\n"))")
}

@Test("a mask that reaches into a picture with its tip alone hides all that a filter has spread of it")
func maskBesidePicture() throws {
  // The view shows the columns 10 to 30, and the filter reads further ones of the source.
  let view = ViewConfiguration(width: 22, height: 176, contentMode: .fill, filter: .lanczos)
  let size = Size(width: 40, height: 160)
  let format = Frame.Format(.i420, size, color: .jfif)
  var numbers = SeededGenerator(seed: 1)
  let bytes = (0..<size.pixelCount * 3 / 2).map { _ in UInt8(numbers.pick(0...255)) }
  let mask = PrivacyMask(.polygon([[9, 0], [9, 160], [12, 80]]))
  let trial = Trial(frame: try Frame(tight: format, bytes: bytes), masks: [mask], view: view)
  let found = try #require(try trial.differences(isEven: false))
  #expect(found.drawn > 0 && found.masked == 0)
}
