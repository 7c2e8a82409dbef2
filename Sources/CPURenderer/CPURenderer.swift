// Draws plans on the CPU, where there is no GPU.
internal import CPixels
internal import Glibc
package import PreviewCore

/// Draws frames with the processor's vector instructions, as a `RenderPlan` describes.
///
/// It keeps nothing that is lost or closed: all methods may be called at any time from any task, and draw on
/// the caller's thread.
package final class CPURenderer: Renderer {
  package typealias Failure = CPUError

  private let caches: Caches

  /// The vector instructions that drawing uses.
  package struct Instructions: Sendable, Hashable, CustomStringConvertible {
    fileprivate let form: pixels_instructions

    /// The fastest that this processor has.
    package static let best = Instructions(form: pixels_best_instructions())
    /// The instructions that every processor of its kind has, and the fastest if these are others.
    package static let available =
      best.form == PIXELS_BASELINE ? [best] : [Instructions(form: PIXELS_BASELINE), best]

    package static func == (one: Instructions, other: Instructions) -> Bool {
      one.form.rawValue == other.form.rawValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(form.rawValue) }

    /// `AVX2`, `SSE2`, `NEON` or `C`.
    package var description: String { unsafe String(cString: pixels_name(form)) }
  }

  /// The limits and preferences for plans of this renderer.
  package static let tuning = RenderTuning(maximumTargetSide: 32_768, boxes: .texels, blendsFrames: true)

  /// Creates a renderer.
  ///
  /// - Parameters:
  ///   - threads: the most threads that draw one picture; a picture of usual size is drawn by one. Default:
  ///     all processors, at most 4.
  ///   - instructions: the vector instructions. Default: the fastest.
  package init(
    threads: Int = min(4, max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))), instructions: Instructions = .best
  ) {
    caches = Caches(mostThreads: threads, instructions.form)
  }

  /// The bytes kept for the next pictures.
  package var cachedByteCount: Int { caches.byteCount }

  /// Frees the memory kept for the next pictures.
  package func removeCached() { caches.removeAll() }

  /// Returns the most bytes that drawing takes beside the pictures.
  package static func byteCount(of plan: RenderPlan) -> Int {
    let canvases = plan.views.reduce(0) { $0 + ($1.composition == nil ? 0 : $1.size.pixelCount * 4) }
    return canvases + (plan.drawing?.plan.byteCount ?? 0)
  }

  /// Returns the most bytes that drawing takes beside the picture.
  package static func byteCount(of plan: ScenePlan) -> Int {
    plan.drawings.reduce(plan.view.size.pixelCount * 4) { $0 + ($1?.plan.byteCount ?? 0) }
  }

  package func render(_ frame: Frame, _ plan: RenderPlan) throws(CPUError) -> [Picture] {
    guard frame.format == plan.source else {
      throw CPUError("the plan is for other frames than this one of \(frame.format.size)")
    }
    guard let drawing = plan.drawing else { throw CPUError("the plan is the reference renderer's") }
    return PictureDrawing(caches).pictures(of: frame, plan, drawing)
  }

  package func render(_ frames: [Frame?], _ plan: ScenePlan) throws(CPUError) -> Picture {
    guard frames.count == plan.sources.count else {
      throw CPUError("the plan is for \(plan.sources.count) frames, not \(frames.count)")
    }
    for (index, (frame, source)) in zip(frames, plan.sources).enumerated() {
      guard let source, frame?.format != source else { continue }
      throw CPUError("the plan is for another frame \(index), of \(source)")
    }
    return try PictureDrawing(caches).picture(of: frames, plan)
  }
}

/// A picture that the CPU could not draw.
package struct CPUError: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

extension DrawingPlan {
  /// The bytes of all drawn planes, of frames over backgrounds, and of sums between the steps.
  fileprivate var byteCount: Int {
    var backgrounds: Set<RGBColor> = []
    var (blended, sums) = (0, 0)
    for step in steps {
      if case .warp(let drawing) = step.work, let color = drawing.behind, backgrounds.insert(color).inserted {
        let sampling = drawing.signals[0].sampling
        blended += sampling.columns.samples.upperBound * sampling.rows.samples.upperBound * 8
      }
      guard let drawing = step.drawing else { continue }
      let columns = drawing.signals.map { $0.columns.source.samples.upperBound * $0.step }.max() ?? 0
      // Sixteen rows of two bytes, or of four floats and two more lines.
      sums = max(sums, columns * (drawing.lightCrop == nil ? 32 * 3 : 18 * 16))
      if let color = drawing.behind, backgrounds.insert(color).inserted {
        let rows = drawing.signals.map { $0.rows.source.samples.upperBound }.max() ?? 0
        blended += columns * rows * 2
      }
    }
    return steps.reduce(blended + sums) { sum, step in
      switch step.work {
      case .rows: sum
      case .columns(let drawing, _), .samples(let drawing), .boxes(let drawing, _, _, _):
        sum + drawing.size.pixelCount * drawing.output.byteCount
      case .warp(let drawing): sum + drawing.size.pixelCount * drawing.output.byteCount
      case .turn(let turning):
        sum + turning.drawing.size.pixelCount * turning.drawing.output.bytesPerSample
      }
    }
  }
}

extension DrawingStep {
  fileprivate var drawing: Drawing? {
    switch work {
    case .columns(let drawing, _), .samples(let drawing), .boxes(let drawing, _, _, _): drawing
    case .rows, .warp, .turn: nil
    }
  }
}

extension Drawing.Output {
  /// The bytes of a sample in all of its planes.
  fileprivate var byteCount: Int { self == .twoPlanes ? 2 : bytesPerSample }
}
