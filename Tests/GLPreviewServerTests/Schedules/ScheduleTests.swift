// The moments of schedules: each rule by examples, and all of them against a slow search by their definition.
import PreviewCore
import Testing

@testable import Schedules

/// A time zone by its changes.
struct TestZone: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// The offset before the first change.
  let first: Int
  /// When offsets change, and to what.
  let changes: [(at: Int, offset: Int)]

  init(_ name: String, _ first: Int, _ changes: [(at: String, offset: Int)] = []) {
    (testDescription, self.first) = (name, first)
    self.changes = changes.map { (seconds($0.at), $0.offset) }
  }

  func offset(_ time: Int) -> Int { changes.last { $0.at <= time }?.offset ?? first }

  var clock: LocalClock { LocalClock { offset($0) } }

  static let utc = TestZone("UTC", 0)
  static let india = TestZone("India", 19800)
  static let berlin = TestZone(
    "Berlin", 3600,
    [
      ("2026-03-29 01:00", 7200), ("2026-10-25 01:00", 3600), ("2027-03-28 01:00", 7200),
      ("2027-10-31 01:00", 3600),
    ])
  /// Its summer time is half an hour.
  static let lordHowe = TestZone(
    "Lord Howe", 39600,
    [("2026-04-04 15:00", 37800), ("2026-10-03 15:30", 39600), ("2027-04-03 15:00", 37800)])
  /// Its clocks change at midnight.
  static let santiago = TestZone(
    "Santiago", -10800, [("2026-04-05 03:00", -14400), ("2026-09-06 04:00", -10800)])
  /// It had no 30 December 2011.
  static let samoa = TestZone("Samoa", -36000, [("2011-12-30 10:00", 50400)])
  /// Its clocks went from 00:01 back to the day before.
  static let newfoundland = TestZone("Newfoundland", -9000, [("2010-11-07 02:31", -12600)])
}

/// The seconds since 1970 of `YYYY-MM-DD HH:MM` in UTC.
func seconds(_ text: String) -> Int {
  let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
  let (month, day) = ((numbers[1] + 9) % 12, numbers[2] - 1)
  let year = numbers[0] - (numbers[1] < 3 ? 1 : 0)
  let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719468
  return days * 86400 + numbers[3] * 3600 + numbers[4] * 60
}

extension Schedule {
  init(every: Int? = nil, at: [String] = [], between: [String] = [], days: Set<Weekday> = []) throws {
    self.init()
    (self.every, self.days) = (every, days)
    self.at = try at.map { try DayTime(parsing: $0) }
    self.between = try between.map { try DayTime(parsing: $0) }
  }

  /// The moments from a time in UTC on until another, in seconds since 1970.
  func moments(_ start: String, _ end: String, _ zone: TestZone = .utc, at place: Place? = nil) -> [Int] {
    var (found, time) = ([Int](), seconds(start) - 1)
    while let next = next(after: time, at: place, by: zone.clock), next <= seconds(end), found.count < 9999 {
      found.append(next)
      time = next
    }
    return found
  }

  /// Moments as `HH:MM` of the local clock.
  func shown(_ start: String, _ end: String, _ zone: TestZone = .utc, at place: Place? = nil) -> [String] {
    moments(start, end, zone, at: place).map {
      let minutes = zone.clock.local($0) % 86400 / 60
      return "\(minutes < 600 ? "0" : "")\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
    }
  }
}

@Suite("Schedules")
struct ScheduleTests {
  @Test("times of day are parsed, and shown as they are written")
  func dayTimes() throws {
    for text in ["00:00", "06:00", "12:00:30", "23:59:59", "24:00", "sunrise", "sunset", "sunrise+30m"] {
      #expect(try DayTime(parsing: text).description == text)
    }
    for (text, seconds) in [
      ("sunset-1h30m", -5400), ("sunrise+12h", 43200), ("sunset+1h2m3s", 3723), ("sunset-90s", -90),
      ("sunrise+0m", 0), ("sunset+720m", 43200), ("sunset+00090m", 5400),
    ] {
      #expect(try DayTime(parsing: text).seconds == seconds)
      #expect(try DayTime(parsing: text).needsPlace)
    }
    #expect(try DayTime(parsing: "6:05") == DayTime(parsing: "06:05"))
    #expect(try DayTime(parsing: "sunset+90m").description == "sunset+1h30m")
    #expect(try DayTime(parsing: "sunset-90s").description == "sunset-1m30s")
    #expect(try !DayTime(parsing: "12:00").needsPlace)
    #expect(try DayTime(parsing: "24:00").isEndOfDay && !DayTime(parsing: "00:00").isEndOfDay)
  }

  @Test(
    "other texts are not times of day",
    arguments: [
      "", "12", "720", "24:01", "24:00:01", "25:00", "12:60", "12:00:60", "12:5", "12:00:5", "012:00",
      "-1:00", "+1:00", "1:00:00:00", "12.00", "12:00 ", "noon", "Sunset", "sunset+", "sunset-", "sunset30m",
      "sunset+30", "sunset+m", "sunset+1m1h", "sunset+1h1h", "sunset+-1h", "sunset +1h", "sunset+999999s",
      "sunset+1.5h", "sunset+99999999999999999999h", "sunrise+\u{0661}h",
    ])
  func wrongDayTimes(_ text: String) {
    #expect(
      throws: ParameterError(
        "'\(text)' is not a time of day, such as 06:00, 12:00:30, sunrise, sunset+30m or sunset-1h30m")
    ) { try DayTime(parsing: text) }
  }

  @Test("an offset from the sun is at most 12 hours")
  func largeOffset() {
    for text in ["sunset+12h1s", "sunrise-13h", "sunset+721m", "sunset-99999h"] {
      #expect(throws: ParameterError("'\(text)': the offset must be at most 12h")) {
        try DayTime(parsing: text)
      }
    }
  }

  @Test("problems of a schedule's keys are described")
  func problems() throws {
    for every in [1, 7, 60, 420, 3599, 3600, 4320, 5400, 7200, 21600, 43200, 86400] {
      #expect(Schedule.problem(every: every) == nil)
    }
    for every in [-60, 0, 3601, 7000, 18000, 86401, 172_800] {
      #expect(
        Schedule.problem(every: every) == "must be from 1s to 1h, or divide a day, such as 2h, 6h, 1d")
    }
    let times = try ["06:00", "24:00", "sunset"].map { try DayTime(parsing: $0) }
    #expect(Schedule.problem(at: [times[0], times[2]]) == nil && Schedule.problem(at: []) == nil)
    #expect(Schedule.problem(at: times) == "24:00 is only for the end of a window: use 00:00")
    #expect(Schedule.problem(between: []) == nil && Schedule.problem(between: [times[0], times[1]]) == nil)
    #expect(
      Schedule.problem(between: [times[1], times[0]]) == "24:00 is only for the end of a window: use 00:00")
    #expect(Schedule.problem(between: times) == "must be two times of day, such as 06:00 to sunset")
  }

  @Test("a local time that occurs twice is the first, and a skipped one is as much later as was skipped")
  func localClock() {
    for (zone, local, time) in [
      (TestZone.berlin, "2026-10-25 02:30", "2026-10-25 00:30"),
      (.berlin, "2026-10-25 03:00", "2026-10-25 02:00"),
      (.berlin, "2026-03-29 02:30", "2026-03-29 01:30"), (.berlin, "2026-03-29 03:00", "2026-03-29 01:00"),
      (.lordHowe, "2026-04-05 01:45", "2026-04-04 14:45"),
      (.lordHowe, "2026-04-05 02:00", "2026-04-04 15:30"),
      (.lordHowe, "2026-10-04 02:10", "2026-10-03 15:40"),
      (.santiago, "2026-09-06 00:00", "2026-09-06 04:00"),
      (.santiago, "2026-04-04 23:30", "2026-04-05 02:30"), (.samoa, "2011-12-30 12:00", "2011-12-30 22:00"),
      (.samoa, "2011-12-31 12:00", "2011-12-30 22:00"), (.india, "2026-01-01 12:00", "2026-01-01 06:30"),
    ] {
      #expect(zone.clock.time(local: seconds(local)) == seconds(time), "\(zone.testDescription) \(local)")
    }
  }

  @Test("the system's clock knows the offset from UTC")
  func systemClock() {
    let clock = LocalClock.system
    let time = seconds("2026-06-01 12:00")
    #expect(abs(clock.offset(time)) <= 14 * 3600 && clock.time(local: clock.local(time)) == time)
  }

  @Test("up to an hour, moments are counted from the local full hour")
  func everyMinutes() throws {
    #expect(
      try Schedule(every: 900).shown("2026-01-01 10:00", "2026-01-01 10:45") == [
        "10:00", "10:15", "10:30", "10:45",
      ])
    #expect(
      try Schedule(every: 3600).shown("2026-01-01 10:10", "2026-01-01 12:10", .india) == ["16:00", "17:00"])
    #expect(try Schedule(every: 1).next(after: 1000, at: nil, by: .system) == 1001)
    // Seven minutes do not divide an hour: counted from 1970.
    let sevens = try Schedule(every: 420).moments("2026-01-01 10:00", "2026-01-01 17:00")
    #expect((60...61).contains(sevens.count) && sevens.allSatisfy { $0 % 420 == 0 })
  }

  @Test("summer time adds and removes no moments up to an hour")
  func everyMinutesInSummerTime() throws {
    let half = try Schedule(every: 1800)
    #expect(
      half.shown("2026-10-25 00:00", "2026-10-25 02:00", .berlin) == [
        "02:00", "02:30", "02:00", "02:30", "03:00",
      ])
    #expect(
      half.shown("2026-03-29 00:00", "2026-03-29 01:30", .berlin) == ["01:00", "01:30", "03:00", "03:30"])
    // Half an hour more or less: the moments follow the local full hour.
    let hour = try Schedule(every: 3600)
    #expect(
      hour.moments("2026-04-04 13:00", "2026-04-04 17:00", .lordHowe).map { $0 % 3600 } == [0, 0, 1800, 1800])
    #expect(hour.shown("2026-10-03 14:00", "2026-10-03 17:00", .lordHowe) == ["01:00", "03:00", "04:00"])
  }

  @Test("longer periods are local times of day, each once a day")
  func everyHours() throws {
    #expect(
      try Schedule(every: 21600).shown("2026-01-01 00:00", "2026-01-02 00:00", .berlin)
        == ["06:00", "12:00", "18:00", "00:00"])
    let two = try Schedule(every: 7200)
    #expect(
      two.shown("2026-10-24 22:00", "2026-10-25 05:00", .berlin) == ["00:00", "02:00", "04:00", "06:00"])
    #expect(
      two.shown("2026-03-28 23:00", "2026-03-29 04:00", .berlin) == ["00:00", "03:00", "04:00", "06:00"])
    // A midnight that is skipped, one that comes after a repeated hour, and a whole day that is skipped.
    let day = try Schedule(every: 86400)
    #expect(day.shown("2026-09-05 12:00", "2026-09-08 00:00", .santiago) == ["01:00", "00:00"])
    #expect(
      day.moments("2026-04-04 12:00", "2026-04-06 12:00", .santiago) == [
        seconds("2026-04-05 04:00"), seconds("2026-04-06 04:00"),
      ])
    #expect(day.moments("2011-12-29 00:00", "2012-01-01 00:00", .samoa).count == 3)
  }

  @Test("times of day come once a day, and those that fall together are one")
  func at() throws {
    let schedule = try Schedule(at: ["12:00", "06:30", "12:00:00"])
    #expect(schedule.shown("2026-01-01 06:30", "2026-01-02 12:00") == ["06:30", "12:00", "06:30", "12:00"])
    #expect(
      try Schedule(at: ["02:30", "03:30"]).shown("2026-03-28 12:00", "2026-03-29 12:00", .berlin) == ["03:30"]
    )
    #expect(
      try Schedule(at: ["02:30"]).moments("2026-10-24 12:00", "2026-10-25 12:00", .berlin) == [
        seconds("2026-10-25 00:30")
      ])
    #expect(try Schedule(at: ["12:00"]).moments("2011-12-29 11:00", "2012-01-01 00:00", .samoa).count == 3)
    #expect(
      try Schedule(every: 3600, at: ["12:00", "12:10"]).shown("2026-01-01 12:00", "2026-01-01 13:00") == [
        "12:00", "12:10", "13:00",
      ])
  }

  @Test("a window includes its ends, may cross midnight, and limits only the period")
  func between() throws {
    let day = try Schedule(every: 3600, at: ["23:00"], between: ["06:00", "09:00"])
    #expect(
      day.shown("2026-01-01 00:00", "2026-01-02 06:00") == [
        "06:00", "07:00", "08:00", "09:00", "23:00", "06:00",
      ])
    let night = try Schedule(every: 7200, between: ["22:00", "02:00"])
    #expect(
      night.shown("2026-01-01 00:00", "2026-01-02 12:00") == ["00:00", "02:00", "22:00", "00:00", "02:00"])
    #expect(
      try Schedule(every: 1800, between: ["00:00", "24:00"]).moments("2026-01-01 00:00", "2026-01-02 23:59")
        .count == 96)
    #expect(
      try Schedule(every: 1800, between: ["06:00", "06:00"]).moments("2026-01-01 00:00", "2026-01-02 23:59")
        .count == 96)
    #expect(
      try Schedule(every: 1800, between: ["06:10", "06:20"]).next(after: 0, at: nil, by: .system) == nil)
    // The first 02:30 of two ends it.
    #expect(
      try Schedule(every: 900, between: ["02:00", "02:30"]).shown(
        "2026-10-24 12:00", "2026-10-25 12:00", .berlin)
        == ["02:00", "02:15", "02:30"])
  }

  @Test("a moment is on the day that the local clock shows at the moment")
  func days() throws {
    // 2026-01-02 is a Friday.
    let night = try Schedule(every: 7200, between: ["22:00", "02:00"], days: [.fri])
    #expect(
      night.moments("2026-01-01 00:00", "2026-01-08 12:00")
        == ["00:00", "02:00", "22:00"].map { seconds("2026-01-02 \($0)") })
    let sunday = try Schedule(every: 3600, at: ["12:30"], days: [.sun])
    #expect(sunday.moments("2026-03-26 00:00", "2026-04-01 00:00", .berlin).count == 24)
    #expect(sunday.moments("2026-10-22 00:00", "2026-10-27 00:00", .berlin).count == 26)
    // The Friday that Samoa skipped.
    #expect(
      try Schedule(at: ["12:00"], days: [.fri]).moments("2011-12-29 00:00", "2012-01-05 00:00", .samoa)
        .isEmpty)
    // Newfoundland's Sunday begins, ends after a minute, and begins again.
    let minutes = try Schedule(every: 60, days: [.sun]).moments(
      "2010-11-07 00:00", "2010-11-07 03:40", .newfoundland)
    #expect(minutes == [seconds("2010-11-07 02:30")] + (0...10).map { seconds("2010-11-07 03:30") + $0 * 60 })
  }

  @Test("a schedule without moments has no next one")
  func none() throws {
    #expect(Schedule().next(after: 0, at: nil, by: .system) == nil)
    #expect(
      try Schedule(every: 60, at: ["sunset"], between: ["sunrise", "sunset"]).next(
        after: 0, at: nil, by: .system) == nil)
    #expect(
      try Schedule(every: 86400, between: ["01:00", "02:00"]).next(after: 0, at: nil, by: TestZone.utc.clock)
        == nil)
  }

  @Test("moments are counted from after the start through the end, up to a limit")
  func counting() throws {
    let minute = try Schedule(every: 60)
    let clock = TestZone.utc.clock
    #expect(minute.moments(from: 0, through: 600, at: nil, by: clock, atMost: 100) == 10)
    #expect(minute.moments(from: 0, through: 599, at: nil, by: clock, atMost: 100) == 9)
    #expect(minute.moments(from: 0, through: 1_000_000_000, at: nil, by: clock, atMost: 100) == 100)
    #expect(minute.moments(from: 60, through: 0, at: nil, by: clock, atMost: 100) == 0)
  }

  @Test("10000 moments across a change of the clocks are in order, evenly spaced, none doubled")
  func manyMoments() throws {
    let minute = try Schedule(every: 60)
    for start in ["2026-03-26 00:00", "2026-10-22 00:00"] {
      var time = seconds(start)
      for _ in 0..<10_000 {
        let next = try #require(minute.next(after: time, at: nil, by: TestZone.berlin.clock))
        guard next == time + 60 else { Issue.record("\(next) after \(time)"); return }
        time = next
      }
    }
  }
  @Test("the next moment is the one that a search second by second finds")
  func search() throws {
    var random = SystemRandomNumberGenerator()
    for zone in [TestZone.berlin, .lordHowe, .india] {
      for _ in 0..<40 {
        let schedule = try Self.schedule(&random)
        let near = zone.changes.randomElement(using: &random)?.at ?? seconds("2026-06-01 00:00")
        let start = near + Int.random(in: -90_000...90_000, using: &random)
        let definition = Definition(schedule, zone, around: start)
        let end = start + 7200
        let expected = (start + 1...end).first { definition.isMoment($0) }
        let found = schedule.next(after: start, at: Definition.place, by: zone.clock)
        if let expected {
          #expect(found == expected, "\(schedule) after \(start) in \(zone.testDescription)")
        } else {
          #expect(found ?? .max > end, "\(schedule) after \(start) in \(zone.testDescription)")
        }
      }
    }
  }

  private static func schedule(_ random: inout SystemRandomNumberGenerator) throws -> Schedule {
    let times = ["00:00", "01:15", "02:00", "02:30", "04:00", "22:00", "24:00", "sunrise", "sunset+30m"]
    let everys: [Int?] = [1, 60, 420, 900, 1800, 3600, 3599, 5400, 7200, 86400, nil]
    var schedule = try Schedule(every: everys.randomElement(using: &random) ?? nil)
    let texts = (0..<3).compactMap { _ in times.randomElement(using: &random) }
    if Bool.random(using: &random) { schedule.at = [try DayTime(parsing: texts[0])] }
    if Bool.random(using: &random) {
      schedule.between = [try DayTime(parsing: texts[1]), try DayTime(parsing: texts[2])]
    }
    if Bool.random(using: &random) {
      schedule.days = Set(Weekday.allCases.shuffled(using: &random).prefix(4))
    }
    return schedule
  }

  /// A schedule as its documentation defines it, for some days around a time.
  private struct Definition {
    static let place = Place(latitude: 52.52, longitude: 13.4)

    let schedule: Schedule
    let zone: TestZone
    private var fixed: Set<Int> = []
    private var daily: Set<Int> = []
    private var windows: [ClosedRange<Int>] = []

    init(_ schedule: Schedule, _ zone: TestZone, around time: Int) {
      (self.schedule, self.zone) = (schedule, zone)
      for day in time / 86400 - 4...time / 86400 + 4 {
        fixed.formUnion(schedule.at.compactMap { self.time($0, day) })
        if let every = schedule.every, every > 3600 {
          for second in 0..<86400 where second % every == 0 { daily.insert(utc(day * 86400 + second)) }
        }
        guard schedule.between.count == 2 else { continue }
        let (start, end) = (schedule.between[0], schedule.between[1])
        let isSame = start.base == end.base
        let crosses = isSame ? end.seconds <= start.seconds : Self.hour(end) < Self.hour(start) - 3
        if let first = self.time(start, day), let last = self.time(end, crosses ? day + 1 : day), first < last
        {
          windows.append(first...last)
        }
      }
    }

    private static func hour(_ time: DayTime) -> Double {
      let bases: [DayTime.Base: Double] = [.midnight: 0, .sunrise: 6, .sunset: 18]
      return bases[time.base, default: 0] + Double(time.seconds) / 3600
    }

    private func time(_ time: DayTime, _ day: Int) -> Int? {
      if time.base == .midnight { return utc(day * 86400 + time.seconds) }
      // The sun's noon in Berlin is within 12 hours of the local noon of one solar day.
      let noon = utc(day * 86400 + 43200)
      guard
        let solarDay = (day - 2...day + 2).first(where: {
          abs(Sun.noon(at: Self.place, day: $0) - Double(noon)) <= 43200
        }),
        case .rises(let sunrise, let sunset) = Sun.day(at: Self.place, day: solarDay)
      else { return nil }
      return Int((time.base == .sunrise ? sunrise : sunset).rounded()) + time.seconds
    }

    /// Looks for the span between changes in which the local time occurs, or for the change that skips it.
    private func utc(_ local: Int) -> Int {
      var offset = zone.first
      for change in zone.changes {
        if local < change.at + max(offset, change.offset) { return local - offset }
        offset = change.offset
      }
      return local - offset
    }

    func isMoment(_ time: Int) -> Bool {
      let offset = zone.offset(time)
      let weekday = Weekday.allCases[((time + offset) / 86400 + 3) % 7]
      guard schedule.days.isEmpty || schedule.days.contains(weekday) else { return false }
      if fixed.contains(time) { return true }
      guard let every = schedule.every else { return false }
      guard every > 3600 ? daily.contains(time) : (time + offset % 3600) % every == 0 else { return false }
      return schedule.between.isEmpty || windows.contains { $0.contains(time) }
    }
  }
}
