// When motion begins and ends, by the times that come with it.
import Testing

@testable import PreviewCore

@Suite("Motion events")
struct MotionEpisodeTests {
  /// Findings at times in milliseconds: a number is the left edge of something that moves, nil nothing.
  private static func told(
    _ findings: [(Int, Int?)], _ settings: MotionSettings = settings
  ) -> (changes: [String], episodes: MotionEpisodes) {
    var episodes = MotionEpisodes(settings)
    let changes = findings.flatMap { time, left in
      episodes.take(left.map { .moves(sighting($0)) } ?? .noMotion, at: instant(time)).map {
        "\(time): \(text($0))"
      }
    }
    return (changes, episodes)
  }

  private static var settings: MotionSettings {
    var settings = MotionSettings()
    (settings.minimumDuration, settings.coolDown) = (.milliseconds(300), .seconds(1))
    return settings
  }

  private static func instant(_ milliseconds: Int) -> CaptureInstant {
    CaptureInstant(sinceStart: .milliseconds(milliseconds))
  }

  private static func sighting(_ left: Int, score: Double = 0.5) -> MotionSighting {
    MotionSighting(box: MotionBox(columns: left..<left + 4, rows: 3..<7), score: score, cells: 16)
  }

  private static func text(_ change: MotionEpisodes.Change) -> String {
    func milliseconds(_ time: CaptureInstant) -> Int { Int(time.sinceStart / .milliseconds(1)) }
    return switch change {
    case .started(let event): "started, since \(milliseconds(event.start))"
    case .updated(let event): "updated, \(event.label ?? "\(event.best?.score ?? 0)")"
    case .ended(let event): "ended, \(milliseconds(event.start))...\(milliseconds(event.end))"
    case .sceneChanged: "another scene"
    }
  }

  @Test("an event starts after the minimum duration and ends after the cool-down without motion")
  func span() {
    let changes = Self.told([
      (0, nil), (200, 3), (400, 4), (600, 5), (800, 6), (1000, nil), (1200, 7), (1400, 8), (1600, nil),
      (2200, nil), (2400, nil), (2600, nil),
    ]).changes

    #expect(changes == ["600: started, since 200", "2400: ended, 200...1400"])
  }

  @Test("motion in one place starts an event later, and swaying motion starts none")
  func inPlace() {
    func told(isSwaying: Bool) -> [String] {
      var episodes = MotionEpisodes(Self.settings)
      var sighting = Self.sighting(3)
      sighting.isSwaying = isSwaying
      return (0...10).flatMap { episodes.take(.moves(sighting), at: Self.instant(200 * $0)) }.map(Self.text)
    }

    #expect(told(isSwaying: false) == ["started, since 0"])
    #expect(Self.told((0...3).map { (200 * $0, 3) }).changes == [])
    #expect(told(isSwaying: true) == [])
  }

  @Test("isolated sightings, and sightings that jump across the picture, start no event")
  func flash() {
    #expect(Self.told([(0, 3), (200, nil), (400, 3), (600, nil), (3000, 3)]).changes == [])
    #expect(Self.told([(0, 3), (200, 55), (400, 3), (600, 55), (800, 3), (1000, 55)]).changes == [])
  }

  @Test("isolated sightings do not extend an event")
  func lingering() {
    let changes = Self.told([
      (0, 3), (200, 4), (400, 5), (600, nil), (800, 40), (1000, nil), (1200, 10), (1400, nil), (1600, nil),
    ]).changes

    #expect(changes == ["400: started, since 0", "1400: ended, 0...400"])
  }

  @Test("equal times start no event, and times out of order do not change an event's length")
  func order() {
    #expect(Self.told((0..<50).map { _ in (100, 3) }).changes == [])
    let changes = Self.told([(0, 3), (400, 5), (200, 5), (1300, nil), (1200, nil), (1400, nil)]).changes
    #expect(changes == ["400: started, since 0", "1400: ended, 0...400"])
  }

  @Test(
    "a jump of 60 s forwards or backwards ends an event at its last known time", arguments: [60_000, -60_000])
  func jump(by milliseconds: Int) {
    let later = 100_800 + milliseconds
    let changes = Self.told([(100_000, 3), (100_200, 4), (100_400, 5), (later, 5), (later + 200, 5)]).changes

    #expect(changes == ["100400: started, since 100000", "\(later): ended, 100000...100400"])
  }

  @Test("an event keeps its highest-scoring sighting as the best one, and collects all zones")
  func best() {
    var episodes = MotionEpisodes(Self.settings)
    var changes: [String] = []
    for (number, (score, zone)) in [(0.2, "a"), (0.3, "b"), (0.31, "a"), (0.8, "c"), (0.1, "c")].enumerated()
    {
      var sighting = Self.sighting(3 + number, score: score)
      sighting.zones = [zone]
      changes += episodes.take(.moves(sighting), at: Self.instant(200 * number)).map(Self.text)
    }

    #expect(changes == ["started, since 0", "updated, 0.8"])
    #expect(episodes.current?.zones == ["a", "b", "c"])
    #expect(episodes.current?.bestAt == Self.instant(600))
  }

  @Test("an external trigger starts an event at once, and the event ends at the set time or on release")
  func triggers() {
    var episodes = MotionEpisodes(Self.settings)
    var changes = episodes.trigger("person", at: Self.instant(0), until: Self.instant(5000))
    changes += episodes.passed(to: Self.instant(4900))
    changes += episodes.trigger("dog", at: Self.instant(4900), until: Self.instant(6000))
    changes += episodes.passed(to: Self.instant(5900)) + episodes.passed(to: Self.instant(6100))
    changes += episodes.trigger(nil, at: Self.instant(7000), until: Self.instant(9000))
    changes += episodes.release(at: Self.instant(7500)) + episodes.release(at: Self.instant(7600))

    #expect(
      changes.map(Self.text) == [
        "started, since 0", "updated, dog", "ended, 0...6000", "started, since 7000", "ended, 7000...7500",
      ])
  }

  @Test("an event continues after its trigger expires while motion continues")
  func triggeredMotion() {
    var episodes = MotionEpisodes(Self.settings)
    var changes = episodes.trigger(nil, at: Self.instant(0), until: Self.instant(300))
    for time in stride(from: 0, through: 1000, by: 200) {
      changes += episodes.take(.moves(Self.sighting(time / 200)), at: Self.instant(time))
    }
    changes +=
      episodes.take(.noMotion, at: Self.instant(1800)) + episodes.take(.noMotion, at: Self.instant(2000))

    #expect(
      changes.filter { if case .updated = $0 { false } else { true } }.map(Self.text) == [
        "started, since 0", "ended, 0...1000",
      ])
  }
}
