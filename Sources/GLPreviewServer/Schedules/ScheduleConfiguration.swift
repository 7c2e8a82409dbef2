// The schedules of a camera or scene, and the keys below its `schedules`; the place and the time zone of the service.
internal import Glibc
internal import MQTT

/// When snapshots of a camera or scene are taken by themselves, and where they go.
package struct ScheduleConfiguration: Sendable, Hashable {
  /// The names under which pictures are stored.
  package enum Naming: String, Sendable, Hashable, CaseIterable {
    /// Each under the time of its moment.
    case sequence
    /// All under one name, which the next picture overwrites.
    case latest
    case both
  }

  /// The picture of a camera that delivers no frames, or of a scene with only such cameras.
  package enum Offline: String, Sendable, Hashable, CaseIterable {
    /// None: the moment counts as failed.
    case skip
    case placeholder
  }

  package let name: String
  package var times = Schedule()
  /// The views; empty for all that are switched on.
  package var views: [String] = []
  package var naming = Naming.sequence
  /// The destinations; empty for all that are configured.
  package var destinations: [String] = []
  package var offline = Offline.skip

  package init(name: String) { self.name = name }
}

extension ScheduleConfiguration {
  /// The key `schedules` of a camera.
  package static let cameraKey = ConfigurationKey<CameraConfiguration>(
    "schedules", .named, times + [views] + storing, \.schedules,
    new: { name, _ in ScheduleConfiguration(name: name) })

  /// The key `schedules` of a scene, which has one view.
  package static let sceneKey = ConfigurationKey<SceneConfiguration>(
    "schedules", .named, times + storing, \.schedules,
    new: { name, _ in ScheduleConfiguration(name: name) })

  /// The keys `place` and `time-zone` of the service.
  package static let serviceKeys: [ConfigurationKey<ServerConfiguration>] = [
    .init(
      "place", .init("`52.52, 13.40`") { try Place(parsing: $0) }, \.place, "none",
      "the latitude and longitude in degrees, north and east positive, for sunrise and sunset"),
    .init(
      "time-zone", zone, \.timeZone, "the system's",
      "the time zone of schedules and of times in labels, such as `Europe/Berlin`"
    ).atStart,
  ]

  private static let times: [ConfigurationKey<ScheduleConfiguration>] = [
    .init(
      "every", period, \.times.every, "none",
      "how often a snapshot is taken: `1s` to `1h`, or a time that divides a day ([schedules.md](schedules.md))"
    ),
    .init(
      "at", listOf: dayTime, \.times.at, "none",
      "times of day: `12:00`, `sunrise+30m`, `sunset`; sun times need `place`"),
    .init(
      "between", listOf: window, \.times.windows, "the whole day",
      "two times of day, between which `every` holds, both inclusive; also as a list, `[06:00, sunset]`"),
    .init("days", listOf: .choice, \.times.dayList, "all", "the days of the week"),
  ]

  private static let views = ConfigurationKey<ScheduleConfiguration>(
    "views", listOf: .viewName, \.views, "all", "the views, as they are served")

  private static let storing: [ConfigurationKey<ScheduleConfiguration>] = [
    .init(
      "name", .choice, \.naming, "`sequence`",
      "`sequence` stores each picture under the time of its moment, `latest` all under one name"),
    .init(
      "to", listOf: destination, \.destinations, "all that are configured",
      "where pictures go: `folder`, `webhook`, `mqtt`, and names of `snapshots.stores`"),
    .init(
      "offline", .choice, \.offline, "`skip`",
      "the picture of a camera that delivers no frames: none, or one that says so"),
  ]

  private static let dayTime = ConfigurationFormat<DayTime>("`HH:MM`, `sunrise`, `sunset+30m`") {
    try DayTime(parsing: $0)
  }

  /// One time of a list of two, or both.
  private static let window = ConfigurationFormat<[DayTime]>("`06:00 to sunset`") { text in
    let words = text.split(separator: " ")
    guard words.count == 3, words[1] == "to" else { return [try DayTime(parsing: text)] }
    return [try DayTime(parsing: String(words[0])), try DayTime(parsing: String(words[2]))]
  }

  private static let destination = ConfigurationFormat<String>("`folder`, `webhook`, `mqtt`, a store's name")
  {
    guard !$0.isEmpty else { throw ParameterError("is empty") }
    return $0
  }

  private static let period = ConfigurationFormat<Int>("time") { text in
    let duration = try ConfigurationFormat<Duration>.time.read(text, "")
    let (seconds, rest) = duration.components
    guard rest == 0 else { throw ParameterError("'\(text)' is not a whole number of seconds") }
    if let problem = Schedule.problem(every: Int(seconds)) { throw ParameterError("'\(text)' \(problem)") }
    return Int(seconds)
  }

  /// The folder of time zones.
  private static let zones = "/usr/share/zoneinfo/"

  private static let zone = ConfigurationFormat<String>("a time zone") { name in
    let isName =
      name.utf8.allSatisfy { (0x21...0x7E).contains($0) } && name.first?.isLetter == true
      && !name.contains("..")
    guard isName, isZone(zones + name) else {
      throw ParameterError("no time zone '\(name)' in \(zones); there is for example Europe/Berlin")
    }
    return name
  }

  /// Whether a file is a time zone. The C library takes any other for UTC.
  private static func isZone(_ path: String) -> Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var magic = [UInt8](repeating: 0, count: 4)
    return unsafe read(file, &magic, magic.count) == magic.count && magic == Array("TZif".utf8)
  }
}

extension Schedule {
  /// `between` as it is read: its two times in one item, or in two.
  fileprivate var windows: [[DayTime]] {
    get { between.isEmpty ? [] : [between] }
    set { between = newValue.flatMap(\.self) }
  }

  /// The days in the order of the week.
  fileprivate var dayList: [Weekday] {
    get { Weekday.allCases.filter(days.contains) }
    set { days = Set(newValue) }
  }
}

extension CameraConfiguration {
  package var schedules: [ScheduleConfiguration] {
    get { sections[CameraSection.self] }
    set { sections[CameraSection.self] = newValue }
  }
}

extension SceneConfiguration {
  package var schedules: [ScheduleConfiguration] {
    get { sections[SceneSection.self] }
    set { sections[SceneSection.self] = newValue }
  }
}

extension ServerConfiguration {
  /// Where the service is, for sunrise and sunset.
  package var place: Place? {
    get { sections[PlaceSection.self] }
    set { sections[PlaceSection.self] = newValue }
  }

  /// The name of the time zone; nil for the system's.
  package var timeZone: String? {
    get { sections[ZoneSection.self] }
    set { sections[ZoneSection.self] = newValue }
  }

  /// The words that `to` may contain.
  package var scheduleDestinations: [String] {
    (snapshots.folder == nil ? [] : ["folder"]) + (snapshots.webhook == nil ? [] : ["webhook"])
      + (mqtt == nil ? [] : ["mqtt"]) + snapshots.stores.map(\.name)
  }
}

extension [String] {
  /// The destinations among these that get pictures of scenes: all but MQTT.
  var ofScenes: [String] { filter { $0 != "mqtt" } }
}

private enum PlaceSection: ConfigurationSection {
  typealias Target = ServerConfiguration
  static let usual: Place? = nil
}

private enum ZoneSection: ConfigurationSection {
  typealias Target = ServerConfiguration
  static let usual: String? = nil
}

private enum CameraSection: ConfigurationSection {
  static let usual: [ScheduleConfiguration] = []

  static func problems(of camera: CameraConfiguration, in service: ServerConfiguration)
    -> [ConfigurationProblem]
  {
    let views = camera.views.map(\.view.name)
    return camera.schedules.flatMap { schedule in
      schedule.problems(.camera(views: views), service).map { key, reason in
        let path = ["cameras", camera.name, "schedules", schedule.name]
        return ConfigurationProblem(path: path + (key.isEmpty ? [] : [key]), reason)
      }
    }
  }
}

private enum SceneSection: ConfigurationSection {
  static let usual: [ScheduleConfiguration] = []

  static func problems(of scene: SceneConfiguration, in service: ServerConfiguration)
    -> [ConfigurationProblem]
  {
    scene.schedules.flatMap { schedule in
      schedule.problems(.scene, service).map { key, reason in
        let path = ["scenes", scene.name, "schedules", schedule.name]
        return ConfigurationProblem(path: path + (key.isEmpty ? [] : [key]), reason)
      }
    }
  }
}

extension ScheduleConfiguration {
  fileprivate enum Subject {
    case camera(views: [String])
    case scene
  }

  /// The keys at fault, with reasons.
  fileprivate func problems(_ subject: Subject, _ service: ServerConfiguration) -> [(String, String)] {
    var problems: [(String, String)] = []
    if (try? ViewConfiguration.check(name: name)) == nil {
      problems.append(
        ("", "a schedule's name has 1 to 64 letters, digits, -, _ or ., and does not begin with - or ."))
    }
    if times.every == nil, times.at.isEmpty { problems.append(("", "needs every or at")) }
    if !times.between.isEmpty, times.every == nil { problems.append(("between", "needs every")) }
    if let problem = Schedule.problem(at: times.at) { problems.append(("at", problem)) }
    if let problem = Schedule.problem(between: times.between) { problems.append(("between", problem)) }
    for (key, used) in [("at", times.at), ("between", times.between)] where service.place == nil {
      guard let sun = used.first(where: \.needsPlace) else { continue }
      problems.append((key, "'\(sun)' needs place, the latitude and longitude"))
    }
    let possible: [String]
    let keys: String
    switch subject {
    case .camera(let known):
      for view in views where !known.contains(view) {
        problems.append(("views", "no view '\(view)' (known: \(known.joined(separator: ", ")))"))
      }
      possible = service.scheduleDestinations
      keys = "snapshots.folder, snapshots.webhook, snapshots.stores or mqtt"
    case .scene:
      possible = service.scheduleDestinations.ofScenes
      keys = "snapshots.folder, snapshots.webhook or snapshots.stores"
    }
    if possible.isEmpty { problems.append(("", "has no destination: set \(keys)")) }
    for word in destinations where !possible.isEmpty && !possible.contains(word) {
      let isOfCameras = service.scheduleDestinations.contains(word)
      let reason = isOfCameras ? "gets no pictures of scenes" : "is not configured"
      problems.append(("to", "'\(word)' \(reason) (there are: \(possible.joined(separator: ", ")))"))
    }
    return problems
  }
}
