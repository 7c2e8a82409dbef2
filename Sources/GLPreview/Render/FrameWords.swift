// A frame as words for summing shaders; rows begin at multiples of sixteen bytes.

/// All planes of a frame in one buffer: the frame's own memory if that was borrowed from the renderer,
/// otherwise a copy.
final class FrameWords {
  /// The position of a plane, in sixteen-byte texels.
  struct Plane {
    let firstTexel: Int
    let texelsPerRow: Int
  }

  private(set) var planes: [Plane] = []
  private let mappedMemory: MappedFrameMemory
  private var current: Shared<TexelBuffer>?
  /// The buffer that the next copy reuses.
  private var copy: Shared<TexelBuffer>?

  /// More bytes than a group of outputs reads, so that reads behind the last row stay inside the buffer.
  static let slack = 1024

  init(_ mappedMemory: MappedFrameMemory) { self.mappedMemory = mappedMemory }

  /// Whether a buffer that samplers can read holds the frame with aligned rows.
  func canHold(_ format: Frame.Format) -> Bool {
    alignedByteCount(format) <= maximumByteCount
  }

  /// Whether samplers can read each of its bytes.
  func canHoldBytes(_ frame: Frame) -> Bool {
    max(alignedByteCount(frame.format), frame.storage.count + FrameWords.slack)
      <= maximumByteCount / TexelBuffer.View.pairs.rawValue
  }

  private func alignedByteCount(_ format: Frame.Format) -> Int {
    let unit = TexelBuffer.bytesPerTexel
    return format.pixelFormat.planes.reduce(FrameWords.slack) { count, plane in
      let row = (plane.tightBytesPerRow(of: format.size) + unit - 1) / unit * unit
      return count + row * plane.texels(of: format.size).height
    }
  }

  /// Whether a buffer holds a frame whose rows may have extra padding.
  private func fits(_ frame: Frame) -> Bool { frame.storage.count + FrameWords.slack <= maximumByteCount }

  private lazy var maximumByteCount = TexelBuffer.maximumByteCount

  func bind(unit: Int, as view: TexelBuffer.View = .texels) { current?.object.bind(unit: unit, as: view) }

  /// Whether no copy is needed.
  func isLent(_ frame: Frame) -> Bool { frame.isInWords && mappedMemory.buffer(of: frame) != nil }

  func replace(with frame: Frame) throws(GLError) {
    guard frame.isInWords, fits(frame) else { return try replace(aligning: frame) }
    let unit = TexelBuffer.bytesPerTexel
    planes = frame.planes.map { Plane(firstTexel: $0.offset / unit, texelsPerRow: $0.bytesPerRow / unit) }
    if let lent = mappedMemory.buffer(of: frame) {
      current = lent
      return
    }
    let room = try room(frame.storage.count)
    try frame.storage.withSpan { (bytes) throws(GLError) in try room.object.replace(with: bytes) }
  }

  func removeAll() { (current, copy) = (nil, nil) }

  private func replace(aligning frame: Frame) throws(GLError) {
    let unit = TexelBuffer.bytesPerTexel
    let bytes = frame.bytes
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
        aligned += bytes[start..<start + tight]
        aligned += repeatElement(0, count: texelsPerRow * unit - tight)
      }
    }
    planes = stored
    try room(aligned.count).object.replace(with: aligned.span)
  }

  private func room(_ byteCount: Int) throws(GLError) -> Shared<TexelBuffer> {
    let needed = byteCount + FrameWords.slack
    if let copy, (needed...needed * 2).contains(copy.object.byteCount) {
      current = copy
      return copy
    }
    let new = Shared(try TexelBuffer(byteCount: needed))
    (copy, current) = (new, new)
    return new
  }
}

extension Frame {
  /// Whether all rows begin at texels.
  var isInWords: Bool {
    let unit = TexelBuffer.bytesPerTexel
    return planes.allSatisfy { $0.offset % unit == 0 && $0.bytesPerRow % unit == 0 }
  }
}
