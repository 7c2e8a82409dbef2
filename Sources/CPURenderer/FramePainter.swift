// Carries out the steps of a drawing plan for one frame.
internal import CPixels
internal import Dispatch
internal import PreviewCore

/// Draws the planes of one frame's views.
@safe final class FramePainter {
  private let frame: Frame
  private let plan: DrawingPlan
  private let memory: UnsafePointer<UInt8>
  private let caches: Caches
  private var results: [Int: [PlaneMemory]] = [:]
  /// The frame over each background that is asked for, four words a pixel.
  private var blended: [RGBColor: Blended] = [:]

  @safe private final class Blended {
    let words: UnsafeMutablePointer<UInt16>

    init(_ count: Int) { unsafe words = .allocate(capacity: count) }

    deinit { unsafe words.deallocate() }
  }

  /// Starts with a frame whose bytes are `memory`, which must stay valid.
  init(_ frame: Frame, _ memory: UnsafePointer<UInt8>, _ plan: DrawingPlan, _ caches: Caches) {
    unsafe (self.frame, self.memory, self.plan, self.caches) = unsafe (frame, memory, plan, caches)
  }

  /// Carries out steps. Planes that have a place among `targets` are drawn there.
  func carryOut(_ steps: [DrawingStep], into targets: [PlannedPlane: PlaneMemory]) {
    for step in steps where results[step.result] == nil {
      switch step.work {
      // Columns sum their rows themselves, sixteen at a time.
      case .rows: continue
      case .columns(let drawing, _), .samples(let drawing):
        let planes = planes(of: step.result, drawing.size, drawing.output, targets)
        draw(drawing, into: planes)
        results[step.result] = planes
      case .warp(let drawing):
        let planes = planes(of: step.result, drawing.size, drawing.output, targets)
        draw(drawing, into: planes)
        results[step.result] = planes
      case .boxes(_, _, _, let otherwise): carryOut(otherwise, into: targets)
      case .turn(let turning):
        let size = turning.drawing.size.transposed
        let isPixels = turning.drawing.output == .pixels
        guard let source = plane(turning.plane) else { continue }
        let target =
          targets[PlannedPlane(result: step.result, output: 0)]
          ?? PlaneMemory(bytesPerRow: size.width * (isPixels ? 4 : 1), rows: size.height)
        unsafe pixels_turn(
          caches.instructions, source.bytes, source.stride, target.bytes, target.stride, Int32(size.height),
          Int32(size.width),
          isPixels ? 4 : 1, turning.turn.flipsX ? 1 : 0, turning.turn.flipsY ? 1 : 0)
        results[step.result] = [target]
      }
    }
  }

  /// A drawn plane.
  func plane(_ planned: PlannedPlane) -> PlaneMemory? {
    guard let outputs = results[planned.result] else { return nil }
    return outputs[planned.output]
  }

  private func planes(
    of result: Int, _ size: Size, _ output: Drawing.Output, _ targets: [PlannedPlane: PlaneMemory]
  ) -> [PlaneMemory] {
    (0..<(output == .twoPlanes ? 2 : 1)).map { index in
      targets[PlannedPlane(result: result, output: index)]
        ?? PlaneMemory(bytesPerRow: size.width * output.bytesPerSample, rows: size.height)
    }
  }

  private func draw(_ drawing: Drawing, into planes: [PlaneMemory]) {
    let instructions = caches.instructions
    let source = unsafe drawing.behind.map { blended(over: $0) } ?? FramePlanes(frame, memory)
    if let copy = PlaneCopy(drawing), !source.areWords {
      unsafe copy.copy(source.plane(copy.plane), to: planes[0])
    } else if let crop = drawing.lightCrop {
      let prepared = caches.preparedLight(drawing, within: crop, of: frame.format)
      let description = unsafe Shared(prepared.description(of: source, into: planes[0]))
      let byteCount = unsafe pixels_light_scratch_size(&description.value)
      unsafe inBands(drawing.size.height, caches.threads(for: drawing), byteCount) { first, end, scratch in
        unsafe pixels_draw_light(instructions, &description.value, first, end, scratch)
      }
    } else {
      let prepared = caches.prepared(drawing, source.areWords ? .words : .bytes)
      let description = unsafe Shared(prepared.description(of: source, into: planes))
      let byteCount = unsafe pixels_scratch_size(&description.value)
      unsafe inBands(drawing.size.height, caches.threads(for: drawing), byteCount) { first, end, scratch in
        unsafe pixels_draw(instructions, &description.value, first, end, scratch)
      }
    }
  }

  private func draw(_ drawing: WarpedDrawing, into planes: [PlaneMemory]) {
    let instructions = caches.instructions
    let source = unsafe drawing.behind.map { blended(over: $0) } ?? FramePlanes(frame, memory)
    unsafe PreparedWarp(drawing).withDescription(of: source, into: planes) { described in
      let description = unsafe Shared(described)
      let byteCount = unsafe pixels_warp_scratch_size(&description.value)
      unsafe inBands(drawing.size.height, caches.threads(for: drawing), byteCount) { first, end, scratch in
        unsafe pixels_draw_warp(instructions, &description.value, first, end, scratch)
      }
    }
  }

  /// A value that threads read at the same time.
  @safe private final class Shared<Value>: Sendable {
    nonisolated(unsafe) var value: Value

    init(_ value: Value) { unsafe self.value = value }
  }

  /// Has `draw` draw all rows, with memory of its own: on one thread, or in bands of whole multiples of sixteen
  /// rows on several.
  private func inBands(
    _ height: Int, _ parts: Int, _ byteCount: Int,
    _ draw: @Sendable (_ first: Int32, _ end: Int32, UnsafeMutableRawPointer) -> Void
  ) {
    let rows = (height + parts * 16 - 1) / (parts * 16) * 16
    let scratch = caches.scratch
    @Sendable func band(_ part: Int) {
      guard part * rows < height else { return }
      scratch.with(byteCount) { scratch in
        unsafe draw(Int32(part * rows), Int32(min((part + 1) * rows, height)), scratch.memory)
      }
    }
    guard parts > 1 else { return band(0) }
    DispatchQueue.concurrentPerform(iterations: parts) { band($0) }
  }

  /// The frame over a background.
  private func blended(over color: RGBColor) -> FramePlanes {
    let (size, plane) = (frame.format.size, frame.planes[0])
    let words = blended[color] ?? Blended(size.pixelCount * 4)
    if blended[color] == nil {
      blended[color] = words
      let isReversed = frame.format.pixelFormat == .bgra
      let behind = isReversed ? [color.blue, color.green, color.red] : [color.red, color.green, color.blue]
      for row in 0..<size.height {
        unsafe pixels_blend(
          memory + plane.offset + row * plane.bytesPerRow,
          frame.format.pixelFormat.isWide ? 1 : 0, behind, words.words + row * size.width * 4,
          Int32(size.width))
      }
    }
    return unsafe FramePlanes(words: UnsafePointer(words.words), stride: size.width * 8)
  }
}
