// Moments that are due: in time, late, and after the clock was set. The clock is a number here.
import TestSupport
import Testing

@testable import Schedules

@Suite("Agenda of schedules")
struct AgendaTests {
  private typealias Due = Agenda<String>.Due

  private static let noon = seconds("2026-11-30 12:00")
  private static let berlin = Place(latitude: 52.52, longitude: 13.4)

  /// The time so many seconds after noon.
  private static func time(_ offset: Double) -> Duration {
    .seconds(noon) + .milliseconds(Int((offset * 1000).rounded()))
  }

  /// An agenda that follows schedules since so many seconds after noon.
  private static func agenda(_ schedules: [String: Schedule], since offset: Double = 0) -> Agenda<String> {
    var agenda = Agenda<String>(at: nil, by: TestZone.utc.clock)
    agenda.follow(schedules, now: time(offset))
    return agenda
  }

  /// The moments that are due at a time, in seconds after noon, as text.
  private static func due(_ agenda: inout Agenda<String>, _ offset: Double) -> [String] {
    agenda.due(now: time(offset)).map { due in
      let (moment, last) = (due.moment.map { "\($0 - noon)" }, due.lastMissed.map { "\($0 - noon)" })
      return "\(due.key): \(moment ?? "none")"
        + (due.missed > 0 ? ", missed \(due.missed) to \(last ?? "-")" : "")
    }.sorted()
  }

  private static func next(_ agenda: Agenda<String>, _ key: String) -> Int? {
    agenda.next(key).map { $0 - noon }
  }

  @Test("a moment is due once its time has come, and once only")
  func inTime() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 60)], since: 0.5)
    #expect(Self.next(agenda, "a") == 60 && agenda.next == Self.noon + 60)
    for offset in [0.5, 30, 59, 59.999] { #expect(Self.due(&agenda, offset) == []) }

    let due = agenda.due(now: Self.time(60))
    #expect(due == [Due(key: "a", moment: Self.noon + 60, missed: 0, lastMissed: nil)])
    #expect(Self.next(agenda, "a") == 120)
    for offset in [60, 60.001, 119.999] { #expect(Self.due(&agenda, offset) == []) }
    #expect(Self.due(&agenda, 120.75) == ["a: 120"])
  }

  @Test("a schedule that begins at one of its moments begins with the next one")
  func beginning() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 60)])
    #expect(Self.due(&agenda, 0) == [] && Self.due(&agenda, 0.9) == [])
    #expect(Self.due(&agenda, 60) == ["a: 60"])
  }

  @Test("of several moments that have passed the last one is due, and the others are missed")
  func several() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 1), "b": try Schedule(every: 60)])
    #expect(Self.due(&agenda, 5.5) == ["a: 5, missed 4 to 4"])
    #expect(Self.due(&agenda, 185) == ["a: 185, missed 179 to 184", "b: 180, missed 2 to 120"])
    #expect(Self.due(&agenda, 186) == ["a: 186"])
    #expect(Self.next(agenda, "b") == 240)
  }

  @Test("a moment is due up to ten seconds late, and then it is missed as the others are")
  func late() throws {
    for (offset, expected, next) in [
      (70, "a: 60", 120), (70.001, "a: none, missed 1 to 60", 120),
      (190, "a: 180, missed 2 to 120", 240), (195, "a: none, missed 3 to 180", 240),
    ] as [(Double, String, Int)] {
      var agenda = Self.agenda(["a": try Schedule(every: 60)])
      #expect(Self.due(&agenda, offset) == [expected])
      #expect(Self.next(agenda, "a") == next)
      #expect(Self.due(&agenda, offset) == [])
    }
  }

  @Test("if the clock is set ahead, the moments that it skips are missed")
  func setAhead() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 60)])
    #expect(Self.due(&agenda, 60) == ["a: 60"])
    #expect(Self.due(&agenda, 60 + 3600 + 30) == ["a: none, missed 60 to 3660"])
    #expect(Self.due(&agenda, 3720) == ["a: 3720"])
    #expect(Self.due(&agenda, 3720 + 3600) == ["a: 7320, missed 59 to 7260"])
  }

  @Test("if the clock is set ahead by years, counting ends, and the next moment is after the new time")
  func yearsAhead() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 1)])
    let years = 10 * 365 * 86400
    let due = agenda.due(now: Self.time(Double(years)))
    // A due moment would be one of a time that is long past.
    #expect(due.count == 1 && due.first?.moment == nil && (due.first?.missed ?? 0) > 1000)
    #expect(Self.next(agenda, "a") == years + 1)
    #expect(Self.due(&agenda, Double(years + 1)) == ["a: \(years + 1)"])
  }

  @Test(
    "if the clock is set back by up to a minute, no moment is due twice", arguments: [0.001, 30, 59.5, 60])
  func setBackALittle(step: Double) throws {
    var agenda = Self.agenda(["a": try Schedule(every: 10)])
    #expect(Self.due(&agenda, 60) == ["a: 60, missed 5 to 50"])
    for offset in stride(from: 60 - step, to: 69.9, by: 0.7) { #expect(Self.due(&agenda, offset) == []) }
    #expect(Self.due(&agenda, 70) == ["a: 70"])
  }

  @Test("if the clock is set back by a minute again and again, no moment is due twice")
  func setBackRepeatedly() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 60)])
    #expect(Self.due(&agenda, 60) == ["a: 60"])
    for step in 1...10 { #expect(Self.due(&agenda, 60 - 60 * Double(step)) == []) }
  }

  @Test("if the clock is set back by more, the moments after the new time are due")
  func setBack() throws {
    var agenda = Self.agenda(["a": try Schedule(every: 60), "b": try Schedule(at: ["12:00"])], since: -5)
    #expect(Self.due(&agenda, 3) == ["a: 0", "b: 0"])
    #expect(Self.due(&agenda, 3 - 3600) == [])
    #expect(Self.next(agenda, "a") == -3540 && Self.next(agenda, "b") == 0)
    #expect(Self.due(&agenda, -3540) == ["a: -3540"])
    #expect(Self.due(&agenda, 0) == ["a: 0, missed 58 to -60", "b: 0"])
  }

  @Test("`follow` begins changed and new schedules, continues others, and forgets those that are gone")
  func follow() throws {
    let minute = try Schedule(every: 60)
    var agenda = Self.agenda(["same": minute, "changed": minute, "gone": minute])
    agenda.follow(
      ["same": minute, "changed": try Schedule(every: 120), "new": try Schedule(every: 30)],
      now: Self.time(65))

    #expect(Self.next(agenda, "same") == 60)
    #expect(Self.next(agenda, "changed") == 120 && Self.next(agenda, "new") == 90)
    #expect(agenda.next("gone") == nil && agenda.next == Self.noon + 60)
    #expect(Self.due(&agenda, 65) == ["same: 60"])
    #expect(Self.due(&agenda, 120) == ["changed: 120", "new: 120, missed 1 to 90", "same: 120"])

    agenda.follow([:], now: Self.time(120))
    #expect(agenda.next == nil && Self.due(&agenda, 1000) == [])
  }

  @Test("a moment that is due already is not lost if its schedule changes then, or the place")
  func changedWhenDue() throws {
    let (minute, minutes) = (try Schedule(every: 60), try Schedule(every: 300))
    var agenda = Self.agenda(["changed": minute, "gone": minute, "same": minute])
    let changed = ["changed": minutes, "new": minute, "same": minute]
    let due = agenda.due(now: Self.time(60.5), thenFollowing: changed, at: nil)
    #expect(due.map(\.key).sorted() == ["changed", "gone", "same"])
    #expect(due.allSatisfy { $0.moment == Self.noon + 60 && $0.missed == 0 })
    let next = ["changed": 300, "new": 120, "same": 120].mapValues { Self.noon + $0 }
    #expect(agenda.moments == next)
    #expect(agenda.due(now: Self.time(60.5), thenFollowing: changed, at: nil) == [])

    let there = agenda.due(now: Self.time(120), thenFollowing: changed, at: Self.berlin)
    #expect(there.map(\.key).sorted() == ["new", "same"] && agenda.place == Self.berlin)
    #expect(agenda.moments == ["changed": 300, "new": 180, "same": 180].mapValues { Self.noon + $0 })
    #expect(agenda.due(now: Self.time(120), thenFollowing: changed, at: Self.berlin) == [])
  }

  @Test("a schedule without a moment within a year is never due")
  func never() throws {
    // There is no sunset without a place.
    var agenda = Self.agenda(["sun": try Schedule(at: ["sunset"]), "a": try Schedule(every: 60)])
    #expect(agenda.next("sun") == nil && agenda.next == Self.noon + 60)
    #expect(Self.due(&agenda, 60) == ["a: 60"])
    #expect(Self.due(&agenda, 86400) == ["a: 86400, missed 1438 to 86340"])
  }

  // MARK: - Random walks

  /// Schedules of several kinds.
  private static func schedules() throws -> [String: Schedule] {
    [
      "second": try Schedule(every: 1, between: ["11:59", "12:10"]), "7s": try Schedule(every: 7),
      "minute": try Schedule(every: 60), "7m": try Schedule(every: 420),
      "6h": try Schedule(every: 21600, days: [.mon, .wed]),
      "sun": try Schedule(every: 900, at: ["12:00", "sunset-1h"], between: ["sunrise", "sunset"]),
    ]
  }

  @Test(
    "whatever the clock does, no moment is due twice unless it was set back by more than a minute",
    arguments: 1...12)
  func anyWalk(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (place, clock) = (Self.berlin, TestZone.berlin.clock)
    var agenda = Agenda<String>(at: place, by: clock)
    let schedules = try Self.schedules()
    var now = Self.time(Double.random(in: -3600...3600, using: &random))
    agenda.follow(schedules, now: now)
    var last: [String: Int] = [:]
    for _ in 0..<400 {
      var step = Duration.milliseconds(Int.random(in: 0...1500, using: &random))
      if random.happens(0.05) { step = .milliseconds(Int.random(in: 0...40_000, using: &random)) }
      if random.happens(0.01) { step = .seconds(Int.random(in: 0...4000, using: &random)) }
      if random.happens(0.05) { step = .milliseconds(-Int.random(in: 0...60_000, using: &random)) }
      if random.happens(0.01) {
        step = .milliseconds(-Int.random(in: 60_001...4_000_000, using: &random))
        last = [:]
      }
      now += step
      // Reloads that change nothing.
      if random.happens(0.1) { agenda.follow(schedules, now: now) }
      for due in agenda.due(now: now) {
        // It counts up, in passing over moments too.
        let passed = [due.lastMissed, due.moment].compactMap { $0 }
        let all = [last[due.key]].compactMap { $0 } + passed
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed), \(due.key): \(all)")
        last[due.key] = passed.max()
        #expect((due.lastMissed != nil) == (due.missed > 0))
        guard let moment = due.moment else { continue }
        let lateness = now - .seconds(moment)
        #expect(lateness >= .zero && lateness <= Agenda<String>.largestLateness)
      }
      for (key, schedule) in schedules {
        guard let next = agenda.next(key) else { continue }
        #expect(schedule.next(after: next - 1, at: place, by: clock) == next, "\(key): \(next) is no moment")
      }
    }
  }

  @Test("while the clock goes forward, each moment is either due or missed", arguments: 21...26)
  func forwardWalk(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (place, clock) = (Self.berlin, TestZone.berlin.clock)
    var agenda = Agenda<String>(at: place, by: clock)
    let schedules = try Self.schedules()
    let start = Self.time(Double.random(in: -600...600, using: &random))
    var now = start
    agenda.follow(schedules, now: now)
    var (taken, missed): ([String: Int], [String: Int]) = ([:], [:])
    for _ in 0..<400 {
      now += .milliseconds(Int.random(in: 0...1500, using: &random))
      if random.happens(0.05) { now += .milliseconds(Int.random(in: 0...40_000, using: &random)) }
      if random.happens(0.01) { now += .seconds(Int.random(in: 0...7200, using: &random)) }
      for due in agenda.due(now: now) {
        if due.moment != nil { taken[due.key, default: 0] += 1 }
        missed[due.key, default: 0] += due.missed
      }
    }
    for (key, schedule) in schedules {
      let all = schedule.moments(
        from: Int(start.components.seconds), through: Int(now.components.seconds), at: place, by: clock,
        atMost: 1_000_000)
      #expect(taken[key, default: 0] + missed[key, default: 0] == all, "seed \(seed), \(key)")
    }
    #expect(taken["7s", default: 0] > 0 && missed["7s", default: 0] > 0)
  }
}
