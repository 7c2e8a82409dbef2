// A frame as words that shaders sum up: rows begin at multiples of sixteen bytes.
internal import PreviewCore

/// All planes of a frame in one buffer, kept for the next frame of the same format.
final class FrameWords {
  /// Where a plane stands, in texels of sixteen bytes.
  struct Plane {
    let firstTexel: Int
    let texelsPerRow: Int
  }

  private(set) var planes: [Plane] = []
  private var buffer: FrameWordBuffer?

  /// More than a group of outputs stands on: what reads behind the last row's end stays in the buffer.
  private static let slack = 1024

  func bind(unit: Int) { buffer?.memory.bind(unit: unit) }

  func replace(with frame: Frame) throws(GLError) {
    let unit = TexelBuffer.bytesPerTexel
    if frame.planes.allSatisfy({ $0.offset % unit == 0 && $0.bytesPerRow % unit == 0 }) {
      planes = frame.planes.map { Plane(firstTexel: $0.offset / unit, texelsPerRow: $0.bytesPerRow / unit) }
      try room(frame.bytes.count).replace(with: frame.bytes.span)
      return
    }
    var aligned: [UInt8] = []
    var stored: [Plane] = []
    for (plane, description) in zip(frame.planes, frame.format.pixelFormat.planes) {
      let tight = description.tightBytesPerRow(of: frame.format.size)
      let texelsPerRow = (tight + unit - 1) / unit
      let rows = description.texels(of: frame.format.size).height
      stored.append(Plane(firstTexel: aligned.count / unit, texelsPerRow: texelsPerRow))
      aligned.reserveCapacity(aligned.count + rows * texelsPerRow * unit)
      for row in 0..<rows {
        let start = plane.offset + row * plane.bytesPerRow
        aligned += frame.bytes[start..<start + tight]
        aligned += repeatElement(0, count: texelsPerRow * unit - tight)
      }
    }
    planes = stored
    try room(aligned.count).replace(with: aligned.span)
  }

  private func room(_ byteCount: Int) throws(GLError) -> FrameWordBuffer {
    let needed = byteCount + FrameWords.slack
    if let buffer, (needed...needed * 2).contains(buffer.memory.byteCount) { return buffer }
    let new = try FrameWordBuffer(byteCount: needed)
    buffer = new
    return new
  }
}

/// A buffer that can be shared.
private final class FrameWordBuffer {
  let memory: TexelBuffer

  init(byteCount: Int) throws(GLError) { memory = try TexelBuffer(byteCount: byteCount) }

  func replace(with bytes: Span<UInt8>) throws(GLError) { try memory.replace(with: bytes) }
}
