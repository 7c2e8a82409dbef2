// Carries out the steps of a drawing plan for one frame. Each kind of step has its own painter.
internal import Shaders

/// A drawn plane: one output of a target, or several interleaved ones.
struct DrawnPlane {
  let target: PooledTarget
  let layout: Layout

  enum Layout {
    case whole(output: Int)
    /// Row y is row (y + skipped) / 4 of output (y + skipped) % 4.
    case rowsByTurns(skipped: Int)
    /// Texel x of a row is texel x / 2 of output x % 2.
    case texelsByTurns
  }

  init(_ target: PooledTarget, _ layout: Layout = .whole(output: 0)) {
    (self.target, self.layout) = (target, layout)
  }

  /// The output after `count` others.
  func output(_ count: Int) -> DrawnPlane {
    guard count > 0, case .whole(let first) = layout else { return self }
    return DrawnPlane(target, .whole(output: first + count))
  }

  func bind(unit: Int) {
    if case .whole(let output) = layout {
      target.bind(output, unit: unit)
    } else {
      target.bind(0, unit: unit)
    }
  }
}

/// Draws the planes of one frame's views. The drawn targets return to the pool at the end.
final class FramePainter {
  private let plan: DrawingPlan
  private let frame: UploadedFrame
  private let passes: PassPainter
  private let boxes: BoxPainter
  private let turns: RotationPainter
  private let targets: TargetPool
  private var results: [DrawnPlane?]

  init(
    _ frame: UploadedFrame, _ plan: DrawingPlan, _ programs: ProgramCache, _ tables: TableCache,
    _ targets: TargetPool
  ) {
    (self.frame, self.plan, self.targets) = (frame, plan, targets)
    passes = PassPainter(frame: frame, programs: programs, tables: tables, targets: targets)
    boxes = BoxPainter(frame: frame, programs: programs, targets: targets)
    turns = RotationPainter(programs: programs, targets: targets)
    results = Array(repeating: nil, count: plan.resultCount)
  }

  func drawAll() throws { try carryOut(plan.steps) }

  /// Draws some of the views.
  func draw(_ views: [Int]) throws { try carryOut(plan.steps(for: views)) }

  func view(_ index: Int) -> PlannedView { plan.views[index] }

  /// The planes of a drawn view, which are valid until `finish`.
  func planes(of view: Int) -> [DrawnPlane] {
    plan.planes[view].compactMap { results[$0.result]?.output($0.output) }
  }

  /// Returns the drawn targets to the pool, except those that `isKept` selects.
  func finish(keeping isKept: (PooledTarget) -> Bool = { _ in false }) {
    for result in results {
      // Further outputs of a target are results of their own.
      if let result, !result.isFurtherOutput, !isKept(result.target) { targets.giveBack(result.target) }
    }
    results = []
    frame.finish()
  }

  private func carryOut(_ steps: [DrawingStep]) throws {
    for step in steps where results[step.result] == nil {
      switch step.work {
      case .rows(let sums): results[step.result] = try DrawnPlane(passes.addUp(sums, of: source(of: sums)))
      case .columns(let drawing, let sums):
        let sums = sums.map { $0.compactMap { results[$0]?.target } }
        results[step.result] = try DrawnPlane(passes.weigh(sums, drawing))
      case .samples(let drawing): results[step.result] = try DrawnPlane(passes.sample(drawing))
      case .boxes(let drawing, let geometries, let unconverted, let otherwise):
        let keepsCodes = unconverted.map { results[$0] == nil } ?? false
        guard let target = try boxes.draw(drawing, geometries, keepingCodes: keepsCodes) else {
          try carryOut(otherwise)
          continue
        }
        let isByTurns = drawing.output == .pixels
        results[step.result] = DrawnPlane(target, isByTurns ? .texelsByTurns : .whole(output: 0))
        if keepsCodes, let unconverted {
          let first = drawing.output == .twoPlanes ? 2 : 1
          results[unconverted] = DrawnPlane(target, .whole(output: first))
        }
      case .turn(let turning):
        guard let plane = results[turning.plane.result] else { continue }
        results[step.result] = try turns.turn(plane.output(turning.plane.output), turning)
      }
    }
  }

  private func source(of sums: RowSums) -> DrawnPlane? {
    guard case .drawn(let plane) = sums.source else { return nil }
    return results[plane.result]?.output(plane.output)
  }
}

extension DrawnPlane {
  fileprivate var isFurtherOutput: Bool { if case .whole(output: 1...) = layout { true } else { false } }
}
