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
  private let warps: WarpPainter
  private let targets: TargetPool
  private let computing: Computing?
  private var results: [DrawnPlane?]
  /// The results that are in a `PictureBuffer`, and have no target.
  private var inBuffer: Set<Int> = []
  /// Sums that are drawn only if a step that reads them does not make its own.
  private var sums: [Int: RowSums] = [:]

  init(
    _ frame: UploadedFrame, _ plan: DrawingPlan, _ programs: ProgramCache, _ tables: TableCache,
    _ targets: TargetPool, _ computing: Computing?
  ) {
    (self.frame, self.plan, self.targets) = (frame, plan, targets)
    self.computing = computing
    let passes = PassPainter(frame: frame, programs: programs, tables: tables, targets: targets, computing)
    self.passes = passes
    warps = WarpPainter(passes)
    boxes = BoxPainter(frame: frame, programs: programs, targets: targets)
    turns = RotationPainter(programs: programs, targets: targets, computing: computing)
    results = Array(repeating: nil, count: plan.resultCount)
  }

  func drawAll() throws { try carryOutAndOrder(plan.steps) }

  /// Draws some of the views.
  func draw(_ views: [Int]) throws { try carryOutAndOrder(plan.steps(for: views)) }

  /// The buffer with the planes that have no target; nil if there is none.
  var buffer: PictureBuffer? { computing?.pictures }

  func view(_ index: Int) -> PlannedView { plan.views[index] }

  /// The planes of a drawn view, which are valid until `finish`; nil for those that are in `buffer`.
  func planes(of view: Int) -> [DrawnPlane?] {
    plan.planes[view].map { results[$0.result]?.output($0.output) }
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

  private func carryOutAndOrder(_ steps: [DrawingStep]) throws {
    defer { computing?.orderWrites() }
    try carryOut(steps)
  }

  private func carryOut(_ steps: [DrawingStep]) throws {
    for step in steps where results[step.result] == nil && !inBuffer.contains(step.result) {
      switch step.work {
      case .rows(let sums): self.sums[step.result] = sums
      case .columns(let drawing, let numbers):
        take(try weigh(numbers, drawing, step.result).map { DrawnPlane($0) }, as: step.result)
      case .samples(let drawing):
        take(try passes.sample(drawing, step.result).map { DrawnPlane($0) }, as: step.result)
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
      case .warp(let drawing): take(DrawnPlane(try warps.draw(drawing)), as: step.result)
      case .turn(let turning):
        guard let plane = results[turning.plane.result] else { continue }
        take(try turns.turn(plane.output(turning.plane.output), turning, step.result), as: step.result)
      }
    }
  }

  private func take(_ plane: DrawnPlane?, as result: Int) {
    results[result] = plane
    if plane == nil { inBuffer.insert(result) }
  }

  /// Returns nil if the result is in `buffer`.
  private func weigh(_ numbers: [[Int]], _ drawing: Drawing, _ result: Int) throws -> PooledTarget? {
    if let output = try passes.addUpAndWeigh(numbers.map { $0.compactMap { sums[$0] } }, drawing, result) {
      return output.target
    }
    for number in numbers.joined() where results[number] == nil {
      guard let sums = sums[number] else { continue }
      results[number] = try DrawnPlane(passes.addUp(sums, of: source(of: sums)))
    }
    return try passes.weigh(numbers.map { $0.compactMap { results[$0]?.target } }, drawing)
  }

  private func source(of sums: RowSums) -> DrawnPlane? {
    guard case .drawn(let plane) = sums.source else { return nil }
    return results[plane.result]?.output(plane.output)
  }
}

extension DrawnPlane {
  fileprivate var isFurtherOutput: Bool { if case .whole(output: 1...) = layout { true } else { false } }
}
