// How the samples of a V4L2 driver become a frame.
internal import PreviewCore

/// Converts a driver's picture to a frame.
struct V4L2Conversion: Sendable {
  let layout: V4L2Layout
  /// The format of the frames.
  let format: FrameFormat
  private let color: V4L2Color

  init(_ layout: V4L2Layout, _ color: V4L2Color) {
    self.layout = layout
    self.color = color
    let samples = layout.samples.format
    format = FrameFormat(
      samples, layout.size, color: color.description(layout.size, samples))
  }

  /// The frame of a picture; `sources` are its memory planes, each with the bytes that the layout needs.
  func frame(_ sources: [UnsafeRawBufferPointer], _ memory: FramePool) throws -> Frame {
    let samples = layout.samples.format
    let expands = samples.isRGB && color.range(of: samples) == .limited
    let target = try memory.take(layout.byteCount)
    unsafe target.write { unsafe layout.copy(sources, to: $0, expands: expands) }
    return try Frame(tight: format, storage: FrameBytes(target))
  }
}
