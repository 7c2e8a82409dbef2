// Draws the pictures of a plan: views straight into their pictures, compositions by way of a canvas.
internal import Basics
internal import CPixels
internal import PreviewCore

struct PictureDrawing {
  private let caches: Caches

  init(_ caches: Caches) { self.caches = caches }

  // MARK: Views of a frame

  func pictures(of frame: Frame, _ plan: RenderPlan, _ drawing: FrameDrawing) -> [Picture] {
    let (frame, drawn) = opaque(frame, drawing)
    return frame.storage.withSpan { samples in
      unsafe samples.withUnsafeBufferPointer { samples in
        guard let samples = samples.baseAddress else { return [] }
        return unsafe pictures(plan, drawn, frame, FramePainter(frame, samples, drawn, caches))
      }
    }
  }

  /// The frame without its alpha, if that hides nothing of what is read, and the plan for it.
  private func opaque(_ frame: Frame, _ drawing: FrameDrawing) -> (Frame, DrawingPlan) {
    guard let ofOpaque = drawing.ofOpaque,
      let plain = frame.withoutUnusedAlpha(in: rowsRead(by: ofOpaque.steps))
    else { return (frame, drawing.plan) }
    return (plain, ofOpaque)
  }

  /// The stored rows that steps read of a frame without alpha; nil if these are not known.
  private func rowsRead(by steps: [DrawingStep]) -> [Range<Int>]? {
    var rows: [Range<Int>] = []
    for step in steps {
      switch step.work {
      case .rows, .turn: continue
      case .columns(let drawing, _), .samples(let drawing):
        guard drawing.lightCrop == nil else { return nil }
        rows += caches.prepared(drawing, .bytes).rowsRead
      case .warp(let drawing): rows += drawing.rowsRead
      case .boxes(_, _, _, let otherwise):
        guard let more = rowsRead(by: otherwise) else { return nil }
        rows += more
      }
    }
    return rows
  }

  private func pictures(
    _ plan: RenderPlan, _ drawn: DrawingPlan, _ frame: Frame, _ painter: FramePainter
  ) -> [Picture] {
    let layouts = plan.views.map(TightLayout.init)
    let bytes = unsafe PictureDrawing.arrays(of: layouts.map(\.byteCount)[...]) { memories in
      // Each drawn plane goes to the first picture that shows it.
      var targets: [PlannedPlane: PlaneMemory] = [:]
      var first = 0
      for (index, view) in plan.views.enumerated() {
        guard view.composition == nil else {
          first += view.composition?.views(of: 0).count ?? 0
          continue
        }
        for (plane, planned) in drawn.planes[first].enumerated() where targets[planned] == nil {
          targets[planned] = unsafe layouts[index].memory(plane, memories[index])
        }
        first += 1
      }
      painter.carryOut(drawn.steps, into: targets)
      first = 0
      for (index, view) in plan.views.enumerated() {
        if let composition = view.composition {
          let views = composition.views(of: 0)
          var tiles: [Tile: PlaneMemory] = [:]
          for (place, tile) in views.enumerated() {
            tiles[Tile(input: 0, view: tile)] = painter.plane(drawn.planes[first + place][0])
          }
          first += views.count
          unsafe compose(composition, view, tiles, layouts[index], memories[index])
        } else {
          for (plane, planned) in drawn.planes[first].enumerated() {
            let target = unsafe layouts[index].memory(plane, memories[index])
            guard let source = painter.plane(planned), unsafe source.bytes != target.bytes else { continue }
            let layout = layouts[index].planes[plane]
            target.copy(
              source, bytesPerRow: layout.size.width * view.format.bytesPerSample, rows: layout.size.height)
          }
          first += 1
        }
      }
    }
    return zip(layouts, bytes).map { layout, bytes in
      Picture(size: layout.size, format: layout.format, planes: layout.planes, bytes: bytes)
    }
  }

  // MARK: Scenes

  func picture(of frames: [Frame?], _ plan: ScenePlan) throws(CPUError) -> Picture {
    guard let composition = plan.view.composition else { throw CPUError("the scene has no picture") }
    var tiles: [Tile: PlaneMemory] = [:]
    for (input, (frame, drawing)) in zip(frames, plan.drawings).enumerated() {
      guard let frame, let drawing else { continue }
      let (opaque, drawn) = opaque(frame, drawing)
      opaque.storage.withSpan { samples in
        unsafe samples.withUnsafeBufferPointer { samples in
          guard let samples = samples.baseAddress else { return }
          let painter = unsafe FramePainter(opaque, samples, drawn, caches)
          painter.carryOut(drawn.steps, into: [:])
          for (view, planes) in zip(drawn.views, drawn.planes) {
            tiles[Tile(input: input, view: view)] = painter.plane(planes[0])
          }
        }
      }
    }
    let layout = TightLayout(plan.view)
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: layout.byteCount) { memory, count in
      guard let memory = memory.baseAddress else { return }
      unsafe compose(composition, plan.view, tiles, layout, memory)
      count = layout.byteCount
    }
    return Picture(size: layout.size, format: layout.format, planes: layout.planes, bytes: bytes)
  }

  private func compose(
    _ composition: PlannedComposition, _ view: PlannedView, _ tiles: [Tile: PlaneMemory],
    _ layout: TightLayout,
    _ memory: UnsafeMutablePointer<UInt8>
  ) {
    let isRGB = view.format == .rgba
    let canvas = unsafe Compositor(composition, tiles).canvas(into: isRGB ? layout.memory(0, memory) : nil)
    guard case .ycbcr(let chroma, let range) = view.format else { return }
    let conversion = ColorConversion.ycbcrFromRGB(range)
    unsafe convert(canvas, view.size, .none, [0], conversion, [layout.memory(0, memory)])
    unsafe convert(
      canvas, view.size, chroma.subsampling, [1, 2], conversion,
      [layout.memory(1, memory), layout.memory(2, memory)])
  }

  /// Converts the canvas to planes of components `rows` of Y'CbCr.
  private func convert(
    _ canvas: PlaneMemory, _ size: Size, _ step: Subsampling, _ rows: [Int], _ conversion: ColorConversion,
    _ targets: [PlaneMemory]
  ) {
    var description = unsafe pixels_conversion()
    unsafe (description.pixels, description.stride) = unsafe (UnsafePointer(canvas.bytes), canvas.stride)
    unsafe (description.width, description.height) = (Int32(size.width), Int32(size.height))
    unsafe (description.step_x, description.step_y) = (Int32(step.x), Int32(step.y))
    unsafe description.output_count = Int32(rows.count)
    func factors(_ row: Int) -> (Int16, Int16, Int16) {
      let factors = conversion.columns.map { Int16(($0[row] * 16384).rounded()) }
      return (factors[0], factors[1], factors[2])
    }
    func offset(_ row: Int) -> Int32 { Int32((conversion.offset[row] * 16384).rounded()) }
    unsafe description.factors = (factors(rows[0]), factors(rows[rows.count - 1]))
    unsafe description.offsets = (offset(rows[0]), offset(rows[rows.count - 1]))
    unsafe description.planes = unsafe (targets[0].bytes, targets[targets.count - 1].bytes)
    unsafe description.strides = (targets[0].stride, targets[targets.count - 1].stride)
    unsafe pixels_convert(caches.instructions, &description, 0, Int32(step.planeSize(of: size).height))
  }

  /// Makes arrays of these sizes, which `body` fills all at once.
  private static func arrays(
    of counts: ArraySlice<Int>, _ memories: [UnsafeMutablePointer<UInt8>] = unsafe [],
    _ body: ([UnsafeMutablePointer<UInt8>]) -> Void
  ) -> [[UInt8]] {
    guard let count = counts.first else {
      unsafe body(memories)
      return []
    }
    var others: [[UInt8]] = []
    let array = unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, initialized in
      guard let memory = memory.baseAddress else { return }
      others = unsafe arrays(of: counts.dropFirst(), memories + [memory], body)
      initialized = count
    }
    return [array] + others
  }
}

/// The planes of a picture one after another, without padding.
struct TightLayout {
  let size: Size
  let format: Picture.Format
  let planes: [Picture.Plane]
  let byteCount: Int

  init(_ view: PlannedView) {
    var count = 0
    planes = view.format.planeSizes(of: view.size).map { size in
      let bytesPerRow = size.width * view.format.bytesPerSample
      defer { count += bytesPerRow * size.height }
      return Picture.Plane(size: size, offset: count, bytesPerRow: bytesPerRow)
    }
    (size, format, byteCount) = (view.size, view.format, count)
  }

  func memory(_ plane: Int, _ bytes: UnsafeMutablePointer<UInt8>) -> PlaneMemory {
    unsafe PlaneMemory(bytes + planes[plane].offset, stride: planes[plane].bytesPerRow)
  }
}

/// A drawn view of one of a scene's frames.
struct Tile: Hashable {
  let input: Int
  let view: PlannedView
}
