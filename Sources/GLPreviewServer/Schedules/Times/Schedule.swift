// The moments of a schedule: computed from the last one, without a clock and without I/O.

/// A day of the week, as in a configuration.
package enum Weekday: String, CaseIterable, Sendable {
  case mon, tue, wed, thu, fri, sat, sun

  /// The weekday of a day since 1970-01-01, which was a Thursday.
  init(day: Int) { self = Self.allCases[(day + 3).remainder(by: 7)] }
}

/// Regular and fixed moments of each day. A moment is a whole second; two that fall together are one.
package struct Schedule: Hashable, Sendable {
  /// The seconds from one moment to the next; nil for none. `problem(every:)` limits it.
  ///
  /// Up to an hour, moments are evenly spaced in real time, counted from the full hour of the local clock; a
  /// period that does not divide an hour, such as 7 minutes, from 1970. Summer time adds and removes none.
  ///
  /// Longer periods give local times of day, counted from midnight, each once a day: 6 hours give 00:00,
  /// 06:00, 12:00 and 18:00. `LocalClock.time(local:)` says what becomes of repeated and skipped ones.
  package var every: Int?
  /// Times of day. A sunrise or sunset that does not occur on a day is left out. `problem(at:)` limits them.
  package var at: [DayTime] = []
  /// The first and the last time of day of the moments of `every`, both included; empty for no limit. `at` is
  /// not limited by it. `problem(between:)` limits it.
  ///
  /// Between two times by the clock the window crosses midnight if the end is not after the start: 22:00 to
  /// 06:00 is a night, 06:00 to 06:00 is a whole day. The same holds for two offsets from one event of the
  /// sun. For other windows with a sun time the season does not matter: sunrise counts as 06:00 and sunset as
  /// 18:00, and the window crosses midnight if the end is more than three hours before the start. So
  /// `[sunset, 02:00]` crosses it and `[sunset, 17:00]` does not. The window is empty on days when its end
  /// does not come after its start.
  ///
  /// While the sun does not set, sunrise is the beginning of the local day and sunset its end. While it does
  /// not rise, `[sunrise, sunset]` with any offsets is empty; in other windows both are at the mean solar
  /// noon, so that `[sunset, sunrise]` is the whole day and `[06:00, sunset]` ends at noon. A window between
  /// two offsets from one event is empty on days that lack it.
  package var between: [DayTime] = []
  /// The days on which moments lie, by the local clock at the moment itself; empty for every day. So
  /// `sunset+12h` of a Friday counts as Saturday's, and so does the end of a window from 22:00 to 06:00.
  package var days: Set<Weekday> = []

  package init() {}

  /// Whether it depends on the place.
  package var needsPlace: Bool { (at + between).contains(where: \.needsPlace) }

  /// Returns the first moment after a time, both in whole seconds since 1970; nil if there is none within 366
  /// days. Without a place, sunrise and sunset do not occur.
  package func next(after time: Int, at place: Place?, by clock: LocalClock) -> Int? {
    var search = ScheduleSearch(schedule: self, place: place, clock: clock, time: time)
    let regular = every.flatMap { search.regular(every: $0) }
    let fixed = at.isEmpty ? nil : search.fixed()
    return [regular, fixed].compactMap { $0 }.min()
  }

  /// Returns the number of moments after `start`, up to and including `end`. Counting ends at `limit`.
  package func moments(
    from start: Int, through end: Int, at place: Place?, by clock: LocalClock, atMost limit: Int
  ) -> Int {
    var (count, time) = (0, start)
    while count < limit, let next = next(after: time, at: place, by: clock), next <= end {
      (count, time) = (count + 1, next)
    }
    return count
  }

  /// Returns why a period in seconds is not accepted; nil if it is.
  package static func problem(every seconds: Int) -> String? {
    let isRight = (1...3600).contains(seconds) || (3601...86400).contains(seconds) && 86400 % seconds == 0
    return isRight ? nil : "must be from 1s to 1h, or divide a day, such as 2h, 6h, 1d"
  }

  /// Returns why times of day are not accepted; nil if they are.
  package static func problem(at times: [DayTime]) -> String? {
    times.contains(where: \.isEndOfDay) ? "24:00 is only for the end of a window: use 00:00" : nil
  }

  /// Returns why a window is not accepted; nil if it is.
  package static func problem(between times: [DayTime]) -> String? {
    guard times.isEmpty || times.count == 2 else {
      return "must be two times of day, such as 06:00 to sunset"
    }
    return times.first?.isEndOfDay == true ? "24:00 is only for the end of a window: use 00:00" : nil
  }
}

/// One search for a moment.
private struct ScheduleSearch {
  let schedule: Schedule
  let place: Place?
  let clock: LocalClock
  /// The moment lies after it.
  let time: Int
  /// The windows of local days that were computed already.
  private var windows: [Int: ClosedRange<Int>?] = [:]

  private static let day = 86400
  private static let longest = 366

  init(schedule: Schedule, place: Place?, clock: LocalClock, time: Int) {
    (self.schedule, self.place, self.clock, self.time) = (schedule, place, clock, time)
  }

  /// The last time that is searched.
  private var end: Int { time + Self.longest * Self.day }

  /// Returns the first moment of `at`.
  func fixed() -> Int? {
    let today = clock.local(time).quotient(by: Self.day)
    // There is one sunrise a solar day, whatever the local clock does.
    let solarDay = place.map { Sun.day(of: time, at: $0) } ?? 0
    return Self.first(after: time) { step in
      schedule.at.compactMap { at in
        guard at.needsPlace else { return clock.time(local: (today + step) * Self.day + at.seconds) }
        guard let place, case .rises(let sunrise, let sunset) = Sun.day(at: place, day: solarDay + step)
        else { return nil }
        return Int((at.base == .sunrise ? sunrise : sunset).rounded()) + at.seconds
      }.filter { $0 > time && isOnDay($0) }
    }
  }

  /// Returns the first moment of `every`.
  mutating func regular(every: Int) -> Int? { every > 3600 ? daily(every) : hourly(every) }

  private mutating func daily(_ every: Int) -> Int? {
    let today = clock.local(time).quotient(by: Self.day)
    return Self.first(after: time) { step in
      stride(from: 0, to: Self.day, by: every).map { clock.time(local: (today + step) * Self.day + $0) }
        .filter { $0 > time && isOnDay($0) && isInWindow($0) }
    }
  }

  /// Finds the next moment of the grid, and goes on from the next day or window if that has none.
  private mutating func hourly(_ every: Int) -> Int? {
    var last = time
    while true {
      let moment = gridMoment(every, after: last)
      guard moment <= end else { return nil }
      if !isOnDay(moment) {
        let midnight = moment + Self.day - clock.local(moment).remainder(by: Self.day)
        last = clock.change(after: moment, before: midnight) - 1
      } else if !isInWindow(moment) {
        guard let start = windowStart(after: moment) else { return nil }
        last = start - 1
      } else {
        return moment
      }
    }
  }

  /// Returns the first time after `last` that is a multiple of `every`, counted from the local full hour.
  private func gridMoment(_ every: Int, after last: Int) -> Int {
    let phase = clock.offset(last).remainder(by: 3600)
    let moment = last + every - (last + phase).remainder(by: every)
    guard clock.offset(moment).remainder(by: 3600) != phase else { return moment }
    // The full hour moves between the two, by half an hour in some zones.
    let change = clock.change(after: last, before: moment)
    let behind = (change + clock.offset(change).remainder(by: 3600)).remainder(by: every)
    return behind == 0 ? change : change + every - behind
  }

  /// Returns the first of the moments after `time` that each day gives, by its distance from the current one.
  private static func first(after time: Int, _ moments: (_ step: Int) -> [Int]) -> Int? {
    var found: Int?
    for step in -2...longest + 2 {
      // A day's moments may lie almost two days before or after it: the sun's offset, a skipped day.
      if let found, found <= time + (step - 3) * day { break }
      found = (moments(step) + [found].compactMap { $0 }).min()
    }
    return found.flatMap { $0 <= time + longest * day ? $0 : nil }
  }

  private func isOnDay(_ moment: Int) -> Bool {
    schedule.days.isEmpty
      || schedule.days.contains(Weekday(day: clock.local(moment).quotient(by: Self.day)))
  }

  // MARK: - Windows

  private mutating func isInWindow(_ moment: Int) -> Bool {
    guard schedule.between.count == 2 else { return true }
    let today = clock.local(moment).quotient(by: Self.day)
    return [0, -1, 1, -2, 2, -3].contains { window(of: today + $0)?.contains(moment) == true }
  }

  /// Returns when the next window begins; nil if none does within the time that is searched.
  private mutating func windowStart(after moment: Int) -> Int? {
    let today = clock.local(moment).quotient(by: Self.day)
    return Self.first(after: moment) { step in
      [window(of: today + step)?.lowerBound].compactMap { $0 }.filter { $0 > moment }
    }
  }

  private mutating func window(of day: Int) -> ClosedRange<Int>? {
    if let known = windows[day] { return known }
    let (start, end) = (schedule.between[0], schedule.between[1])
    let endDay = Self.crossesMidnight(start, end) ? day + 1 : day
    var window: ClosedRange<Int>?
    if let first = edge(start, of: day), let last = edge(end, of: endDay), first < last {
      window = first...last
    }
    windows[day] = .some(window)
    return window
  }

  private static func crossesMidnight(_ start: DayTime, _ end: DayTime) -> Bool {
    let length = end.usual - start.usual
    return start.base == end.base ? length <= 0 : length < -3 * 3600
  }

  /// Returns when a window's start or end is on a local day.
  private func edge(_ edge: DayTime, of day: Int) -> Int? {
    guard edge.needsPlace else { return clock.time(local: day * Self.day + edge.seconds) }
    guard let place else { return nil }
    // The solar day in which the local noon lies: the place may be far from its time zone.
    let solarDay = Sun.day(of: clock.time(local: day * Self.day + Self.day / 2), at: place)
    let bases = schedule.between.map(\.base)
    switch Sun.day(at: place, day: solarDay) {
    case .rises(let sunrise, let sunset):
      return Int((edge.base == .sunrise ? sunrise : sunset).rounded()) + edge.seconds
    case .up:
      guard bases[0] != bases[1] else { return nil }
      return clock.time(local: (edge.base == .sunrise ? day : day + 1) * Self.day) + edge.seconds
    case .down:
      guard bases[0] != bases[1], bases != [.sunrise, .sunset] else { return nil }
      return Int(Sun.noon(at: place, day: solarDay).rounded()) + edge.seconds
    }
  }
}
