// When the packets of a picture may go.
import GLPreview
import Testing

@testable import WebRTC

@Suite("Packet pace")
struct PacketPaceTests {
  private static let interval = Duration.milliseconds(33)

  /// The bursts of what waits, in steps.
  private static func bursts(_ pace: inout PacketPace, _ packets: Int, from start: CaptureInstant) -> [Int] {
    var bursts: [Int] = []
    var rest = packets
    while rest > 0, bursts.count < 100 {
      let now = start + PacketPace.step * bursts.count
      let count = min(rest, pace.allowed(at: now))
      pace.took(count)
      // No more comes within a step.
      #expect(pace.allowed(at: now + .milliseconds(4)) == 0 || count == rest)
      rest -= count
      bursts.append(count)
    }
    return bursts
  }

  @Test("a picture of 10 packets is sent in one burst, keyframe or not", arguments: [true, false])
  func small(isKey: Bool) {
    var pace = PacketPace()
    pace.add(10, isKey: isKey, waiting: 10, interval: Self.interval)
    #expect(Self.bursts(&pace, 10, from: .start) == [10])
  }

  @Test("a keyframe of 58 packets is sent in four bursts within half of the frame interval")
  func key() {
    var pace = PacketPace()
    for index in 0..<100 {
      pace.add(4, isKey: false, waiting: 4, interval: Self.interval)
      #expect(Self.bursts(&pace, 4, from: .start + Self.interval * index) == [4])
    }

    pace.add(58, isKey: true, waiting: 58, interval: Self.interval)

    // 0, 5, 10 and 15 ms.
    #expect(Self.bursts(&pace, 58, from: .start + Self.interval * 100) == [15, 15, 15, 13])
    pace.add(4, isKey: false, waiting: 4, interval: Self.interval)
    #expect(Self.bursts(&pace, 4, from: .start + Self.interval * 101) == [4])
  }

  @Test("large pictures are sent in one burst, and a large keyframe in bursts 2.5 times their size")
  func large() {
    var pace = PacketPace()
    for index in 0..<100 {
      pace.add(70, isKey: false, waiting: 70, interval: Self.interval)
      #expect(Self.bursts(&pace, 70, from: .start + Self.interval * index) == [70])
    }
    pace.add(500, isKey: true, waiting: 500, interval: Self.interval)
    #expect(Self.bursts(&pace, 500, from: .start + Self.interval * 100) == [175, 175, 150])
  }

  @Test(
    "a keyframe is spread over 1 to 11 bursts, however short or long the frame interval is",
    arguments: [(0, 1), (5, 1), (20, 3), (1000, 11), (60_000, 11)])
  func limits(interval: Int, count: Int) {
    var pace = PacketPace()
    pace.add(1000, isKey: true, waiting: 1000, interval: .milliseconds(interval))
    #expect(Self.bursts(&pace, 1000, from: .start).count == count)
  }

  @Test("a sender that is late does not make up for missed bursts")
  func pause() {
    var pace = PacketPace()
    pace.add(100, isKey: true, waiting: 100, interval: Self.interval)
    #expect(pace.allowed(at: .start) == 25)
    pace.took(25)
    #expect(pace.allowed(at: .start + .seconds(1)) == 25)
  }

  @Test("a picture added while a keyframe is being sent does not slow down the keyframe")
  func next() {
    var pace = PacketPace()
    pace.add(100, isKey: true, waiting: 100, interval: Self.interval)
    #expect(pace.allowed(at: .start) == 25)
    pace.took(25)
    pace.add(4, isKey: false, waiting: 79, interval: Self.interval)
    #expect(Self.bursts(&pace, 79, from: .start + PacketPace.step) == [25, 25, 25, 4])
    pace.add(4, isKey: false, waiting: 4, interval: Self.interval)
    #expect(pace.allowed(at: .start + .seconds(1)) == 10)
  }
}

@Suite("Keyframe requests of a WebRTC client")
struct KeyNeedsTests {
  private static func at(_ seconds: Double) -> CaptureInstant { .start + .seconds(seconds) }

  @Test("a client gets at most one keyframe per 500 ms")
  func least() {
    var keys = KeyframeRequests()
    #expect(
      [0, 0.1, 0.4, 0.5, 0.9, 1.1].map { keys.need(at: Self.at($0)) } == [
        true, false, false, true, false, true,
      ])
  }

  @Test("a client struggles after two keyframe requests within 10 s, until 60 s pass without one")
  func struggle() {
    var keys = KeyframeRequests()
    for time in [0, 10, 30, 50] as [Double] {
      _ = keys.need(at: Self.at(time))
      #expect(!keys.isStruggling(at: Self.at(time)), "one now and then")
    }
    _ = keys.need(at: Self.at(55))
    #expect(keys.isStruggling(at: Self.at(55)))
    #expect(keys.isStruggling(at: Self.at(114)))
    #expect(!keys.isStruggling(at: Self.at(115)))
    _ = keys.need(at: Self.at(120))
    #expect(!keys.isStruggling(at: Self.at(120)))
    for time in [125, 160, 210] as [Double] {
      _ = keys.need(at: Self.at(time))
      #expect(keys.isStruggling(at: Self.at(time + 59)), "it goes on")
    }
  }
}
