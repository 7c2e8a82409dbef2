// The frames of a case, for tests that compare several drawings with one of the reference.
import PreviewCore

@testable import Conformance

extension ConformanceCase {
  /// Makes the frames of its sources.
  func frames() throws -> [Frame] {
    var frames: [Frame] = []
    for source in sources { frames.append(try source.frame()) }
    return frames
  }
}
