// The result of a box drawing as a value: equal ones are drawn once, however many views need them.

/// A plane, two planes, or pixels, resampled by areas.
package struct BoxDrawing: Sendable, Hashable {
  /// What a drawing writes.
  package enum Output: Sendable, Hashable {
    /// One component.
    case plane
    /// Two components, each to its own target.
    case twoPlanes
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
  /// In linear light: the crop of stored pixels, within which chroma is brought to luma's grid. Otherwise nil.
  package let lightCrop: Rectangle?

  /// The drawing that a pass of `view` needs, and its output in it.
  package static func of(_ pass: PlanePass, _ box: BoxRecipe, _ view: PlannedView, _ format: Frame.Format)
    -> (drawing: BoxDrawing, output: Int)
  {
    let (output, index): (Output, Int) =
      switch pass.output {
      case .rgba: (.pixels, 0)
      case .component(0): (.plane, 0)
      case .component(let component): (.twoPlanes, component - 1)
      }
    return (
      BoxDrawing(
        signals: box.signals, size: box.size, conversion: pass.conversion, output: output,
        background: box.signals.allSatisfy(\.isWhole) ? .zero : pass.background,
        behind: format.pixelFormat.isTransparent ? view.background : nil,
        lightCrop: view.light == .linear ? view.crop : nil),
      index
    )
  }

  /// Whether one pass draws it: every output is made of at most two by two samples.
  package var hasFewTaps: Bool { lightCrop == nil && signals.allSatisfy(\.hasFewTaps) }

  /// Whether the picture covers all outputs.
  package var isWhole: Bool { signals.allSatisfy(\.isWhole) }

  package var flips: Orientation {
    Orientation(
      flipsX: signals.first?.columns.source.isReversed == true,
      flipsY: signals.first?.rows.source.isReversed == true)
  }

  // MARK: Two steps

  /// The first of two steps: an intermediate picture with a whole multiple of the samples, not converted yet.
  package struct FirstStep {
    package let drawing: BoxDrawing
    /// Its samples for each sample of the second step, along x and y.
    package let factors: (x: Int, y: Int)
  }

  /// The largest reduction in one step; a larger one fetches too much for a fragment.
  private static let maximumRatioInOneStep = 6.0
  /// The approximate reduction of the first of two steps.
  private static let ratioOfFirstStep = 3.0

  /// The first step of a large reduction; nil to read the frame itself. It depends only on the drawing, so that a
  /// view looks the same whatever else is requested. Views with the same first step share it.
  package var firstStep: FirstStep? {
    guard output != .pixels, signals.count == 1, lightCrop == nil else { return nil }
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
      output: output, background: .zero, behind: nil, lightCrop: nil)
    return FirstStep(drawing: drawing, factors: (x, y))
  }

  /// The second step: this drawing of the first step's picture.
  package func secondStep(shrinkingBy factors: (x: Int, y: Int)) -> BoxDrawing {
    let picture = PackedSignal.picture(
      output == .plane ? .luma : .chroma, size: size, by: factors, flips: flips)
    return BoxDrawing(
      signals: [picture], size: size, conversion: conversion, output: output, background: .zero, behind: nil,
      lightCrop: nil)
  }

  /// The same drawing before its conversion.
  package var unconverted: BoxDrawing {
    BoxDrawing(
      signals: signals, size: size, conversion: .identity, output: output, background: .zero, behind: nil,
      lightCrop: nil)
  }
}
