// Drawings that only copy: luma, or pixels, of the same size in the same codes. Through sums of one sample each
// they would take four times as long.
internal import CPixels
internal import PreviewCore

/// A drawing whose every output is a sample of a plane of bytes.
struct PlaneCopy {
  /// The plane that is copied.
  let plane: Int
  private let size: Size
  private let columns: SamplingMap
  private let rows: SamplingMap
  private let isOfPixels: Bool

  /// - Returns: nil if the drawing does more than to copy rows forward.
  init?(_ drawing: Drawing) {
    guard drawing.signals.count == 1, drawing.lightCrop == nil, drawing.isWhole else { return nil }
    let signal = drawing.signals[0]
    guard signal.rows.isCopy, signal.columns.isCopy, !signal.columns.source.isReversed else { return nil }
    let channels = signal.components.map(\.first)
    let conversion = drawing.conversion
    switch (drawing.output, signal.signal) {
    case (.pixels, .rgb) where signal.step == 4 && channels == [0, 1, 2] && conversion == .identity:
      isOfPixels = true
    case (.plane, .luma)
    where signal.step == 1 && conversion.offset.x == 0 && conversion.columns.map(\.x) == [1, 0, 0]:
      isOfPixels = false
    default: return nil
    }
    plane = signal.components[0].plane
    (size, columns, rows) = (drawing.size, signal.columns, signal.rows)
  }

  /// Copies rows, pixels with an alpha of 255.
  func copy(_ source: pixels_plane, to target: PlaneMemory) {
    let first = columns.sample(of: 0) * (isOfPixels ? 4 : 1)
    for row in 0..<size.height {
      let from = unsafe source.bytes + rows.sample(of: row) * source.stride + first
      let to = unsafe target.bytes + row * target.stride
      if isOfPixels {
        unsafe pixels_copy_opaque(from, to, Int32(size.width))
      } else {
        unsafe to.update(from: from, count: size.width)
      }
    }
  }
}

extension SamplingMap {
  /// The sample that an output of a copy equals.
  fileprivate func sample(of output: Int) -> Int { position(of: output) / denominator }
}
