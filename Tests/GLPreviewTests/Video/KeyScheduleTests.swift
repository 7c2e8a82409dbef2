// When key pictures are due, and how often pictures come.
import PreviewCore
import Testing

@testable import GLPreview

private func at(_ milliseconds: Int) -> CaptureInstant { .start + .milliseconds(milliseconds) }

@Suite("Keyframe schedule")
struct KeyScheduleTests {
  @Test("a keyframe is due at the first picture and then at each interval")
  func interval() {
    var keys = KeySchedule(every: .seconds(10))
    #expect(keys.isDue(at: at(0)))
    keys.came(at: at(0))
    #expect(!keys.isDue(at: at(9_999)))
    #expect(keys.isDue(at: at(10_000)))
    #expect(keys.due == nil)
  }

  @Test("viewers that join within 300 ms share a keyframe")
  func joins() {
    var keys = KeySchedule(every: .seconds(10))
    keys.join()
    #expect(keys.due == nil && keys.isDue(at: at(0)), "the first picture serves the first watcher")
    keys.came(at: at(0))
    keys.join()
    #expect(!keys.isDue(at: at(299)))
    keys.join()
    #expect(keys.due == at(300))
    #expect(keys.isDue(at: at(300)))
    keys.came(at: at(310))
    #expect(!keys.isDue(at: at(900)))
    keys.join()
    #expect(keys.isDue(at: at(900)), "the last one is long ago")
  }

  @Test("a keyframe is due 1 s after the last one if a viewer dropped, or 300 ms if a viewer joins")
  func drops() {
    var keys = KeySchedule(every: .seconds(10))
    keys.came(at: at(0))
    keys.drop()
    #expect(!keys.isDue(at: at(999)))
    #expect(keys.isDue(at: at(1000)))
    keys.join()
    #expect(keys.due == at(300))
    keys.drop()
    #expect(keys.due == at(300))
  }

  @Test("a keyframe request that the encoder ignores is repeated after 1 s")
  func deaf() {
    var keys = KeySchedule(every: .seconds(60))
    keys.came(at: at(0))
    keys.join()
    let asked = [at(300), at(301), at(1299), at(1300)].map { keys.asks(at: $0) }
    #expect(asked == [true, false, false, true])
    #expect(keys.due == at(2300))
    keys.came(at: at(1310))
    #expect(keys.due == nil)
  }

  @Test("the measured picture rate follows the timestamps and is limited to 1...120 per second")
  func rate() {
    var rate = PictureRate()
    #expect(abs(rate.picturesPerSecond - 30) < 0.01)
    for index in 0..<200 { rate.saw(at(100 * index)) }
    #expect(abs(rate.picturesPerSecond - 10) < 0.1)
    for index in 0..<200 { rate.saw(at(20_000 + 60_000 * index)) }
    #expect(abs(rate.picturesPerSecond - 1) < 0.01)
    for index in 0..<300 { rate.saw(at(12_020_000 + index)) }
    #expect(abs(rate.picturesPerSecond - 120) < 1)
  }
}
