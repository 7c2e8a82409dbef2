// The bit rate that watchers share: when it goes down, when up again, and who is left behind.
import PreviewCore
import Testing

@testable import GLPreview

private func at(_ seconds: Double) -> CaptureInstant { .start + .seconds(100) + .seconds(seconds) }

@Suite("Bit rate control")
struct BitrateControlTests {
  /// Lets watchers drop at their times, and adjusts four times a second up to `end`.
  private static func run(
    _ control: inout BitrateControl, watchers: Int, from start: Double = 0, to end: Double,
    _ drops: [Int: [Double]]
  ) -> [(time: Double, factor: Double)] {
    var changes: [(time: Double, factor: Double)] = []
    for quarter in Int(start * 4)...Int(end * 4) {
      let time = Double(quarter) / 4
      for (watcher, times) in drops where times.contains(time) { control.dropped(watcher, at: at(time)) }
      let before = control.factor
      control.adjust(watchers: watchers, at: at(time))
      if control.factor != before { changes.append((time, control.factor)) }
    }
    return changes
  }

  @Test(
    "drops every 2 s lower the bit rate each 6 s to a quarter, then the viewer is left behind"
  )
  func down() {
    var control = BitrateControl()
    let changes = Self.run(&control, watchers: 1, to: 40, [1: Array(stride(from: 0, through: 40, by: 2))])
    // Each series of drops begins 2 s after the last step, and steps down when it is 5 s old.
    #expect(changes.map(\.time) == [5, 11, 17, 23])
    #expect(changes.map { Int(($0.factor * 1000).rounded()) } == [700, 490, 343, 250])
    #expect(control.isLeftBehind(1, at: at(40)))
  }

  @Test("one viewer of three is left behind after 10 s of drops, until 10 s without a drop")
  func endurance() {
    var control = BitrateControl()
    for second in 0...9 {
      _ = Self.run(&control, watchers: 3, from: Double(second), to: Double(second), [1: [Double(second)]])
    }
    #expect(!control.isLeftBehind(1, at: at(9.9)))
    #expect(control.isLeftBehind(1, at: at(10)))
    #expect(!control.isLeftBehind(2, at: at(10)))
    #expect(control.factor == 1)
    // It keeps up from here on, and its drops are forgotten.
    #expect(control.isLeftBehind(1, at: at(19)))
    #expect(!control.isLeftBehind(1, at: at(19.1)))
    #expect(control.lastDrop(of: 1) == at(9))
    control.left(1)
    #expect(control.lastDrop(of: 1) == nil)
  }

  @Test(
    "the bit rate falls if more than half of the viewers drop pictures, not if half do",
    arguments: [(2, 0), (3, 1)])
  func majority(dropping: Int, steps: Int) {
    var control = BitrateControl()
    let drops = Dictionary(uniqueKeysWithValues: (1...dropping).map { ($0, [0.0, 2, 4, 6]) })
    #expect(Self.run(&control, watchers: 4, to: 6, drops).count == steps)
  }

  @Test("the bit rate rises by a step after each 30 s without drops")
  func up() {
    var control = BitrateControl()
    let changes = Self.run(&control, watchers: 1, to: 130, [1: [0, 3, 6, 7, 10, 13, 40]])
    // Down at 5 and at 11, up 30 s after the drop at 40 and 30 s later.
    #expect(changes.map(\.time) == [5, 11, 70, 100])
    #expect(changes.map { Int(($0.factor * 1000).rounded()) } == [700, 490, 700, 1000])
  }

  @Test("a viewer that stops reading, or drops pictures rarely, does not change the bit rate")
  func others() {
    var control = BitrateControl()
    control.dropped(1, at: at(0))
    #expect(Self.run(&control, watchers: 1, to: 60, [:]).isEmpty)
    control.resumed(1, at: at(60))
    #expect(Self.run(&control, watchers: 1, from: 60, to: 75, [1: [71]]).isEmpty)
    #expect(Self.run(&control, watchers: 1, from: 75, to: 120, [1: [90, 105]]).isEmpty)
    #expect(!control.isLeftBehind(1, at: at(105)))
  }

  @Test("a viewer is weighted by its number of clients")
  func clients() {
    var control = BitrateControl()
    for time in stride(from: 0.0, through: 6, by: 2) {
      for watcher in [1, 2] { control.dropped(watcher, at: at(time)) }
      // Two of a hundred and two: most can follow.
      control.adjust(watchers: 102, at: at(time)) { $0 == 3 ? 100 : 1 }
    }
    #expect(control.factor == 1)
    control.dropped(3, at: at(6))
    control.dropped(3, at: at(9))
    control.dropped(3, at: at(12))
    control.adjust(watchers: 102, at: at(12)) { $0 == 3 ? 100 : 1 }
    #expect(control.factor < 1)
  }

  @Test("a viewer that takes 8 s to resume after each drop is left behind")
  func slowest() {
    var control = BitrateControl()
    for time in stride(from: 0.0, through: 18, by: 9) {
      control.dropped(1, at: at(time))
      control.adjust(watchers: 3, at: at(time))
      control.resumed(1, at: at(time + 8))
    }
    #expect(control.isLeftBehind(1, at: at(26)))
  }
}
