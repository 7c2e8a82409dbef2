// What a live source decides, with a clock that is moved by hand.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("SourceMonitor")
struct SourceMonitorTests {
  private let mode = SourceStatus.Mode(format: "YUYV", transport: "mmap")
  private let lost = SourceError(.unavailable, path: "camera", reason: "was unplugged")

  private func monitor(
    givesUpAfter: Duration? = nil, longestPause: Duration = .seconds(10), reconnectsWhenSilent: Bool = true
  ) -> SourceMonitor {
    SourceMonitor(
      LiveOptions(
        stallsAfter: .seconds(2), reconnectsAfter: .seconds(10), givesUpAfter: givesUpAfter),
      longestPause: longestPause, reconnectsWhenSilent: reconnectsWhenSilent, at: .second(100))
  }

  @Test("a source is opening until its first frame, and then live")
  func opening() {
    var monitor = monitor()
    #expect(monitor.status.state == .opening)
    monitor.connected(mode, at: .second(101))
    #expect(monitor.status.state == .opening)
    monitor.received(at: .second(102))
    #expect(monitor.status.state == .live)
    #expect(monitor.status.since == .second(102))
    #expect(monitor.status.mode == mode)
  }

  @Test("a source without frames is stalled after 2 s and reconnected after 10 s")
  func stalling() {
    var monitor = monitor()
    monitor.connected(mode, at: .second(100))
    monitor.received(at: .second(101))

    #expect(monitor.checkConnection(isHeld: false, at: .second(102)) == .wait(until: .second(103)))
    #expect(monitor.status.state == .live)
    #expect(monitor.checkConnection(isHeld: false, at: .second(103)) == .wait(until: .second(111)))
    #expect(monitor.status.state == .stalled)
    #expect(monitor.status.reason == "no picture for 2 s")
    #expect(
      monitor.checkConnection(isHeld: false, at: .second(111)) == .reconnect(reason: "no picture for 10 s"))
  }

  @Test("a frame ends a stall")
  func recovering() {
    var monitor = monitor()
    monitor.connected(mode, at: .second(100))
    _ = monitor.checkConnection(isHeld: false, at: .second(105))
    #expect(monitor.status.state == .stalled)
    monitor.received(at: .second(106))
    #expect(monitor.status.state == .live)
    #expect(monitor.status.reason == nil)
    #expect(monitor.checkConnection(isHeld: false, at: .second(107)) == .wait(until: .second(108)))
  }

  @Test("a source does not stall while its reader takes no frames")
  func held() {
    var monitor = monitor()
    monitor.connected(mode, at: .second(100))
    monitor.received(at: .second(101))
    #expect(monitor.checkConnection(isHeld: true, at: .second(200)) == .wait(until: .second(202)))
    #expect(monitor.status.state == .live)
    // The time in which it was held does not count afterwards.
    #expect(monitor.checkConnection(isHeld: false, at: .second(201)) == .wait(until: .second(202)))
  }

  @Test("damaged frames do not prevent a stall")
  func damaged() {
    var monitor = monitor()
    monitor.connected(mode, at: .second(100))

    for second in 101..<103 {
      monitor.receivedDamaged("cut short")
      _ = monitor.checkConnection(isHeld: false, at: .second(second))
    }

    #expect(monitor.status.state == .stalled)
    #expect(monitor.status.counters.damaged == 2)
    #expect(monitor.status.lastDamage == "cut short")
  }

  @Test("a silent pipe is stalled but not reconnected")
  func pipe() {
    var monitor = monitor(reconnectsWhenSilent: false)
    monitor.connected(mode, at: .second(100))
    #expect(monitor.checkConnection(isHeld: false, at: .second(1000)) == .wait(until: .second(1002)))
    #expect(monitor.status.state == .stalled)
  }

  @Test(
    "retry pauses double up to the longest one and are shortened by jitter")
  func backoff() {
    var monitor = monitor(longestPause: .seconds(1))
    let pauses = (0..<5).map { _ in monitor.failed(lost, at: .second(101), jitter: 0.5) }

    #expect(
      zip(pauses, [0.1875, 0.375, 0.75, 0.75, 0.75]).allSatisfy { pause, seconds in
        guard case .retry(let after) = pause else { return false }
        return abs(after / .seconds(1) - seconds) < 1e-6
      })
    #expect(monitor.status.state == .lost)
    #expect(monitor.status.reason == "was unplugged")
  }

  @Test("a retry pause is between half and all of its full length")
  func jitter() {
    for _ in 0..<1000 {
      var backoff = Backoff(longest: .seconds(1))
      for full in [0.25, 0.5, 1, 1] {
        let pause = backoff.nextPause(jitter: .random(in: 0...1)) / .seconds(1)
        #expect((full / 2...full).contains(pause))
      }
    }
  }

  @Test("retry pauses start short again after a connection that delivers for 6 s, but not for 1 s")
  func proven() {
    for (seconds, expected) in [(1, 0.75), (6, 0.1875)] {
      var monitor = monitor()
      for _ in 0..<2 { _ = monitor.failed(lost, at: .second(101), jitter: 0.5) }
      monitor.connected(mode, at: .second(110))
      monitor.received(at: .second(110))
      monitor.received(at: .second(110 + seconds))

      guard case .retry(let pause) = monitor.failed(lost, at: .second(120), jitter: 0.5) else {
        Issue.record("it gave up")
        continue
      }
      #expect(abs(pause / .seconds(1) - expected) < 1e-6)
    }
  }

  @Test("a source gives up 30 s after its last frame or its start, and no pause goes beyond that")
  func givingUp() {
    var impatient = monitor(givesUpAfter: .zero)
    #expect(impatient.failed(lost, at: .second(100), jitter: 0.5) == .giveUp)

    var patient = monitor(givesUpAfter: .seconds(30), longestPause: .seconds(60))
    for _ in 0..<9 { _ = patient.failed(lost, at: .second(101), jitter: 0.5) }
    #expect(patient.failed(lost, at: .second(129), jitter: 0.5) == .retry(after: .seconds(1)))
    #expect(patient.failed(lost, at: .second(130), jitter: 0.5) == .giveUp)

    var recovered = monitor(givesUpAfter: .seconds(30))
    recovered.connected(mode, at: .second(120))
    recovered.received(at: .second(125))
    guard case .retry = recovered.failed(lost, at: .second(140), jitter: 0.5) else {
      Issue.record("it gave up")
      return
    }
    #expect(recovered.failed(lost, at: .second(155), jitter: 0.5) == .giveUp)
  }

  @Test("a bad request is not retried")
  func badRequest() {
    var monitor = monitor()
    let error = SourceError(.badRequest, path: "camera", reason: "has no such format")
    #expect(monitor.failed(error, at: .second(101), jitter: 0.5) == .giveUp)
  }

  @Test("a lost source stays lost while it reconnects, until its first frame")
  func lostWhileConnecting() {
    var monitor = monitor()
    monitor.connected(mode, at: .second(100))
    monitor.received(at: .second(101))

    _ = monitor.failed(lost, at: .second(102), jitter: 0.5)
    monitor.connected(mode, at: .second(103))
    #expect(monitor.status.state == .lost)

    _ = monitor.checkConnection(isHeld: false, at: .second(106))
    #expect(monitor.status.state == .lost)
    #expect(monitor.status.since == .second(102))

    monitor.received(at: .second(107))
    #expect(monitor.status.state == .live)
    #expect(monitor.status.counters.reconnections == 1)
  }

  @Test("a closed source stays idle")
  func closed() {
    var monitor = monitor()
    monitor.closed(at: .second(101))
    monitor.received(at: .second(102))
    #expect(monitor.status.state == .idle)
  }
}
