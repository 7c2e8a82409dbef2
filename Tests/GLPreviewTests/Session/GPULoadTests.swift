// How busy a GPU is: the times of the last seconds.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("GPU load")
struct GPULoadTests {
  @Test("the load is the share of the last two to three seconds; nothing is known without drawings")
  func share() throws {
    var load = GPULoad()
    #expect(load.share(at: .millisecond(10_500)) == nil)

    load.add(.milliseconds(500), at: .millisecond(10_100))
    load.add(.milliseconds(500), at: .millisecond(10_900))
    // From second 8 on: 2.5 s.
    #expect(load.share(at: .millisecond(10_500)) == 0.4)
    load.add(.milliseconds(500), at: .millisecond(12_000))
    #expect(load.share(at: .millisecond(12_000)) == 0.75)
    #expect(load.share(at: .millisecond(12_500)) == 0.6)

    // The first second counts no more.
    #expect(load.share(at: .millisecond(13_000)) == 0.25)
    #expect(load.share(at: .millisecond(14_999)) ?? 0 > 0.16)
    #expect(load.share(at: .millisecond(15_000)) == nil)
  }

  @Test("old seconds are forgotten, and a process that has just begun has a load")
  func ends() throws {
    var load = GPULoad()
    load.add(.milliseconds(1), at: .millisecond(1))
    #expect(load.share(at: .millisecond(1)) ?? 0 > 0)
    for second in 0..<1000 { load.add(.milliseconds(900), at: .second(second)) }
    #expect(load.share(at: .second(1000)) == 0.9)
    #expect(load.secondCount <= 4)
  }
}
