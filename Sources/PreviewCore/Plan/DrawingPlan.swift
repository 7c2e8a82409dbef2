// The steps in which a device draws a frame: rows are summed, columns of the sums are weighted, planes are
// rotated. Equal drawings are made once, however many views need them.

/// The steps that draw all planes of some views of frames of one format.
package struct DrawingPlan: Sendable, Hashable {
  /// The steps in an order in which each one follows those whose results it reads.
  package let steps: [DrawingStep]
  /// The number of results, which are numbered from 0.
  package let resultCount: Int
  package let views: [PlannedView]
  /// The planes of each view.
  package let planes: [[PlannedPlane]]

  /// The results that steps read.
  package var resultsReadBySteps: Set<Int> { Set(steps.flatMap(\.reads)) }

  /// Returns the steps that some of the views need.
  package func steps(for views: [Int]) -> [DrawingStep] {
    var needed = Set(views.flatMap { planes[$0].map(\.result) })
    var kept: [DrawingStep] = []
    for step in steps.reversed() where step.results.contains(where: needed.contains) {
      needed.formUnion(step.reads)
      kept.append(step)
    }
    return kept.reversed()
  }
}

/// The plan for frames of one format, and a cheaper plan for its frames whose alpha hides nothing, if there
/// is one.
package struct FrameDrawing: Sendable, Hashable {
  package let plan: DrawingPlan
  package let ofOpaque: DrawingPlan?
}

extension DrawingPlan {
  /// Whether it sums rows that are first blended over a background: sums of opaque rows cost half as much.
  var blendsRows: Bool {
    steps.contains { step in
      if case .rows(let sums) = step.work { sums.behind != nil } else { false }
    }
  }
}

extension DrawingPlan {
  /// Whether it reads samples that are blended over a background.
  var blendsSamples: Bool {
    steps.contains { step in
      switch step.work {
      case .samples(let drawing), .columns(let drawing, _): drawing.behind != nil
      case .warp(let drawing): drawing.behind != nil
      default: false
      }
    }
  }
}

/// A plane of a step's result.
package struct PlannedPlane: Sendable, Hashable, CustomStringConvertible {
  /// The result's number.
  package let result: Int
  package let output: Int

  package init(result: Int, output: Int) { (self.result, self.output) = (result, output) }

  func output(_ index: Int) -> PlannedPlane { PlannedPlane(result: result, output: output + index) }

  /// For example `4`, or `4.1` for its second output.
  package var description: String { output == 0 ? "\(result)" : "\(result).\(output)" }
}

/// One step. It is skipped if its result has already been drawn.
package struct DrawingStep: Sendable, Hashable {
  package enum Work: Sendable, Hashable {
    /// Sums weighted rows.
    case rows(RowSums)
    /// Weights columns of sums. For each signal, the numbers are the results that hold its planes' sums.
    case columns(Drawing, [[Int]])
    /// Computes each output from at most two by two samples of the frame.
    case samples(Drawing)
    /// Sums boxes, sixteen bytes at a time. `unconverted` is the result that gets the same drawing before its
    /// conversion. If there is no program for these boxes, `otherwise` draws the same, bit by bit.
    case boxes(Drawing, [BoxGeometry], unconverted: Int?, otherwise: [DrawingStep])
    /// Computes each output from samples around positions of the frame.
    case warp(WarpedDrawing)
    /// Copies a plane, rotated or mirrored.
    case turn(Turning)
  }

  package let result: Int
  package let work: Work

  fileprivate var results: [Int] {
    if case .boxes(_, _, let unconverted?, _) = work { [result, unconverted] } else { [result] }
  }

  /// The results that it reads.
  fileprivate var reads: [Int] {
    switch work {
    case .rows(let sums): if case .drawn(let plane) = sums.source { [plane.result] } else { [] }
    case .columns(_, let sums): sums.flatMap(\.self)
    case .samples, .warp: []
    case .boxes(_, _, _, let otherwise): otherwise.flatMap(\.reads)
    case .turn(let turning): [turning.plane.result]
    }
  }
}

/// Weighted sums of rows in sixteen bits, or of the rows' light.
package struct RowSums: Sendable, Hashable {
  package enum Source: Sendable, Hashable {
    /// The stored bytes of a plane of the frame.
    case plane(Int)
    case drawn(PlannedPlane)
    /// Linear light of the frame's pixels; chroma is brought to luma's grid within the crop of stored pixels.
    case light(PackedSignal, within: Rectangle)
  }

  package let source: Source
  package let rows: SamplingMap
  /// The bytes to sum, as in `PackedSignal.half`.
  package let half: Int?
  /// The texels of each row: eight samples each, or four of light.
  package let texels: Range<Int>
  /// The colour behind a transparent frame, in the order in which its components are stored.
  package let behind: RGBColor?
}

/// A rotated or mirrored copy of a plane.
package struct Turning: Sendable, Hashable {
  package let plane: PlannedPlane
  package let drawing: Drawing
  package let turn: Orientation
}

extension DrawingPlan: CustomStringConvertible {
  /// One line per step, then one per view with the results that hold its planes.
  package var description: String {
    (steps.flatMap(\.lines)
      + zip(views, planes).map { view, planes in
        "\(view.name) \(view.format) = \(planes.map(\.description).joined(separator: ", "))"
      }).joined(separator: "\n")
  }
}

extension DrawingStep {
  /// For example `2 = columns of 0, 1: plane 640x360 of luma (box 1920->640, box 1080->360)`.
  fileprivate var lines: [String] {
    switch work {
    case .rows(let sums): ["\(result) = rows of \(sums)"]
    case .columns(let drawing, let sums):
      ["\(result) = columns of \(sums.flatMap(\.self).map(String.init).joined(separator: ", ")): \(drawing)"]
    case .samples(let drawing): ["\(result) = samples: \(drawing)"]
    case .warp(let drawing): ["\(result) = warp: \(drawing)"]
    case .boxes(let drawing, _, let unconverted, let otherwise):
      ["\(result)\(unconverted.map { ", \($0) unconverted" } ?? "") = boxes: \(drawing), otherwise"]
        + otherwise.flatMap(\.lines).map { "  \($0)" }
    case .turn(let turning): ["\(result) = \(turning.plane) turned \(turning.turn.exif)"]
    }
  }
}

extension RowSums: CustomStringConvertible {
  /// For example `plane 0, every other byte from 1: box 1080->360`.
  package var description: String {
    let what =
      switch source {
      case .plane(let plane): "plane \(plane)"
      case .drawn(let plane): "\(plane)"
      case .light(let signal, _): "light of \(signal.signal.rawValue)"
      }
    return "\(what)\(half.map { ", every other byte from \($0)" } ?? ""): \(rows)"
  }
}
