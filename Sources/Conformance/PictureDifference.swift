// The difference between two pictures of the same subject.
package import PreviewCore

/// The difference between two pictures, channel by channel.
package struct PictureDifference: Sendable, Equatable {
  /// A sample at which the pictures differ most.
  package struct Sample: Sendable, Equatable, CustomStringConvertible {
    package let plane: Int
    package let x: Int
    package let y: Int
    /// 0...3 for R, G, B, A; 0 for planes of Y'CbCr.
    package let channel: Int
    package let expected: UInt8
    package let actual: UInt8

    /// For example `plane 0 (3, 4) channel 1: 17 instead of 12`.
    package var description: String {
      "plane \(plane) (\(x), \(y)) channel \(channel): \(actual) instead of \(expected)"
    }
  }

  /// The largest difference of any channel of any sample; 256 if size or format differ.
  package let worst: Int
  /// The sample with the largest difference; nil if nothing differs, or if the pictures can't be compared.
  package let worstSample: Sample?
  /// The number of channels of samples that differ.
  package let differing: Int
  package let compared: Int

  /// Compares every channel of every sample, including alpha.
  package init(expected: Picture, actual: Picture) {
    guard expected.size == actual.size, expected.format == actual.format,
      expected.planes.map(\.size) == actual.planes.map(\.size)
    else {
      (worst, worstSample, differing, compared) = (256, nil, 0, 0)
      return
    }
    var worst = 0
    var worstSample: Sample?
    var differing = 0
    var compared = 0
    let channels = expected.format.bytesPerSample
    for (index, (one, other)) in zip(expected.planes, actual.planes).enumerated() {
      for y in 0..<one.size.height {
        for byte in 0..<one.size.width * channels {
          let a = expected.bytes[one.offset + y * one.bytesPerRow + byte]
          let b = actual.bytes[other.offset + y * other.bytesPerRow + byte]
          compared += 1
          guard a != b else { continue }
          differing += 1
          let difference = abs(Int(a) - Int(b))
          guard difference > worst else { continue }
          worst = difference
          worstSample = Sample(
            plane: index, x: byte / channels, y: y, channel: byte % channels, expected: a, actual: b)
        }
      }
    }
    (self.worst, self.worstSample, self.differing, self.compared) = (worst, worstSample, differing, compared)
  }
}
