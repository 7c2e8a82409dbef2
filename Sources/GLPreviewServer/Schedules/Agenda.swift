// Decides which moments of schedules are due, without I/O or a clock.

/// The moments of several schedules.
struct Agenda<Key: Hashable & Sendable>: Sendable {
  /// A moment that is due, or moments that have passed.
  struct Due: Sendable, Equatable {
    let key: Key
    /// The moment to take, in seconds since 1970; nil if it is too late for any.
    let moment: Int?
    /// How many moments have passed without a picture.
    let missed: Int
    /// The last of the missed moments.
    let lastMissed: Int?
  }

  private struct Entry: Sendable {
    let schedule: Schedule
    var next: Int?
  }

  /// How late a moment may be taken. The picture is captured after the moment in any case.
  static var largestLateness: Duration { .seconds(10) }
  /// If the clock is set back by no more than this, no moment is taken twice.
  static var smallStep: Duration { .seconds(60) }
  private static var mostCounted: Int { 10_000 }

  private(set) var place: Place?
  private let clock: LocalClock
  private var entries: [Key: Entry] = [:]
  /// The latest time that was given.
  private var known: Duration?

  init(at place: Place?, by clock: LocalClock) { (self.place, self.clock) = (place, clock) }

  /// The moment that comes next of a schedule, in seconds since 1970; nil if there is none within a year.
  func next(_ key: Key) -> Int? { entries[key]?.next }

  /// The moments that come next, of the schedules that have one within a year.
  var moments: [Key: Int] { entries.compactMapValues(\.next) }

  /// The moment that comes next of all.
  var next: Int? { entries.values.compactMap(\.next).min() }

  /// Returns what is due at `now`, and then follows other schedules, or the same ones at another place: what is due
  /// already by the schedules of before is not lost.
  mutating func due(now: Duration, thenFollowing schedules: [Key: Schedule], at place: Place?) -> [Due] {
    let due = due(now: now)
    if place != self.place { (self.place, entries) = (place, [:]) }
    follow(schedules, now: now)
    return due
  }

  /// Continues the schedules that are still there, and begins the new ones at `now`, the time since 1970.
  mutating func follow(_ schedules: [Key: Schedule], now: Duration) {
    entries = entries.filter { schedules[$0.key] == $0.value.schedule }
    for (key, schedule) in schedules where entries[key] == nil {
      entries[key] = Entry(schedule: schedule, next: moment(of: schedule, after: now))
    }
  }

  /// Returns what is due at `now`, the time since 1970, and continues with the moments after it.
  ///
  /// Of several moments of a schedule only the last can be taken: the machine was asleep, or its clock was set
  /// ahead, and the others have passed. If the clock was set back, by more than `smallStep`, it was wrong before,
  /// and the moments after `now` are taken.
  mutating func due(now: Duration) -> [Due] {
    defer { known = now }
    if let known, known - now > Self.smallStep {
      for (key, entry) in entries {
        let next = moment(of: entry.schedule, after: now)
        entries[key]?.next = next
      }
    }
    let second = Self.second(now)
    var all: [Due] = []
    for (key, entry) in entries {
      guard let first = entry.next, first <= second else { continue }
      var (last, before, passed) = (first, Int?.none, 0)
      var next = entry.schedule.next(after: first, at: place, by: clock)
      while let moment = next, moment <= second, passed < Self.mostCounted {
        (last, before, passed) = (moment, last, passed + 1)
        next = entry.schedule.next(after: moment, at: place, by: clock)
      }
      let isLate = now - .seconds(last) > Self.largestLateness
      if isLate { next = moment(of: entry.schedule, after: now) }
      entries[key]?.next = next
      all.append(
        Due(
          key: key, moment: isLate ? nil : last, missed: passed + (isLate ? 1 : 0),
          lastMissed: isLate ? last : before))
    }
    return all
  }

  private func moment(of schedule: Schedule, after now: Duration) -> Int? {
    schedule.next(after: Self.second(now), at: place, by: clock)
  }

  /// Rounds down, also for times before 1970.
  private static func second(_ time: Duration) -> Int {
    let (seconds, rest) = time.components
    return Int(seconds) - (rest < 0 ? 1 : 0)
  }
}
