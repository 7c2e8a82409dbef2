// Synthetic frames for comparing renderers, the same on every machine.
package import PreviewCore

/// A pseudorandom number generator with the same numbers everywhere (Steele, Lea and Flood's SplitMix64).
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

package enum FrameContent: Sendable, Hashable, CaseIterable {
  /// Random bytes: the hardest case for filters.
  case noise
  /// Bytes that change slowly, with a slope in each direction.
  case smooth
  /// Only the lowest and the highest code.
  case extremes
}

extension Frame {
  /// Creates a frame of any format. Each row is followed by `padding` bytes that no picture should show.
  /// Equal seeds give equal frames.
  package static func synthetic(
    _ format: Frame.Format, _ content: FrameContent, seed: UInt64, padding: Int = 0
  ) throws(Frame.LayoutError) -> Frame {
    var random = SplitMix64(seed: seed)
    var bytes: [UInt8] = []
    var planes: [Frame.Plane] = []
    for (index, plane) in format.pixelFormat.planes.enumerated() {
      let row = plane.tightBytesPerRow(of: format.size)
      planes.append(Frame.Plane(offset: bytes.count, bytesPerRow: row + padding))
      for y in 0..<plane.texels(of: format.size).height {
        for x in 0..<row {
          switch content {
          case .noise: bytes.append(UInt8.random(in: 0...255, using: &random))
          case .smooth: bytes.append(UInt8(truncatingIfNeeded: 16 + index * 40 + x * 3 / 2 + y))
          case .extremes: bytes.append(Bool.random(using: &random) ? 255 : 0)
          }
        }
        bytes += [UInt8](repeating: 0xA5, count: padding)
      }
    }
    return try Frame(format, bytes: bytes, planes: planes)
  }
}
