// How many connections fit into how many open files.
import Testing

@testable import ServiceFoundation

@Suite("The limit of open files")
struct OpenFileLimitTests {
  @Test(
    "is raised as far as the connections need, and never lowered",
    arguments: [
      (OpenFileLimit(soft: 1024, hard: 524_288), 2000, UInt64(2256)),
      (OpenFileLimit(soft: 1024, hard: 1024), 2000, 1024),
      (OpenFileLimit(soft: 20_000, hard: 20_000), 2000, 20_000),
      (OpenFileLimit(soft: 1024, hard: .max), 1_000_000, 1_000_256),
    ])
  func wanted(limit: OpenFileLimit, connections: Int, wanted: UInt64) {
    #expect(limit.wanted(for: connections) == wanted)
  }

  @Test(
    "leaves room for what is no connection",
    arguments: [(UInt64(2256), 2000), (1024, 768), (512, 256), (128, 64), (0, 0), (.max, .max)])
  func room(count: UInt64, room: Int) {
    #expect(OpenFileLimit.room(in: count) == room)
  }

  @Test("few connections fit as things are")
  func few() {
    #expect(OpenFileLimit.makeRoom(for: 10) == 10)
  }
}
