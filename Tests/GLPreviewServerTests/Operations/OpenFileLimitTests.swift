// How many connections fit into how many open files.
import Testing

@testable import ServiceFoundation

@Suite("Limit of open files")
struct OpenFileLimitTests {
  @Test(
    "the open file limit is raised to connections + 256, within the hard limit, never lowered",
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
    "up to 256 descriptors, or half of the limit, are reserved for other uses than connections",
    arguments: [(UInt64(2256), 2000), (1024, 768), (512, 256), (128, 64), (0, 0), (.max, .max)])
  func room(count: UInt64, room: Int) {
    #expect(OpenFileLimit.room(in: count) == room)
  }

  @Test("a process has room for 10 connections")
  func few() {
    #expect(OpenFileLimit.makeRoom(for: 10) == 10)
  }
}
