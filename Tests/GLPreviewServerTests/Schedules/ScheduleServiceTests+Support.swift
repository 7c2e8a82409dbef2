// Shared by the tests of schedules at a service: configurations, answers, files, and a clock that a test sets.
import Foundation
import GLPreview
import Hummingbird
import Logging
import PreviewCore
import ServiceLifecycle
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

extension ScheduleServiceTests {
  static let pattern = "pattern:counter,size=64x48,fps=20"

  static func schedule(
    _ name: String = "second", _ change: (inout ScheduleConfiguration) -> Void = { _ in }
  ) -> ScheduleConfiguration {
    var schedule = ScheduleConfiguration(name: name)
    schedule.times.every = 1
    change(&schedule)
    return schedule
  }

  static func view(_ name: String, isEnabled: Bool = true) -> ServedView {
    var view = ServedView(ViewConfiguration(name: name, width: 32))
    view.isEnabled = isEnabled
    return view
  }

  static func camera(
    _ name: String = "door", source: String = pattern, views: [ServedView] = [ServedView()],
    _ schedules: [ScheduleConfiguration] = [schedule()]
  ) -> CameraConfiguration {
    var camera = CameraConfiguration(name: name, source: source, views: views)
    camera.options.live.stallsAfter = allTheTimeThereIs
    camera.schedules = schedules
    return camera
  }

  static func configuration(
    _ cameras: [CameraConfiguration], in folder: URL? = nil,
    _ change: (inout ServerConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var configuration = ServerConfiguration(cameras: cameras)
    configuration.snapshots.folder = folder.map { FolderConfiguration(path: $0.path) }
    change(&configuration)
    return configuration
  }

  /// A store with PUT at a port of this machine.
  static func store(_ port: Int) -> StoreConfiguration {
    var store = StoreConfiguration(name: "web")
    store.url = "http://localhost:\(port)/cams"
    return store
  }

  // MARK: - Answers and files

  struct Listing: Decodable {
    struct Camera: Decodable {
      let name: String
      let schedules: [Schedule]?
    }

    struct Schedule: Decodable {
      struct Last: Decodable {
        let moment: String
        let result: String
        let reason: String?
      }

      let name: String
      let views: [String]
      let next: String?
      let taken: Int
      let missed: Int
      let failed: Int
      let last: Last?
    }

    struct Store: Decodable {
      let name: String
      let waiting: Int
      let sent: Int
      let failed: Int
      let dropped: Int
      let problem: String?
    }

    let cameras: [Camera]
    let stores: [Store]?
  }

  static func listing(
    _ service: RunningService, _ headers: [(String, String)] = []
  ) async throws -> Listing {
    try await service.get("/api/cameras", headers).json(Listing.self)
  }

  static func schedule(
    _ service: RunningService, _ name: String = "second", of camera: String = "door"
  ) async throws -> Listing.Schedule {
    let cameras = try await listing(service).cameras
    let schedules = try #require(cameras.first { $0.name == camera }?.schedules)
    return try #require(schedules.first { $0.name == name })
  }

  /// The pictures in a camera's folder, sorted.
  static func files(_ folder: URL, _ camera: String = "door") -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: camera).path)
    return (names ?? []).filter { $0.hasSuffix(".jpg") }.sorted()
  }

  static func bytes(_ folder: URL, _ file: String, _ camera: String = "door") throws -> [UInt8] {
    try Array(Data(contentsOf: folder.appending(path: "\(camera)/\(file)")))
  }

  /// The names in the sequence of a view, without `latest`.
  static func sequence(_ folder: URL, _ view: String = "main", _ camera: String = "door") -> [String] {
    files(folder, camera).filter { !$0.hasPrefix("latest-") && $0.contains("Z-\(view)") }
  }

  /// The moments in names, in seconds since 1970. Each is a whole second, and has one picture.
  static func moments(_ names: [String], _ view: String = "main") throws -> [Int] {
    try names.map { name in
      #expect(name.hasSuffix(".000Z-\(view).jpg"), "\(name)")
      let time = try #require(StampedFileName(camera: "door", file: name)?.time)
      return Int(time.sinceEpoch.components.seconds)
    }
  }

  /// The time of capture in a JPEG's EXIF, in seconds since 1970.
  static func captured(_ jpeg: [UInt8]) throws -> Double {
    // The time, the zone and the microseconds end with zeros, and have even lengths.
    let zone = try #require(jpeg.firstRange(of: Array("+00:00".utf8)))
    try #require(zone.lowerBound > 20 && zone.upperBound + 8 <= jpeg.count)
    let date = String(decoding: jpeg[(zone.lowerBound - 20)..<zone.lowerBound], as: UTF8.self)
    let micros = String(decoding: jpeg[(zone.upperBound + 2)..<(zone.upperBound + 8)], as: UTF8.self)
    let numbers = date.split { !$0.isNumber }.compactMap { Int($0) }
    try #require(numbers.count == 6)
    return Double(seconds(date) + numbers[5]) + Double(try #require(Int(micros))) / 1e6
  }

  /// Expects each picture of a view to be one of its moment or after it, and no two to be of the same time. The clocks of
  /// both times may differ by milliseconds.
  static func expectMoments(in folder: URL, _ view: String = "main", _ camera: String = "door") throws {
    let names = sequence(folder, view, camera)
    let moments = try moments(names, view)
    let times = try names.map { try captured(bytes(folder, $0, camera)) }
    for (moment, time) in zip(moments, times) { #expect(time > Double(moment) - 0.1, "\(names), \(times)") }
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(names), \(times)")
  }

  // MARK: - A clock that the test sets

  /// A scheduler of a service that answers no requests. Its clock stands still, a second after 12:00:00 at first.
  struct Stage: Sendable {
    let scheduler: Scheduler
    let parts: ServiceParts
    let records: LogRecords
    let time: Watched<Duration>
    let group: ServiceGroup

    static let noon = seconds("2026-11-30 12:00")

    /// Sets the clock to so many seconds after noon.
    func set(_ offset: Int) { time.update { $0 = .seconds(Self.noon + offset) } }

    var next: Int? { status?.next.map { $0 - Self.noon } }
    var counts: [ServiceMetrics.ScheduleResult: Int] { status?.record.counts ?? [:] }
    var last: Int? { status?.record.last.map { $0.moment - Self.noon } }
    var reason: String? { status?.record.last?.reason }

    private var status: (next: Int?, record: Scheduler.Record)? {
      parts.registry.served[camera: "door"].map { scheduler.status(of: "second", of: $0.configuration.name) }
    }
  }

  /// Runs `work` beside a scheduler, its stores, and the destinations of its service. Cameras are `source`, or what
  /// `makeSource` makes.
  static func withStage(
    _ configuration: ServerConfiguration, of source: CountingCamera? = nil,
    makeSource: CameraRegistry.SourceMaker? = nil, clock: LocalClock = TestZone.utc.clock,
    _ work: @escaping @Sendable (Stage) async throws -> Void
  ) async throws -> Stage {
    let (records, time) = (LogRecords(), Watched(Duration.seconds(Stage.noon + 1)))
    let make: CameraRegistry.SourceMaker =
      makeSource ?? { text, name, options in
        source?.source(named: name, options) ?? SessionSource(text, name: name, options: options)
      }
    let validated = try ValidatedConfiguration(configuration.patient())
    let parts = try await ServiceParts(validated, logger: records.logger, makeSource: make)
    let scheduler = Scheduler(
      parts.core, clock: clock, now: { WallTime(sinceEpoch: time.value) },
      storeTimes: .init(
        connects: allTheTimeThereIs, answers: allTheTimeThereIs, ends: allTheTimeThereIs))
    let services: [any Service] = [PictureStores(all: scheduler.stores), scheduler]
    let stage = Stage(
      scheduler: scheduler, parts: parts, records: records, time: time,
      group: ServiceGroup(services: parts.core.events.services + services, logger: records.logger))
    async let running: Void = stage.group.run()
    let result: Result<Void, any Error>
    do {
      await until { stage.next != nil }
      result = .success(try await work(stage))
    } catch { result = .failure(error) }
    await stage.group.triggerGracefulShutdown()
    try await running
    await parts.registry.session.close()
    try result.get()
    return stage
  }

  /// A camera whose pictures come when a test gives them.
  static func scripted() -> CameraConfiguration {
    var camera = camera(source: "script")
    camera.keepsWarm = true
    return camera
  }
}
