// Sunrise and sunset: against Python's `astral`, and in schedules, also where the sun does not rise or set.
import PreviewCore
import Testing

@testable import Schedules

@Suite("Sunrise and sunset")
struct SunTests {
  private static let berlin = Place(latitude: 52.52, longitude: 13.4)
  private static let tromso = Place(latitude: 69.65, longitude: 18.96)
  /// The days since 1970 of 2026-01-15, 03-20, 04-30, 06-21, 08-09, 09-23, 11-30 and 2028-02-29.
  private static let days = [20468, 20532, 20573, 20625, 20674, 20719, 20787, 21243]
  /// Sunrise and sunset on those days by astral 3.2, without elevation.
  private static let astral: [(Place, [(Int, Int)])] = [
    (
      Place(latitude: 52.52, longitude: 13.4),
      [
        (1768461015, 1768490507), (1773983373, 1774027151), (1777520253, 1777573851),
        (1782009810, 1782070376), (1786246749, 1786301016), (1790139246, 1790182948),
        (1796021594, 1796050588), (1835416467, 1835455445),
      ]
    ),
    (
      Place(latitude: -0.18, longitude: -78.47),
      [
        (1768475977, 1768519627), (1774005490, 1774049060), (1777547282, 1777590847),
        (1782040354, 1782083936), (1786274180, 1786317745), (1790161387, 1790204956),
        (1796036330, 1796079984), (1835436180, 1835479768),
      ]
    ),
    (
      Place(latitude: -33.87, longitude: 151.21),
      [
        (1768417184, 1768468126), (1773950290, 1773994004), (1777494537, 1777533331),
        (1781989212, 1782024815), (1786221659, 1786260053), (1790106251, 1790149905),
        (1795977465, 1796028593), (1835379745, 1835425938),
      ]
    ),
    (
      Place(latitude: 59.33, longitude: 18.07),
      [
        (1768462251, 1768487034), (1773982208, 1774026093), (1777517543, 1777574351),
        (1782005486, 1782072457), (1786243879, 1786301613), (1790138071, 1790181864),
        (1796022936, 1796046999), (1835416013, 1835453672),
      ]
    ),
    (
      Place(latitude: -13.83, longitude: -171.77),
      [
        (1768497080, 1768543311), (1774027874, 1774071438), (1777570558, 1777612342),
        (1782064194, 1782104887), (1786297503, 1786339210), (1790183752, 1790227376),
        (1796057387, 1796103728), (1835458119, 1835502595),
      ]
    ),
    (
      Place(latitude: -54.8, longitude: -68.3),
      [
        (1768465371, 1768525287), (1774002888, 1774046713), (1777549965, 1777583238),
        (1782046755, 1782072654), (1786277213, 1786309874), (1790158752, 1790202778),
        (1796025452, 1796086033), (1835430950, 1835480041),
      ]
    ),
  ]

  @Test("sunrise and sunset are those of astral, within a minute")
  func times() {
    for (place, expected) in Self.astral {
      for (day, (sunrise, sunset)) in zip(Self.days, expected) {
        guard case .rises(let first, let last) = Sun.day(at: place, day: day) else {
          Issue.record("\(place): no sunrise on day \(day)")
          continue
        }
        #expect(abs(first - Double(sunrise)) < 60 && abs(last - Double(sunset)) < 60, "\(place), day \(day)")
      }
    }
  }

  @Test("beyond the polar circles the sun stays up or down, at the poles for half a year")
  func poles() {
    #expect(Sun.day(at: Self.tromso, day: 20625) == .up && Sun.day(at: Self.tromso, day: 20787) == .down)
    let south = Place(latitude: -77.85, longitude: 166.67)
    #expect(Sun.day(at: south, day: 20625) == .down && Sun.day(at: south, day: 20787) == .up)
    for (latitude, summer) in [(90.0, Sun.Day.up), (-90.0, .down)] {
      let pole = Place(latitude: latitude, longitude: 0)
      #expect(Sun.day(at: pole, day: 20625) == summer)
      #expect(Sun.day(at: pole, day: 20787) == (summer == .up ? .down : .up))
      for day in 20468..<20833 {
        if case .rises(let sunrise, let sunset) = Sun.day(at: pole, day: day) {
          Issue.record("day \(day): \(sunrise), \(sunset)")
        }
      }
    }
  }

  @Test("a place is parsed as latitude and longitude")
  func place() throws {
    for text in ["52.52, 13.4", "52.52,13.40", " +52.52 ,\t13.4 "] {
      #expect(try Place(parsing: text) == Self.berlin)
    }
    #expect(try Place(parsing: "-90, 180") == Place(latitude: -90, longitude: 180))
    for text in [
      "", "52.52", "52,52, 13,40", "52.52 13.4", "52.52N, 13.4E", "nan, 0", "0x1, 0", "1e1, 0", ", ",
    ] {
      #expect(
        throws: ParameterError("'\(text)' is not LATITUDE, LONGITUDE in degrees, such as 52.52, 13.40")
      ) { try Place(parsing: text) }
    }
    #expect(throws: ParameterError("'113.4, 52': the latitude comes first and must be from -90 to 90")) {
      try Place(parsing: "113.4, 52")
    }
    #expect(throws: ParameterError("'52, -180.1': the longitude must be from -180 to 180")) {
      try Place(parsing: "52, -180.1")
    }
  }

  @Test("a schedule has the sun's times with their offsets, rounded to the second")
  func schedule() throws {
    let schedule = try Schedule(at: ["sunset", "12:00", "sunrise+30m"])
    // The sun is up from 07:52:53 to 15:56:48.
    #expect(
      schedule.shown("2026-11-30 00:00", "2026-11-30 22:00", .berlin, at: Self.berlin) == [
        "08:22", "12:00", "15:56",
      ])
    let times = schedule.moments("2026-11-30 00:00", "2026-11-30 22:00", .berlin, at: Self.berlin)
    guard case .rises(let sunrise, let sunset) = Sun.day(at: Self.berlin, day: 20787) else { return }
    #expect(times[0] == Int(sunrise.rounded()) + 1800 && times[2] == Int(sunset.rounded()))
    #expect(try Schedule(at: ["12:00"]).needsPlace == false)
    #expect(try Schedule(every: 60, between: ["06:00", "sunset"]).needsPlace && schedule.needsPlace)
  }

  @Test("each sunrise of a year is a moment, however far the place is from its time zone")
  func farZones() throws {
    let schedule = try Schedule(at: ["sunrise"])
    for longitude in stride(from: -180.0, through: 180, by: 90) {
      for zone in [TestZone.utc, .berlin, .lordHowe, .santiago] {
        let moments = schedule.moments(
          "2026-01-01 00:00", "2026-12-31 23:59", zone, at: Place(latitude: 40, longitude: longitude))
        #expect((364...366).contains(moments.count), "\(longitude) \(zone.testDescription)")
        #expect(zip(moments, moments.dropFirst()).allSatisfy { (86000...86800).contains($1 - $0) })
      }
    }
  }

  @Test("a sunset with an offset is on the day on which it lies")
  func days() throws {
    // Fridays are 2026-11-27 and 12-04.
    let schedule = try Schedule(at: ["sunset+12h"], days: [.sat])
    #expect(schedule.shown("2026-11-25 00:00", "2026-12-02 00:00", .berlin, at: Self.berlin) == ["03:59"])
  }

  @Test("a sunset that does not occur is skipped")
  func polarTimes() throws {
    let schedule = try Schedule(at: ["sunset"])
    let summer = schedule.next(after: seconds("2026-06-01 00:00"), at: Self.tromso, by: TestZone.berlin.clock)
    #expect(try #require(summer) > seconds("2026-07-20 00:00"))
    let winter = schedule.next(after: seconds("2026-12-01 00:00"), at: Self.tromso, by: TestZone.berlin.clock)
    #expect(try #require(winter) > seconds("2027-01-10 00:00"))
  }

  /// The hours of an hourly schedule from noon until 11:59 of the next day.
  private static func hours(
    _ start: String, _ end: String, from day: String, to next: String, at place: Place
  )
    throws -> [Int]
  {
    try Schedule(every: 3600, between: [start, end])
      .shown("\(day) 11:00", "\(next) 10:59", TestZone("", 3600), at: place)
      .compactMap { Int($0.prefix(2)) }
  }

  // Winter time throughout: in Berlin the sun is up from 07:53 to 15:56 on the first day, and from 03:43 to
  // 20:33 on the second.
  @Test(
    "windows follow the sun, and cross midnight on every day of the year or on none",
    arguments: [
      ("sunrise", "sunset", [12, 13, 14, 15, 8, 9, 10, 11], Array(12...20) + Array(4...11)),
      ("sunset", "sunrise", Array(16...23) + Array(0...7), [21, 22, 23, 0, 1, 2, 3]),
      ("sunset-1h", "sunset+1h", [15, 16], [20, 21]),
      ("sunset+1h", "sunset-11h", Array(17...23) + Array(0...4), [22, 23] + Array(0...9)),
      ("10:00", "sunset+30m", [12, 13, 14, 15, 16, 10, 11], Array(12...21) + [10, 11]),
      ("16:00", "sunset", [], [16, 17, 18, 19, 20]), ("sunset", "17:00", [16, 17], []),
      ("sunset", "00:00", Array(16...23) + [0], [21, 22, 23, 0]), ("sunrise", "05:00", [], [4, 5]),
      ("05:00", "sunrise", [5, 6, 7], []),
      ("22:00", "sunrise", [22, 23] + Array(0...7), [22, 23, 0, 1, 2, 3]),
    ] as [(String, String, [Int], [Int])])
  func windows(_ start: String, _ end: String, _ winter: [Int], _ summer: [Int]) throws {
    #expect(try Self.hours(start, end, from: "2026-11-30", to: "2026-12-01", at: Self.berlin) == winter)
    #expect(try Self.hours(start, end, from: "2026-06-21", to: "2026-06-22", at: Self.berlin) == summer)
  }

  // The mean solar noon in Tromso is at 11:44.
  @Test(
    "while the sun stays up it sets at midnight, and while it stays down it rises and sets at noon",
    arguments: [
      ("sunrise", "sunset", [], Array(12...23) + Array(0...11)),
      ("sunrise-1h", "sunset+1h", [], Array(12...23) + Array(0...11)),
      ("sunset", "sunrise", Array(12...23) + Array(0...11), []), ("sunrise", "sunrise+5h", [], []),
      ("sunset-5h", "sunset", [], []), ("10:00", "sunset", [10, 11], Array(12...23) + [0, 10, 11]),
      ("22:00", "sunrise", [22, 23] + Array(0...11), [22, 23, 0]), ("sunset", "15:00", [12, 13, 14, 15], []),
      ("sunrise", "15:00", [12, 13, 14, 15], Array(12...15) + Array(0...11)),
      ("sunset", "01:00", Array(12...23) + [0, 1], [0, 1]),
    ] as [(String, String, [Int], [Int])])
  func polarWindows(_ start: String, _ end: String, _ winter: [Int], _ summer: [Int]) throws {
    #expect(try Self.hours(start, end, from: "2026-12-10", to: "2026-12-11", at: Self.tromso) == winter)
    #expect(try Self.hours(start, end, from: "2026-06-21", to: "2026-06-22", at: Self.tromso) == summer)
  }
}
