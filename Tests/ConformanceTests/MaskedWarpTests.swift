// Privacy in warped views: masks are burned in before drawing, which makes frames that differ only behind
// masks the same, byte for byte. Renderers then draw the same pictures of them, with nothing left over from
// the unmasked frames that they drew before.
import CPURenderer
import Conformance
import ReferenceRenderer
import TestSupport
import Testing

@testable import GLPreview
@testable import PreviewCore

/// Two random frames that differ only in pixels that masks hide, and a warped view of them.
private struct Trial: CustomStringConvertible {
  let format: Frame.Format
  let masks: [PrivacyMask]
  let request: ViewRequest
  /// As the source delivers them.
  let open: [Frame]
  /// With the masks burned in.
  let masked: [Frame]

  private static let outputs: [Picture.Format] = [
    .rgba, .rgba, .ycbcr(.yuv420), .ycbcr(.yuv422), .ycbcr(.yuv444), .video,
  ]

  /// Creates a trial; nil if a mask hides nothing.
  init?(_ random: inout SeededGenerator) throws {
    format = Frame.Format(
      random.oneOf(PixelFormat.allCases),
      Size(width: random.pick(24...80), height: random.pick(24...70)),
      color: ColorDescription(
        matrix: random.oneOf(ColorDescription.Matrix.allCases),
        range: random.oneOf(ColorDescription.QuantizationRange.allCases),
        siting: random.oneOf(ColorDescription.ChromaSiting.allCases)),
      orientation: random.oneOf(Orientation.allCases), eighths: random.oneOf([8, 8, 8, 4, 2]))
    let upright = format.uprightSize
    let isFilled = random.happens(0.7)
    masks = isFilled ? Self.filled(in: upright, &random) : [Self.pixelated(in: upright, &random)]
    guard let plan = try? MaskPlan(masks, reference: upright, format: format) else { return nil }
    let frame = try Frame.synthetic(format, .noise, seed: random.next(), padding: random.pick(0...3))
    let hidden = frame.masked(by: plan)
    // A pixelated picture looks the same when it is masked again.
    let other = try isFilled ? Self.changed(frame, masks, &random) : hidden
    (open, masked) = ([frame, other], [hidden, other.masked(by: plan)])
    request = ViewRequest(Self.view(of: upright, &random), as: random.oneOf(Self.outputs))
  }

  var description: String { "\(format), \(masks), \(request.view) as \(request.format)" }

  private static func rectangle(in size: Size, _ random: inout SeededGenerator) -> Rectangle {
    let (x, y) = (random.pick(-3...size.width - 8), random.pick(-3...size.height - 8))
    return Rectangle(
      x: x, y: y, width: random.pick(8...size.width), height: random.pick(8...size.height))
  }

  private static func filled(in size: Size, _ random: inout SeededGenerator) -> [PrivacyMask] {
    var masks: [PrivacyMask] = []
    for _ in 0..<random.pick(1...3) {
      var shape = PrivacyMask.Shape.rectangle(rectangle(in: size, &random))
      if random.happens(0.5) {
        var points: [SIMD2<Int>] = []
        for _ in 0..<random.pick(3...6) {
          points.append([random.pick(-5...size.width + 5), random.pick(-5...size.height + 5)])
        }
        shape = .polygon(points)
      }
      let color = RGBColor(red: UInt8(random.pick(0...255)), green: 40, blue: UInt8(random.pick(0...255)))
      masks.append(PrivacyMask(shape, effect: .fill(color)))
    }
    return masks
  }

  private static func pixelated(in size: Size, _ random: inout SeededGenerator) -> PrivacyMask {
    PrivacyMask(.rectangle(rectangle(in: size, &random)), effect: .pixelate(cell: random.pick(1...20)))
  }

  private static func view(of size: Size, _ random: inout SeededGenerator) -> ViewConfiguration {
    var view = ViewConfiguration(
      rotation: random.oneOf(Rotation.allCases), mirroring: random.oneOf(Mirroring.allCases),
      width: random.pick(3...90), height: random.happens(0.8) ? random.pick(3...70) : nil,
      contentMode: random.oneOf(ContentMode.allCases), background: .white)
    if random.happens(0.3) {
      let (width, height) = (random.pick(9...size.width), random.pick(9...size.height))
      view.crop = Rectangle(
        x: random.pick(0...size.width - width), y: random.pick(0...size.height - height), width: width,
        height: height)
    }
    return view.warped(in: size, by: &random)
  }

  // MARK: Hidden pixels

  /// Returns the frame with other samples in each pixel whose centre is behind a mask.
  private static func changed(
    _ frame: Frame, _ masks: [PrivacyMask], _ random: inout SeededGenerator
  ) throws -> Frame {
    var bytes = frame.bytes
    let format = frame.format
    for y in 0..<format.size.height {
      for x in 0..<format.size.width {
        let position = upright(x, y, format)
        guard masks.contains(where: { $0.shape.surrounds(position) }) else { continue }
        for component in format.pixelFormat.components {
          let (plane, texel) = (
            frame.planes[component.plane], format.pixelFormat.planes[component.plane].texel
          )
          let column = x / component.subsampling.x * component.texelStep + component.texelOffset
          let row = plane.offset + y / component.subsampling.y * plane.bytesPerRow
          let first = row + column * texel.byteCount + component.channel * texel.bytesPerChannel
          for index in first..<first + texel.bytesPerChannel { bytes[index] = UInt8(random.pick(0...255)) }
        }
      }
    }
    return try Frame(format, bytes: bytes, planes: frame.planes)
  }

  /// Returns the position of the centre of a stored pixel in the upright source.
  private static func upright(_ x: Int, _ y: Int, _ format: Frame.Format) -> SIMD2<Double> {
    let scale = 8 / Double(format.eighths)
    var (across, down) = ((Double(x) + 0.5) * scale, (Double(y) + 0.5) * scale)
    if format.orientation.flipsX { across = Double(format.referenceSize.width) - across }
    if format.orientation.flipsY { down = Double(format.referenceSize.height) - down }
    return format.orientation.swapsAxes ? SIMD2(down, across) : SIMD2(across, down)
  }
}

extension PrivacyMask.Shape {
  fileprivate func surrounds(_ point: SIMD2<Double>) -> Bool {
    switch self {
    case .rectangle(let rectangle):
      return point.x > Double(rectangle.x) && point.x < Double(rectangle.x + rectangle.width)
        && point.y > Double(rectangle.y) && point.y < Double(rectangle.y + rectangle.height)
    case .polygon(let points):
      var winding = 0
      for index in points.indices {
        let (from, to) = (SIMD2<Double>(points[index]), SIMD2<Double>(points[(index + 1) % points.count]))
        guard (from.y <= point.y) != (to.y <= point.y) else { continue }
        let part = (point.y - from.y) / (to.y - from.y)
        let x = from.x + (to.x - from.x) * part
        if x > point.x { winding += from.y < to.y ? 1 : -1 }
      }
      return winding != 0
    }
  }
}

@Suite("Masks in warped views", .timeLimit(.minutes(15)))
struct MaskedWarpTests {
  /// Calls `body` with trials from one seed.
  private static func trials(_ count: Int, seed: UInt64) throws -> [Trial] {
    var random = SeededGenerator(seed: seed)
    var trials: [Trial] = []
    while trials.count < count {
      guard let trial = try Trial(&random) else { continue }
      trials.append(trial)
    }
    return trials
  }

  @Test("sources that differ only behind masks are the same picture to the reference renderer and the CPU's")
  func software() throws {
    var shown = 0
    for trial in try Self.trials(60, seed: 57) {
      try #require(trial.masked[0].bytes == trial.masked[1].bytes, "\(trial)")
      let (reference, exact) = (ReferenceRenderer(), try RenderPlanner().plan(trial.format, [trial.request]))
      let open = trial.open.map { reference.render($0, exact) }
      if open[0] != open[1] { shown += 1 }
      let masked = trial.masked.map { reference.render($0, exact) }
      #expect(masked[0] == masked[1], "\(trial)")

      let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(trial.format, [trial.request])
      for instructions in CPURenderer.Instructions.available {
        let renderer = CPURenderer(threads: 1, instructions: instructions)
        // An unmasked picture before leaves its samples in no later one.
        _ = try renderer.render(trial.open[0], plan)
        let one = try renderer.render(trial.masked[0], plan)
        _ = try renderer.render(trial.open[1], plan)
        let other = try renderer.render(trial.masked[1], plan)
        #expect(one == other, "\(instructions), \(trial)")
      }
    }
    // Otherwise nothing was hidden to begin with.
    #expect(shown > 20)
  }

  @Test("sources that differ only behind masks are the same picture to the GPU, as tuned and as hardware is")
  func gpu() async throws {
    let device = try await GPUDevice.chooseForGL()
    let hardware = RenderTuning(
      maximumTargetSide: device.tuning.maximumTargetSide, boxes: .texels,
      transfer: .buffered(framesInFlight: 3), discardsTargets: true)
    for (seed, tuning) in [(58, device.tuning), (59, hardware)] {
      let renderer = try await GLRenderer.open(on: device, tuning: tuning)
      let planner = RenderPlanner(tuning: tuning)
      var shown = 0
      for trial in try Self.trials(30, seed: UInt64(seed)) {
        try #require(trial.masked[0].bytes == trial.masked[1].bytes, "\(trial)")
        let plan = try planner.plan(trial.format, [trial.request])
        // An unmasked picture before leaves its samples in no later one.
        let openOne = try await renderer.render(trial.open[0], plan)
        let one = try await renderer.render(trial.masked[0], plan)
        let openOther = try await renderer.render(trial.open[1], plan)
        let other = try await renderer.render(trial.masked[1], plan)
        #expect(PictureDifference(expected: one[0], actual: other[0]).worst == 0, "\(trial)")
        if PictureDifference(expected: openOne[0], actual: openOther[0]).worst > 0 { shown += 1 }
      }
      #expect(shown > 8)
      await renderer.close()
    }
  }
}
