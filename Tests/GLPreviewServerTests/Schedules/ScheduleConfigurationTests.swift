// Configurations of schedules, their place and their stores, and the mistakes in them.
import Testing

@testable import Schedules
@testable import ServiceFoundation

@Suite("Configuration of schedules")
struct ScheduleConfigurationTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private static let everything = """
    place: "52.52, 13.40"
    time-zone: Europe/Berlin
    mqtt: {server: "mqtt://127.0.0.1"}
    snapshots:
      folder: {path: pictures}
      webhook: {url: "http://hook.example/"}
      stores:
        bucket:
          s3: https://s3.eu-central-1.amazonaws.com/my-bucket/cams/
          region: eu-west-1
          access-key: AKIAEXAMPLE
          secret-key-file: secret
          attempts: 3
          capacity: 7
        web: {put: "https://web.example:8443/a%20b", token: 5ECRETtoken}
        nas: {put: "http://nas.example", user: ann, password: 5ECRETpassword}
    cameras:
      garden:
        source: "pattern:"
        views: {main: {width: 64}, face: {width: 32}}
        schedules:
          minute:
            every: 60s
            between: [06:00, sunset+30m]
            days: [fri, mon]
            views: [face]
            name: both
            to: [folder, webhook, mqtt, web]
            offline: placeholder
          dusk: {at: [12:00, sunrise+30m, sunset]}
          usual: {every: 1d}
    """

  private func everything(_ environment: [String: String] = [:]) throws -> ServerConfiguration {
    try folder.write("5ECRETkey\n", to: "secret")
    return try folder.load(Self.everything, environment: environment).configuration
  }

  @Test("all keys of schedules are read")
  func schedules() throws {
    let configuration = try everything()
    #expect(configuration.place == Place(latitude: 52.52, longitude: 13.4))
    #expect(configuration.timeZone == "Europe/Berlin")
    #expect(configuration.scheduleDestinations == ["folder", "webhook", "mqtt", "bucket", "nas", "web"])

    let schedules = try #require(configuration.cameras.first).schedules
    var minute = ScheduleConfiguration(name: "minute")
    minute.times = try Schedule(every: 60, between: ["06:00", "sunset+30m"], days: [.mon, .fri])
    (minute.views, minute.naming, minute.offline) = (["face"], .both, .placeholder)
    minute.destinations = ["folder", "webhook", "mqtt", "web"]
    var dusk = ScheduleConfiguration(name: "dusk")
    dusk.times = try Schedule(at: ["12:00", "sunrise+30m", "sunset"])
    #expect(schedules.prefix(2) == [minute, dusk])
  }

  @Test("all keys of stores are read, without a slash at the end of the URL")
  func stores() throws {
    var bucket = StoreConfiguration(name: "bucket")
    (bucket.kind, bucket.url) = (.s3, "https://s3.eu-central-1.amazonaws.com/my-bucket/cams")
    (bucket.region, bucket.accessKey, bucket.secretKey) = ("eu-west-1", "AKIAEXAMPLE", "5ECRETkey")
    (bucket.attempts, bucket.capacity) = (3, 7)
    var web = StoreConfiguration(name: "web")
    (web.kind, web.url, web.token) = (.put, "https://web.example:8443/a%20b", "5ECRETtoken")
    var nas = StoreConfiguration(name: "nas")
    (nas.kind, nas.url, nas.user, nas.password) = (.put, "http://nas.example", "ann", "5ECRETpassword")
    #expect(try everything().snapshots.stores == [bucket, nas, web])
  }

  @Test("by default all views and destinations are used, and each picture has the name of its moment")
  func defaults() throws {
    let configuration = try everything()
    let usual = try #require(configuration.cameras.first?.schedules.last)
    let day = try Schedule(every: 86400)
    #expect(usual.name == "usual" && usual.times == day)
    #expect(usual.views == [] && usual.destinations == [])
    #expect(usual.naming == .sequence && usual.offline == .skip)
    let nas = try #require(configuration.snapshots.stores.last)
    #expect(nas.attempts == 5 && nas.capacity == 64 && nas.region == nil)

    let plain = try folder.load(#"cameras: {a: {source: "pattern:"}}"#).configuration
    #expect(plain.place == nil && plain.timeZone == nil)
    #expect(plain.snapshots.stores == [] && plain.cameras.first?.schedules == [])
  }

  @Test(
    "a window is a list of two times of day, or a text with both",
    arguments: ["[22:00, 06:00]", "22:00 to 06:00"])
  func window(text: String) throws {
    let configuration = try folder.load(
      """
      snapshots: {folder: {path: pictures}}
      cameras: {a: {source: "pattern:", schedules: {x: {every: 60s, between: \(text)}}}}
      """
    ).configuration
    let times = try Schedule(every: 60, between: ["22:00", "06:00"])
    #expect(configuration.cameras.first?.schedules.first?.times == times)
  }

  @Test("environment variables set keys of schedules and stores, and the place")
  func variables() throws {
    let configuration = try folder.load(
      """
      snapshots: {stores: {my-bucket: {s3: "https://h/b", access-key: A}}}
      cameras: {front-door: {source: "pattern:", schedules: {each-minute: {every: 60s}}}}
      """,
      environment: [
        "GLPREVIEW_CAMERAS_FRONT_DOOR_SCHEDULES_EACH_MINUTE_EVERY": "90s",
        "GLPREVIEW_CAMERAS_FRONT_DOOR_SCHEDULES_EACH_MINUTE_AT": "12:00;sunset-1h",
        "GLPREVIEW_CAMERAS_FRONT_DOOR_SCHEDULES_EACH_MINUTE_TO": "my-bucket",
        "GLPREVIEW_CAMERAS_FRONT_DOOR_SCHEDULES_EACH_MINUTE_BETWEEN": "06:00;sunset+30m",
        "GLPREVIEW_SNAPSHOTS_STORES_MY_BUCKET_SECRET_KEY": "5ECRETvariable",
        "GLPREVIEW_PLACE": "-33.9, 151.2", "GLPREVIEW_TIME_ZONE": "Australia/Sydney",
      ]
    ).configuration
    let schedule = try #require(configuration.cameras.first?.schedules.first)
    let times = try Schedule(every: 90, at: ["12:00", "sunset-1h"], between: ["06:00", "sunset+30m"])
    #expect(schedule.times == times)
    #expect(schedule.destinations == ["my-bucket"])
    #expect(configuration.snapshots.stores.first?.secretKey == "5ECRETvariable")
    #expect(configuration.place == Place(latitude: -33.9, longitude: 151.2))
    #expect(configuration.timeZone == "Australia/Sydney")
  }

  @Test("descriptions contain no secrets")
  func descriptions() throws {
    let configuration = try everything()
    for store in configuration.snapshots.stores {
      #expect("\(store)" == "\(store.kind.rawValue) \(store.url)")
      #expect(!String(reflecting: store).contains("5ECRET"))
    }
    #expect(!"\(configuration.snapshots)".contains("5ECRET"))
  }

  // MARK: - Mistakes

  @Test(
    "a mistake in a schedule is reported with its place, its key and what is accepted",
    arguments: [
      ("{every: 90m1}", "every: '90m1' is not a time above 0"),
      ("{every: 0s}", "every: '0s' is not a time above 0"),
      ("{every: 7h}", "every: '7h' must be from 1s to 1h, or divide a day, such as 2h, 6h, 1d"),
      ("{every: 2d}", "every: '2d' must be from 1s to 1h, or divide a day"),
      ("{every: 1.5s}", "every: '1.5s' is not a whole number of seconds"),
      ("{every: 500ms}", "every: '500ms' is not a whole number of seconds"),
      ("{at: [25:00]}", "at: '25:00' is not a time of day, such as 06:00"),
      ("{at: [noon]}", "at: 'noon' is not a time of day"),
      ("{at: [sunset+13h]}", "at: 'sunset+13h': the offset must be at most 12h"),
      ("{at: [24:00]}", "at: 24:00 is only for the end of a window: use 00:00"),
      ("{days: [mon]}", "cameras.a.schedules.x: needs every or at"),
      ("{at: [12:00], between: [06:00, 07:00]}", "between: needs every"),
      ("{every: 60s, between: [06:00]}", "between: must be two times of day, such as"),
      ("{every: 60s, between: [24:00, 06:00]}", "between: 24:00 is only for the end of a window"),
      ("{every: 60s, days: [Monday]}", "days: 'Monday' is not one of mon, tue, wed, thu, fri, sat, sun"),
      ("{every: 60s, views: [nope]}", "views: no view 'nope' (known: main)"),
      ("{every: 60s, name: all}", "name: 'all' is not one of sequence, latest, both"),
      ("{every: 60s, to: [bucket]}", "to: 'bucket' is not configured (there are: folder)"),
      ("{every: 60s, to: [webhook]}", "to: 'webhook' is not configured (there are: folder)"),
      ("{every: 60s, offline: last}", "offline: 'last' is not one of skip, placeholder"),
      ("{evry: 60s}", "evry: unknown key; did you mean 'every'?"),
    ])
  func schedule(text: String, expected: String) throws {
    let problems = try folder.problems(
      """
      snapshots: {folder: {path: pictures}}
      cameras: {a: {source: "pattern:", schedules: {x: \(text)}}}
      """)
    let found = problems.filter { $0.contains(expected) && $0.contains("cameras.a.schedules.x") }
    #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("2:") }, "\(problems)")
  }

  @Test("a schedule is reported if it has no destination, if its name is invalid, or if it needs the place")
  func otherMistakes() throws {
    func problems(_ schedules: String, _ more: String = "snapshots: {folder: {path: pictures}}\n") throws
      -> [String]
    {
      try folder.problems("\(more)cameras: {a: {source: \"pattern:\", schedules: {\(schedules)}}}")
    }
    let none = try problems("x: {every: 60s, to: [folder]}", "")
    #expect(none.count == 1 && none[0].contains("cameras.a.schedules.x: has no destination: set"), "\(none)")
    for name in ["b d", "-b", "ä", String(repeating: "b", count: 65)] {
      let found = try problems("'\(name)': {every: 60s}")
      #expect(found.count == 1, "\(found)")
      #expect(
        found.first?.contains(
          "cameras.a.schedules.\(name): a schedule's name has 1 to 64 letters, digits, -, _ or .,") == true,
        "\(found)")
    }
    #expect(try problems("each.hour_2-b: {every: 60s}") == [])
    let sun = try problems("x: {at: [12:00, sunset]}, y: {every: 60s, between: [sunrise+1h, 12:00]}")
    #expect(
      sun.count == 2 && sun[0].contains("x.at: 'sunset' needs place, the latitude and longitude")
        && sun[1].contains("y.between: 'sunrise+1h' needs place"), "\(sun)")
    let place = "place: \"52,13\"\nsnapshots: {folder: {path: pictures}}\n"
    #expect(try problems("x: {at: [sunset]}", place) == [])
  }

  @Test(
    "a mistake in a store is reported with its place, its key and what is accepted",
    arguments: [
      ("mqtt: {put: 'http://x/'}", "stores.mqtt: a store's name must be 1 to 32 letters"),
      ("'a b': {put: 'http://x/'}", "stores.a b: a store's name must be"),
      ("a: {s3: 'https://u:5ECRET@h/b'}", "stores.a.s3: contains credentials: set user and password"),
      ("a: {s3: 'https://h/b', secret-key: 5ECRET}", "stores.a: needs access-key"),
      ("a: {s3: 'https://h/b', access-key: K}", "stores.a: needs secret-key, or secret-key-file"),
      (
        "a: {s3: 'https://h/b', access-key: K/2, secret-key: 5ECRET}",
        "stores.a.access-key: 'K/2' is not printable ASCII"
      ),
      (
        "a: {s3: 'https://h/b', access-key: K, secret-key: 5ECRET, token: 5ECRET}",
        "stores.a.token: is for a store with put only"
      ),
      (
        "a: {s3: 'https://h/b', access-key: K, secret-key-file: gone}",
        "stores.a.secret-key-file: no such file"
      ),
      ("a: {put: 'http://h/', region: x}", "stores.a.region: is for a store with s3 only"),
      ("a: {put: 'ftp://h/'}", "stores.a.put: is not a URL that begins with http:// or https://"),
      (
        "a: {put: 'http://h/a?b'}",
        "stores.a.put: must be a URL with a port up to 65535, no query, and a path of letters"
      ),
      (
        "a: {put: 'http://h/a#b'}",
        "stores.a.put: must be a URL with a port up to 65535, no query, and a path of letters"
      ),
      (
        "a: {put: 'http://h/ä'}",
        "stores.a.put: must be a URL with a port up to 65535, no query, and a path of letters"
      ),
      ("a: {put: 'http://h/', user: u}", "stores.a: user and password must be set together"),
      ("a: {put: 'http://h/', password: 5ECRET}", "stores.a: user and password must be set together"),
      (
        "a: {put: 'http://h/', user: u, password: 5ECRET, token: 5ECRET}",
        "stores.a.token: conflicts with user"
      ),
      ("a: {put: 'http://h/', token: '5ECRET 2'}", "stores.a.token: a token must be printable ASCII"),
      ("a: {attempts: 3}", "stores.a: has neither s3 nor put"),
      ("a: {put: 'http://h/', s3: 'http://h/b'}", "stores.a: has both s3 and put: set one of them"),
      ("a: {put: 'http://h/', attempts: 0}", "stores.a.attempts: '0' is not a whole number from 1 to 100"),
      ("a: {put: 'http://h/', capacity: 0}", "stores.a.capacity: '0' is not a whole number from 1 to"),
    ])
  func store(text: String, expected: String) throws {
    let problems = try folder.problems("snapshots: {stores: {\(text)}}")
    #expect(problems.count { $0.contains("snapshots." + expected) } == 1, "\(problems)")
    #expect(!problems.contains { $0.contains("5ECRET") }, "\(problems)")
  }

  @Test(
    "a mistake in the place or the time zone is reported",
    arguments: [
      ("place: '91, 3'", "1:8: place: '91, 3': the latitude comes first and must be from -90 to 90"),
      ("place: '13, 181'", "place: '13, 181': the longitude must be from -180 to 180"),
      ("place: Berlin", "place: 'Berlin' is not LATITUDE, LONGITUDE in degrees"),
      ("time-zone: Mars/One", "1:12: time-zone: no time zone 'Mars/One' in"),
      ("time-zone: ../zoneinfo/UTC", "time-zone: no time zone '../zoneinfo/UTC'"),
      ("time-zone: /etc/passwd", "time-zone: no time zone '/etc/passwd'"),
      ("time-zone: ''", "time-zone: "),
      // A folder, and a file that is not a time zone: the C library would use UTC.
      ("time-zone: Europe", "time-zone: no time zone 'Europe'"),
      ("time-zone: zone.tab", "time-zone: no time zone 'zone.tab'"),
    ])
  func service(text: String, expected: String) throws {
    let problems = try folder.problems(text)
    #expect(problems.count == 1 && problems.allSatisfy { $0.contains(expected) }, "\(problems)")
  }

  @Test("`UTC` is a time zone")
  func utc() throws { #expect(try folder.load("time-zone: UTC").configuration.timeZone == "UTC") }
}
