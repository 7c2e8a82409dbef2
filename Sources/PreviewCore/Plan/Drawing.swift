// The description of a drawing as a value: equal drawings are made once, however many views need them.

/// A drawing of one plane, two planes, or pixels.
package struct Drawing: Sendable, Hashable {
  /// The output of a drawing.
  package enum Output: String, Sendable, Hashable {
    /// One component.
    case plane
    /// Two components, each to its own target.
    case twoPlanes = "two planes"
    /// R, G, B, A.
    case pixels
  }

  package let signals: [PackedSignal]
  package let size: Size
  package let conversion: ColorConversion
  package let output: Output
  /// The colour outside the picture, in the codes of all three outputs; zero if there is no outside.
  package let background: SIMD3<Double>
  /// The colour behind a transparent frame; nil if the frame is opaque.
  package let behind: RGBColor?
  /// In linear light: the crop of stored pixels, within which chroma is brought to luma's grid. Otherwise
  /// nil.
  package let lightCrop: Rectangle?

  /// Whether one pass draws it: every output is made of at most two by two samples.
  var hasFewTaps: Bool {
    lightCrop == nil && signals.allSatisfy { $0.hasFewTaps && NeighbourWeights.fit($0.columns) }
  }

  /// Whether the picture covers all outputs.
  package var isWhole: Bool { signals.allSatisfy(\.isWhole) }

  var flips: Orientation {
    Orientation(
      flipsX: signals.first?.columns.source.isReversed == true,
      flipsY: signals.first?.rows.source.isReversed == true)
  }

  // MARK: Two steps

  /// The first of two steps: an intermediate picture with a whole multiple of the samples, not converted yet.
  struct FirstStep {
    let drawing: Drawing
    /// Its samples for each sample of the second step, along x and y.
    let factors: (x: Int, y: Int)
  }

  /// The largest reduction in one step; a larger one fetches too much for a fragment.
  private static let maximumRatioInOneStep = 6.0
  /// The approximate reduction of the first of two steps.
  private static let ratioOfFirstStep = 3.0

  /// The first step of a large reduction; nil to read the frame itself. It depends only on the drawing, so
  /// that a view looks the same whatever else is requested. Views with the same first step share it.
  var firstStep: FirstStep? {
    guard output != .pixels, signals.count == 1, lightCrop == nil else { return nil }
    func factor(_ ratio: Double) -> Int {
      ratio > Drawing.maximumRatioInOneStep
        ? Int((ratio / Drawing.ratioOfFirstStep).rounded(.up)) : 1
    }
    let x = factor(signals.reduce(1) { max($0, $1.columns.samplesPerOutput) })
    let y = factor(signals.reduce(1) { max($0, $1.rows.samplesPerOutput) })
    guard x * y > 1 else { return nil }
    let refined = signals.compactMap { $0.refined(x: x, y: y) }
    guard refined.count == signals.count else { return nil }
    let drawing = Drawing(
      signals: refined, size: Size(width: size.width * x, height: size.height * y), conversion: .identity,
      output: output, background: .zero, behind: nil, lightCrop: nil)
    return FirstStep(drawing: drawing, factors: (x, y))
  }

  /// Returns the second step: this drawing, made from the first step's picture.
  func secondStep(shrinkingBy factors: (x: Int, y: Int)) -> Drawing {
    let picture = PackedSignal.picture(
      output == .plane ? .luma : .chroma, size: size, by: factors, flips: flips)
    return Drawing(
      signals: [picture], size: size, conversion: conversion, output: output, background: .zero, behind: nil,
      lightCrop: nil)
  }

  /// The drawing without its conversion.
  var unconverted: Drawing {
    Drawing(
      signals: signals, size: size, conversion: .identity, output: output, background: .zero, behind: nil,
      lightCrop: nil)
  }

  // MARK: Sums of rows

  /// The order in which shaders see the three components.
  package enum Order: Sendable { case asNamed, chromaSwapped, reversed }

  package var order: Order {
    guard lightCrop == nil else { return .asNamed }
    for signal in signals {
      switch signal.signal {
      case .rgb where signal.components[0].first > signal.components[2].first: return .reversed
      // Components in separate planes are bound by name.
      case .chroma
      where signal.components[0].plane == signal.components[1].plane
        && signal.components[0].first > signal.components[1].first:
        return .chromaSwapped
      default: break
      }
    }
    return .asNamed
  }

  /// Returns the layout of a signal's samples in sums of rows. Sums of light have four samples a texel.
  package func layout(_ signal: PackedSignal) -> ColumnWeights.Layout {
    ColumnWeights.Layout(
      step: lightCrop != nil ? 2 : signal.half == nil ? signal.step : signal.step / 2)
  }

  /// Returns the texels of a signal's sums.
  package func texels(_ signal: PackedSignal) -> Range<Int> {
    layout(signal).texels(of: signal.columns.source.samples)
  }

  /// Returns the sums of rows of a signal's planes, one or two, or of its light.
  func sums(_ signal: PackedSignal, of picture: PlannedPlane?) -> [RowSums] {
    if let crop = lightCrop {
      return [
        RowSums(
          source: .light(signal, within: crop), rows: signal.rows, half: nil, texels: texels(signal),
          behind: behind)
      ]
    }
    var planes: [Int] = []
    for component in signal.components where planes.last != component.plane { planes.append(component.plane) }
    return planes.map { plane in
      let source =
        if let picture { RowSums.Source.drawn(picture.output(plane)) } else { RowSums.Source.plane(plane) }
      return RowSums(
        source: source, rows: signal.rows, half: signal.half, texels: texels(signal),
        behind: order == .reversed ? behind?.reversed : behind)
    }
  }
}

extension RGBColor {
  fileprivate var reversed: RGBColor { RGBColor(red: blue, green: green, blue: red) }
}

extension Drawing: CustomStringConvertible {
  /// For example `plane 640x360 of luma (box 1920->640, box 1080->360)`.
  package var description: String {
    let light = lightCrop == nil ? "" : " in linear light"
    let inputs = signals.map { "\($0.signal.rawValue) (\($0.columns), \($0.rows))" }
    return "\(output.rawValue) \(size)\(light) of \(inputs.joined(separator: ", "))"
  }
}
