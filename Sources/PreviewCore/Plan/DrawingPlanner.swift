// Plans the steps that draw views: finds the drawings that their passes need, and their common steps.

extension DrawingPlan {
  /// Plans views of frames whose samples lie as in `format`; nil if the frames lack a signal that a view
  /// needs.
  ///
  /// If `sumsWords`, boxes that repeat evenly are summed sixteen bytes at a time.
  init?(_ views: [PlannedView], of format: PixelFormat, sumsWords: Bool) {
    var needed: [[PassDrawing]] = []
    for view in views {
      let drawings = view.passes.compactMap { PassDrawing($0, of: view, format) }
      guard drawings.count == view.passes.count else { return nil }
      needed.append(drawings)
    }
    var planner = DrawingPlanner(needed.flatMap(\.self), sumsWords: sumsWords)
    planes = needed.map { drawings in drawings.map { planner.plane(of: $0) } }
    (self.views, steps, resultCount) = (views, planner.steps, planner.resultCount)
  }
}

/// The drawing that a pass needs.
private struct PassDrawing {
  let drawing: Wanted
  /// The index of the pass's output among the drawing's.
  let output: Int
  /// The orientation of the pass's output in the drawing. Unless upright, the output is a rotated copy.
  let turn: Orientation

  enum Wanted {
    case plain(Drawing)
    case warped(WarpedDrawing)
  }

  /// Creates the drawing; nil if the frame lacks a signal.
  init?(_ pass: PlanePass, of view: PlannedView, _ format: PixelFormat) {
    let kind: Drawing.Output
    (kind, output) =
      switch pass.output {
      case .rgba: (.pixels, 0)
      case .component(0): (.plane, 0)
      case .component(let component): (.twoPlanes, component - 1)
      }
    let behind = format.isTransparent ? view.background : nil
    guard let first = pass.inputs.first?.axes else {
      guard let warped = WarpedDrawing(pass, as: kind, of: format, behind: behind) else { return nil }
      (drawing, turn) = (.warped(warped), .upright)
      return
    }
    // A rotated output is drawn upright first, because another view may share that picture.
    let isForward =
      first.swapsAxes
      && pass.inputs.compactMap(\.axes).allSatisfy {
        $0.horizontal.isForwardInReverse && $0.vertical.isForwardInReverse
      }
    let signals = pass.inputs.compactMap { PackedSignal($0, format, isForward: isForward) }
    guard signals.count == pass.inputs.count else { return nil }
    drawing = .plain(
      Drawing(
        signals: signals, size: first.swapsAxes ? pass.size.transposed : pass.size,
        conversion: pass.conversion, output: kind,
        background: signals.allSatisfy(\.isWhole) ? .zero : pass.background, behind: behind,
        lightCrop: view.light == .linear ? view.crop : nil))
    turn =
      first.swapsAxes
      ? Orientation(
        swapsAxes: true, flipsX: isForward && first.vertical.source.isReversed,
        flipsY: isForward && first.horizontal.source.isReversed)
      : .upright
  }
}

private struct DrawingPlanner {
  private(set) var steps: [DrawingStep] = []
  private(set) var resultCount = 0
  private let sumsWords: Bool
  private var drawn: [Drawing: Int] = [:]
  private var turned: [Turning: Int] = [:]
  private var warped: [WarpedDrawing: Int] = [:]
  private var sums: [RowSums: Int] = [:]
  /// The sums that are steps of their own, not only part of another step's `otherwise`.
  private var certainSums: Set<Int> = []
  private var firstSteps: Set<Drawing> = []
  /// Requested drawings, by their unconverted form.
  private var converted: [Drawing: Drawing] = [:]

  init(_ needed: [PassDrawing], sumsWords: Bool) {
    self.sumsWords = sumsWords
    for case .plain(let drawing) in needed.map(\.drawing) {
      converted[drawing.unconverted] = drawing
      if let first = firstStep(of: drawing) { firstSteps.insert(first.drawing) }
    }
  }

  mutating func plane(of pass: PassDrawing) -> PlannedPlane {
    let drawing: Drawing
    switch pass.drawing {
    case .plain(let plain): drawing = plain
    case .warped(let warped):
      let result = self.warped[warped] ?? add(.warp(warped))
      self.warped[warped] = result
      return PlannedPlane(result: result, output: pass.output)
    }
    let plane = PlannedPlane(result: result(of: drawing), output: pass.output)
    guard pass.turn != .upright else { return plane }
    let turning = Turning(plane: plane, drawing: drawing, turn: pass.turn)
    let result = turned[turning] ?? add(.turn(turning))
    turned[turning] = result
    return PlannedPlane(result: result, output: 0)
  }

  /// Returns the first of two steps if it can be summed sixteen bytes at a time.
  private func firstStep(of drawing: Drawing) -> Drawing.FirstStep? {
    guard sumsWords, let first = drawing.firstStep, first.drawing.boxes != nil else { return nil }
    return first
  }

  private mutating func result(of drawing: Drawing) -> Int {
    if let done = drawn[drawing] { return done }
    // Another drawing starts with the same sums. Writing them as extra outputs is cheaper than summing twice.
    if firstSteps.contains(drawing), let other = converted[drawing], other != drawing {
      _ = result(of: other)
      if let done = drawn[drawing] { return done }
    }
    if let first = firstStep(of: drawing) {
      let picture = PlannedPlane(result: result(of: first.drawing), output: 0)
      return add(drawing, drawing.secondStep(shrinkingBy: first.factors), of: picture)
    }
    guard sumsWords, let boxes = drawing.boxes else { return add(drawing, drawing, of: nil) }
    var (otherwise, result) = general(drawing, of: nil, isCertain: false)
    drawn[drawing] = result
    var codes: Int?
    let unconverted = drawing.unconverted
    if unconverted != drawing, firstSteps.contains(unconverted), drawn[unconverted] == nil {
      let (steps, result) = general(unconverted, of: nil, isCertain: false)
      drawn[unconverted] = result
      otherwise += steps.filter { !otherwise.contains($0) }
      codes = result
    }
    steps.append(
      DrawingStep(result: result, work: .boxes(drawing, boxes, unconverted: codes, otherwise: otherwise)))
    return result
  }

  /// Draws `wanted` by the general passes, as `drawing` of a picture or of the frame.
  private mutating func add(_ wanted: Drawing, _ drawing: Drawing, of picture: PlannedPlane?) -> Int {
    let (steps, result) = general(drawing, of: picture, isCertain: true)
    self.steps += steps
    drawn[wanted] = result
    return result
  }

  private mutating func general(
    _ drawing: Drawing, of picture: PlannedPlane?, isCertain: Bool
  ) -> (steps: [DrawingStep], result: Int) {
    var steps: [DrawingStep] = []
    var numbers: [[Int]] = []
    let hasOnePass = picture == nil && drawing.hasFewTaps
    for signal in hasOnePass ? [] : drawing.signals {
      numbers.append(
        drawing.sums(signal, of: picture).map { wanted in
          let number = sums[wanted] ?? newResult()
          sums[wanted] = number
          if !certainSums.contains(number) { steps.append(DrawingStep(result: number, work: .rows(wanted))) }
          if isCertain { certainSums.insert(number) }
          return number
        })
    }
    let result = newResult()
    steps.append(
      DrawingStep(result: result, work: hasOnePass ? .samples(drawing) : .columns(drawing, numbers)))
    return (steps, result)
  }

  private mutating func add(_ work: DrawingStep.Work) -> Int {
    let result = newResult()
    steps.append(DrawingStep(result: result, work: work))
    return result
  }

  private mutating func newResult() -> Int {
    defer { resultCount += 1 }
    return resultCount
  }
}
