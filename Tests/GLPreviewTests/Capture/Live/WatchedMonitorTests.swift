// Watchers of a source's states: none is told late, and one that leaves while another is told holds up nobody.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("Status streams of a source")
struct WatchedMonitorTests {
  private static func monitor() -> WatchedMonitor {
    WatchedMonitor(SourceMonitor(LiveOptions(), longestPause: .seconds(1), at: .start))
  }

  @Test(
    "cancelling status streams while the status changes does not block the changes", .timeLimit(.minutes(15)))
  func cancelled() async {
    let monitor = Self.monitor()
    let isOver = Atomic<Bool>(false)
    let changes = Task.detached {
      while !isOver.load(ordering: .relaxed) {
        monitor.change { $0.received(at: .start) }
        let error = SourceError(.unavailable, path: "camera", reason: "is gone")
        _ = monitor.change { $0.failed(error, at: .start, jitter: .random(in: 0...1)) }
        await Task.yield()
      }
    }

    for _ in 0..<2_000 {
      let watcher = Task.detached { for await _ in monitor.stream() {} }
      await Task.yield()
      watcher.cancel()
    }

    isOver.store(true, ordering: .relaxed)
    await changes.value
    monitor.finish()
  }

  @Test("a status stream has the current state, each change once and in order, and an end")
  func order() async {
    let monitor = Self.monitor()
    let stream = monitor.stream()

    monitor.change { $0.received(at: .second(1)) }
    monitor.change { $0.received(at: .second(2)) }
    let error = SourceError(.unavailable, path: "camera", reason: "is gone")
    _ = monitor.change { $0.failed(error, at: .second(3), jitter: .random(in: 0...1)) }
    monitor.finish()

    var states: [SourceState] = []
    for await status in stream { states.append(status.state) }
    #expect(states == [.opening, .live, .lost])

    var late: [SourceState] = []
    for await status in monitor.stream() { late.append(status.state) }
    #expect(late == [.lost])
  }
}
