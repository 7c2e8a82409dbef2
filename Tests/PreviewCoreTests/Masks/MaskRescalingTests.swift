// Masks and crops of sources that change their size: whatever was hidden is hidden, however the picture came to its new size.
import Testing

@testable import PreviewCore

@Suite("Masks of sources that change size")
struct MaskRescalingTests {
  /// Numbers that are the same on every run.
  private struct Numbers {
    var state: UInt64 = 7

    mutating func next(_ range: ClosedRange<Int>) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return range.lowerBound + Int(state >> 33) % range.count
    }
  }

  /// How a picture of one size becomes one of another: `scale` and `offset` along each axis.
  private struct Change {
    let scale: SIMD2<Double>
    let offset: SIMD2<Double>
  }

  /// Stretched; or scaled by one side, with the other cut or filled up at either end.
  private func changes(_ reference: Size, _ size: Size) -> [Change] {
    let scale = SIMD2(
      Double(size.width) / Double(reference.width), Double(size.height) / Double(reference.height))
    let sides = SIMD2(Double(size.width), Double(size.height))
    let whole = SIMD2(Double(reference.width), Double(reference.height))
    var changes = [Change(scale: scale, offset: .zero)]
    for one in [scale.x, scale.y] {
      for place in [0, 0.5, 1] {
        changes.append(Change(scale: SIMD2(repeating: one), offset: (sides - whole * one) * place))
      }
    }
    return changes
  }

  @Test("a rescaled mask covers every pixel that shows hidden content: stretched, cropped or padded")
  func outwards() throws {
    var numbers = Numbers()
    for _ in 0..<1500 {
      let reference = Size(width: numbers.next(8...200), height: numbers.next(8...200))
      let numerator = numbers.next(1...24)
      let size = Size(
        width: max(reference.width * numerator / 8 + numbers.next(-1...1), 1),
        height: max(reference.height * numerator / 8 + numbers.next(-1...1), 1))
      guard size.hasShape(of: reference) else { continue }
      let mask = Rectangle(
        x: numbers.next(0...reference.width - 1), y: numbers.next(0...reference.height - 1),
        width: numbers.next(1...60), height: numbers.next(1...60))
      let corners: [SIMD2<Int>] = [
        [mask.x, mask.y], [mask.x + mask.width, mask.y], [mask.x + mask.width, mask.y + mask.height],
        [mask.x, mask.y + mask.height],
      ]

      for shape in [PrivacyMask.Shape.rectangle(mask), .polygon(corners)] {
        let format = Frame.Format(
          .i420, size, color: .jfif, orientation: numbers.next(0...1) == 0 ? .upright : Orientation(.half))
        let plan = try MaskPlan(
          [PrivacyMask(shape)], reference: reference, format: format)
        let step = try #require(plan.steps.first)
        var isHidden = [Bool](repeating: false, count: size.pixelCount)
        for span in step.region.spans {
          for column in span.columns { isHidden[span.row * size.width + column] = true }
        }

        for change in changes(reference, size) {
          let left = shown(mask, by: change, format).first { !isHidden[$0] }
          #expect(left == nil, "\(mask) of \(reference) at \(size)")
        }
      }
    }
  }

  /// The pixels, as stored, that show a bit of `mask`: each as its row times the width plus its column.
  private func shown(_ mask: Rectangle, by change: Change, _ format: Frame.Format) -> [Int] {
    // A hair less, for what doubles make of edges that meet.
    let low = SIMD2(Double(mask.x), Double(mask.y)) * change.scale + change.offset + 1e-6
    let high =
      SIMD2(Double(mask.x + mask.width), Double(mask.y + mask.height)) * change.scale + change.offset - 1e-6
    let (columns, rows) = (range(low.x, high.x, format.size.width), range(low.y, high.y, format.size.height))
    let isTurned = format.orientation != .upright
    return rows.flatMap { row in
      columns.map { column in
        let pixel = row * format.size.width + column
        return isTurned ? format.size.pixelCount - 1 - pixel : pixel
      }
    }
  }

  private func range(_ low: Double, _ high: Double, _ count: Int) -> Range<Int> {
    let start = min(max(Int(low.rounded(.down)), 0), count)
    return start..<max(start, min(Int(high.rounded(.up)), count))
  }

  @Test("a mask scales exactly at the same aspect ratio, gets a margin at a near one, else is rejected")
  func exact() throws {
    let mask = [PrivacyMask(.rectangle(Rectangle(x: 20, y: 10, width: 10, height: 10)))]
    let reference = Size(width: 160, height: 90)
    func bounds(_ width: Int, _ height: Int) throws -> String {
      let format = Frame.Format(.grey, Size(width: width, height: height), color: .jfif)
      return try "\(#require(MaskPlan(mask, reference: reference, format: format).steps.first).region.bounds)"
    }

    #expect(try bounds(160, 90) == "10x10+20+10")
    #expect(try bounds(320, 180) == "20x20+40+20")
    #expect(try bounds(80, 45) == "5x5+10+5")
    // A row and a bit more, on each side: nobody knows where the picture was filled up.
    #expect(try bounds(160, 91) == "14x13+18+9")
    #expect(throws: ParameterError.self) { try bounds(160, 120) }
    #expect(throws: ParameterError.self) { try bounds(90, 160) }
  }

  @Test("a rescaled crop has only pixels fully inside the original, unless one pixel wide or high")
  func crops() throws {
    var numbers = Numbers()
    for _ in 0..<5000 {
      let reference = Size(width: numbers.next(1...300), height: numbers.next(1...300))
      let size = Size(width: numbers.next(1...300), height: numbers.next(1...300))
      let x = numbers.next(0...reference.width - 1)
      let y = numbers.next(0...reference.height - 1)
      let crop = Rectangle(
        x: x, y: y, width: numbers.next(1...reference.width - x),
        height: numbers.next(1...reference.height - y))

      let now = try #require(ViewConfiguration(crop: crop).rescaled(from: reference, to: size).crop)

      #expect(now.isInside(size))
      #expect(now.width == 1 || now.x * reference.width >= crop.x * size.width)
      #expect(now.width == 1 || (now.x + now.width) * reference.width <= (crop.x + crop.width) * size.width)
      #expect(now.height == 1 || now.y * reference.height >= crop.y * size.height)
      #expect(
        now.height == 1 || (now.y + now.height) * reference.height <= (crop.y + crop.height) * size.height)
    }
  }
}
