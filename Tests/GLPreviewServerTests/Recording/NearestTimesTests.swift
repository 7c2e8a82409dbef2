// The nearest recorded times of several nodes.
import TestSupport
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Nearest recorded times")
struct NearestTimesTests {
  private static func time(_ second: Int) -> WallTime { WallTime(sinceEpoch: .seconds(second)) }

  @Test(
    "of the times of several nodes, the last before and the first after a span are the nearest",
    arguments: [
      ([], []), ([[90]], [90]), ([[120]], [120]), ([[90, 120]], [90, 120]), ([[], [90], [95]], [95]),
      ([[90, 120], [80, 110]], [90, 110]), ([[120], [90]], [90, 120]), ([[90], [120, 130]], [120, 130]),
    ] as [([[Int]], [Int])])
  func merged(nodes: [[Int]], nearest: [Int]) {
    var times = NearestTimes()
    for node in nodes {
      times.merge(NearestTimes(node.map { Self.time($0).description }, next: Self.time(100)))
    }
    #expect(times.all == nearest.map(Self.time))
  }

  @Test("texts of another node that are not times are left out")
  func invalid() {
    #expect(NearestTimes(["soon", ""], next: Self.time(100)) == NearestTimes())
  }
}
