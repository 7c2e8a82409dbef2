// The result of a box drawing as a value: equal ones are drawn once, however many views need them.
internal import PreviewCore
internal import Shaders

/// A plane, two planes, or pixels, resampled by areas.
struct BoxDrawing: Hashable {
  let signals: [PackedSignal]
  let size: Size
  let conversion: ColorConversion
  let output: BoxVariant.Output

  /// The drawing that a pass needs, and its output in it.
  static func of(_ pass: PlanePass, _ box: BoxRecipe) -> (drawing: BoxDrawing, output: Int) {
    let (output, index): (BoxVariant.Output, Int) =
      switch pass.output {
      case .rgba: (.pixels, 0)
      case .component(0): (.plane, 0)
      case .component(let component): (.twoPlanes, component - 1)
      }
    return (
      BoxDrawing(signals: box.signals, size: box.size, conversion: pass.conversion, output: output), index
    )
  }

  /// The reversed axes.
  var flips: Orientation {
    Orientation(
      flipsX: signals.first?.columns.source.isReversed == true,
      flipsY: signals.first?.rows.source.isReversed == true)
  }

  /// The rows of the conversion that are written, by uniform name.
  var conversionRows: [(name: String, row: SIMD4<Float>)] {
    let rows = output == .plane ? [0] : output == .twoPlanes ? [1, 2] : [0, 1, 2]
    return zip(["firstOutput", "secondOutput", "thirdOutput"], rows).map { ($0, conversion.row($1)) }
  }

  // MARK: Two steps

  /// The first of two steps: an intermediate picture with a whole multiple of the samples, not converted yet.
  struct FirstStep {
    let drawing: BoxDrawing
    let factors: (x: Int, y: Int)
  }

  /// The largest reduction in one step; a larger one fetches too much for a fragment.
  private static let maximumRatioInOneStep = 6.0
  /// The approximate reduction of the first of two steps.
  private static let ratioOfFirstStep = 3.0

  /// The first step of a large reduction; nil to read the frame itself. It depends only on the drawing, so that a
  /// view looks the same whatever else is requested. Views with the same first step share it.
  var firstStep: FirstStep? {
    guard output != .pixels, signals.count == 1 else { return nil }
    func factor(_ ratio: Double) -> Int {
      ratio > BoxDrawing.maximumRatioInOneStep
        ? Int((ratio / BoxDrawing.ratioOfFirstStep).rounded(.up)) : 1
    }
    let x = factor(signals.reduce(1) { max($0, $1.columns.samplesPerOutput) })
    let y = factor(signals.reduce(1) { max($0, $1.rows.samplesPerOutput) })
    guard x * y > 1 else { return nil }
    let refined = signals.compactMap { $0.refined(x: x, y: y) }
    guard refined.count == signals.count else { return nil }
    let drawing = BoxDrawing(
      signals: refined, size: Size(width: size.width * x, height: size.height * y), conversion: .identity,
      output: output)
    return FirstStep(drawing: drawing, factors: (x, y))
  }

  /// The second step's input: the first step's picture.
  func signal(shrinkingBy factors: (x: Int, y: Int)) -> PackedSignal {
    .picture(output == .plane ? .luma : .chroma, size: size, by: factors, flips: flips)
  }

  /// The same drawing before its conversion.
  var unconverted: BoxDrawing {
    BoxDrawing(signals: signals, size: size, conversion: .identity, output: output)
  }
}

extension ColorConversion {
  /// The coefficients and offset of output `index`.
  func row(_ index: Int) -> SIMD4<Float> {
    [
      Float(columns[0][index]), Float(columns[1][index]), Float(columns[2][index]), Float(offset[index]),
    ]
  }
}
