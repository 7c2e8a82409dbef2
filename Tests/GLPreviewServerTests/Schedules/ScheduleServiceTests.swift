// Schedules of a whole service: the files and messages that they make, and the results that they report.
//
// The clock is real where a service runs. A starved machine misses moments, so nothing here depends on how many are taken.
import Foundation
import GLPreview
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Schedules at a service", .timeLimit(.minutes(15)))
struct ScheduleServiceTests {
  // MARK: - Where pictures go

  @Test("the folder gets the named views under the name of each moment, and as `latest`")
  func folder() async throws {
    try await withTemporaryFolder { folder in
      let schedule = Self.schedule { ($0.views, $0.naming) = (["main"], .both) }
      let door = Self.camera(views: [ServedView(), Self.view("face")], [schedule])
      let start = Int(WallTime.now.sinceEpoch.components.seconds)
      try await withService(Self.configuration([door], in: folder)) { service in
        await until { Self.sequence(folder).count >= 3 }
        // The newest picture and `latest` are written one after the other.
        await until {
          guard let newest = Self.sequence(folder).last, let picture = try? Self.bytes(folder, newest) else {
            return false
          }
          return (try? Self.bytes(folder, "latest-main.jpg")) == picture
        }
        let metrics = try await service.get("/metrics").text
        #expect(metrics.contains(#"schedule="second",result="taken""#))
      }
      let moments = try Self.moments(Self.sequence(folder))
      #expect(moments.count >= 3 && moments.allSatisfy { $0 >= start })
      try Self.expectMoments(in: folder)
      #expect(Self.files(folder).allSatisfy { $0.hasSuffix("-main.jpg") })
      for file in Self.files(folder) { #expect(try JPEGProbe(Self.bytes(folder, file)).width == 64) }
    }
  }

  @Test("`latest` alone keeps one picture of each view")
  func latest() async throws {
    try await withTemporaryFolder { folder in
      let door = Self.camera(
        views: [ServedView(), Self.view("face")], [Self.schedule { $0.naming = .latest }])
      try await withService(Self.configuration([door], in: folder)) { service in
        var before: [UInt8]?
        // It changes.
        await until {
          guard let bytes = try? Self.bytes(folder, "latest-face.jpg") else { return false }
          defer { before = before ?? bytes }
          return before != nil && before != bytes
        }
        try await until { try await Self.schedule(service).taken >= 2 }
      }
      #expect(Self.files(folder) == ["latest-face.jpg", "latest-main.jpg"])
      #expect(try JPEGProbe(Self.bytes(folder, "latest-face.jpg")).width == 32)
    }
  }

  @Test("the webhook gets an event of each view, and only if it is named; the event log gets none")
  func webhook() async throws {
    let receiver = WebhookTests.Receiver([])
    let router = Router(context: ServiceContext.self)
    router.post("/hook") { request, _ in try await receiver.answer(to: request) }
    try await withTemporaryFolder { folder in
      try await withServer(of: router) { server in
        let door = Self.camera(
          views: [ServedView(), Self.view("face")], [Self.schedule { $0.destinations = ["webhook"] }])
        let yard = Self.camera("yard", [Self.schedule { $0.destinations = ["folder"] }])
        let configuration = Self.configuration([door, yard], in: folder) {
          $0.snapshots.webhook = WebhookConfiguration(url: "http://localhost:\(server.port)/hook")
        }
        try await withService(configuration) { service in
          let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["snapshot"]))
          func received(_ view: String) -> Int {
            receiver.bodies.count { $0.contains(#""view":"\#(view)""#) && $0.contains(#""camera":"door""#) }
          }
          await until { received("main") >= 2 && received("face") >= 2 }
          await until { Self.sequence(folder, "main", "yard").count >= 2 }
          if case .event(let event) = await events.next(within: .zero) {
            Issue.record("the log has \(String(buffer: event.text))")
          }
        }
      }
      #expect(Self.files(folder) == [])
    }
    #expect(receiver.received.allSatisfy { $0.fields[named: "X-GLPreview-Event"] == "snapshot" })
    #expect(!receiver.bodies.contains { $0.contains("yard") })
  }

  @Test("a store gets each view under the name of its moment, and as `latest`")
  func store() async throws {
    let receiver = PictureStoreTests.Receiver()
    let router = Router(context: ServiceContext.self)
    router.put("/cams/**") { request, _ in try await receiver.answer(to: request) }
    try await withServer(of: router) { server in
      let door = Self.camera(views: [ServedView(), Self.view("face")], [Self.schedule { $0.naming = .both }])
      let configuration = Self.configuration([door]) { $0.snapshots.stores = [Self.store(server.port)] }
      try await withService(configuration) { service in
        await until {
          ["main", "face"].allSatisfy { view in receiver.names.count { $0.hasPrefix("door/\(view)/") } >= 6 }
        }
        try await until { (try await Self.listing(service).stores?.first?.sent ?? 0) >= 12 }
        #expect(
          try await service.get("/metrics").text.contains(
            #"glpreview_uploads_total{store="web",result="done"}"#))
      }
    }
    let form = /door\/(main|face)\/(latest|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z)\.jpg/
    #expect(receiver.names.allSatisfy { $0.wholeMatch(of: form) != nil }, "\(receiver.names)")
    for view in ["main", "face"] {
      let stamped = receiver.names.filter { $0.hasPrefix("door/\(view)/2") }
      #expect(!stamped.isEmpty && receiver.names.contains("door/\(view)/latest.jpg"))
      for received in receiver.all where received.name.hasPrefix("door/\(view)/") {
        #expect(try JPEGProbe(received.body).width == (view == "main" ? 64 : 32))
      }
    }
  }

  // MARK: - Moments without a picture

  @Test("views that are switched off are left out; without others the moment is missed")
  func switchedOff() async throws {
    try await withTemporaryFolder { folder in
      let schedules = [Self.schedule("all"), Self.schedule("dark") { $0.views = ["off"] }]
      let door = Self.camera(views: [ServedView(), Self.view("off", isEnabled: false)], schedules)
      let records = LogRecords()
      try await withService(Self.configuration([door], in: folder), logger: records.logger) { service in
        try await until { try await Self.schedule(service, "all").taken >= 2 }
        // Or the machine passed over the last moment.
        try await until {
          try await Self.schedule(service, "dark").last?.reason == "its views are switched off"
        }
        let dark = try await Self.schedule(service, "dark")
        #expect(dark.taken == 0 && dark.failed == 0 && dark.missed > 0 && dark.last?.result == "missed")
        #expect(dark.views == ["off"])
        await until { !Self.sequence(folder).isEmpty }
      }
      #expect(Self.files(folder).allSatisfy { $0.hasSuffix("-main.jpg") })
      let lines = records.lines.filter {
        $0.hasPrefix("scheduled snapshot missed") && $0.contains("switched off")
      }
      #expect(
        lines.allSatisfy { $0.contains("camera=door") && $0.contains("schedule=dark") } && !lines.isEmpty)
    }
  }

  /// The text of the next event.
  private static func next(_ events: EventSubscription) async throws -> String {
    while true {
      switch await events.next(within: allTheTimeThereIs) {
      case .event(let event): return String(buffer: event.text)
      case .end: throw CancellationError()
      case .lost, .nothing: continue
      }
    }
  }

  @Test("while a camera is lost moments fail, with a reason, an event and no file; then pictures come again")
  func lost() async throws {
    let (source, records) = (try JPEGCamera(), LogRecords())
    try await withTemporaryFolder { folder in
      let configuration = Self.configuration([Self.camera(source: "script")], in: folder)
      let failed = try await withService(
        configuration, makeSource: { source.source(named: $1, $2) }, logger: records.logger
      ) { service in
        let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["schedule"]))
        try await until { try await Self.schedule(service).taken >= 1 }
        source.lose()
        var failed: Set<String> = []
        try await until {
          let schedule = try await Self.schedule(service)
          guard let last = schedule.last, last.result == "failed" else { return false }
          #expect(last.reason?.isEmpty == false && schedule.failed > 0)
          failed.insert(last.moment)
          return true
        }
        var text = ""
        repeat { text = try await Self.next(events) } while !text.contains(#""what":"failed""#)
        for member in [#""camera":"door""#, #""schedule":"second""#, #""reason":""#] {
          #expect(text.contains(member), "\(text)")
        }

        source.isLost.withLock { $0 = false }
        repeat { text = try await Self.next(events) } while !text.contains(#""what":"resumed""#)
        #expect(!text.contains("reason"), "\(text)")
        let taken = try await Self.schedule(service).taken
        try await until { try await Self.schedule(service).taken > taken }
        let metrics = try await service.get("/metrics").text
        for result in ["taken", "failed"] {
          let line =
            "glpreview_scheduled_snapshots_total{camera=\"door\",schedule=\"second\",result=\"\(result)\"}"
          #expect(metrics.contains(line))
        }
        return failed
      }
      // A moment that failed is never filled later.
      let names = failed.map { $0.replacing(":", with: "-").replacing("Z", with: ".000Z-main.jpg") }
      let (missing, found) = (try Self.moments(names), try Self.moments(Self.sequence(folder)))
      #expect(!missing.isEmpty && Set(missing).isDisjoint(with: found), "\(missing), \(found)")
      // Every picture shows the camera, before it was lost or since.
      try Self.expectMoments(in: folder)
    }
    #expect(
      records.lines.contains {
        $0.hasPrefix("scheduled snapshot failed: ") && $0.contains("camera=door") && $0.contains("reason=")
          && $0.contains("schedule=second")
      })
    #expect(records.messages.contains("scheduled snapshots resumed"))
  }

  @Test(
    "of a camera that is lost, `offline: placeholder` stores the picture that says so, and `skip` nothing")
  func offline() async throws {
    try await withTemporaryFolder { folder in
      let (shown, skipped) = (Self.schedule("shown") { $0.offline = .placeholder }, Self.schedule("skipped"))
      let cameras = [
        Self.camera("door", source: "exec:exit 3", [shown]),
        Self.camera("yard", source: "exec:exit 3", [skipped]),
      ]
      try await withService(Self.configuration(cameras, in: folder)) { service in
        await until { Self.sequence(folder).count >= 2 }
        try await until { try await Self.schedule(service, "shown").taken >= 2 }
        try await until { try await Self.schedule(service, "skipped", of: "yard").failed >= 2 }
        #expect(try await Self.schedule(service, "skipped", of: "yard").taken == 0)
      }
      for file in Self.files(folder) { #expect(try JPEGProbe(Self.bytes(folder, file)).width > 0) }
      #expect(Self.files(folder, "yard") == [])
    }
  }

  // MARK: - What a service reports

  @Test("/api/cameras has the schedules for each role, the stores for control only, and no secret")
  func members() async throws {
    let later = Self.schedule("later") { $0.times.every = 86400 }
    let plain = CameraConfiguration(name: "plain", source: Self.pattern)
    let configuration = Self.configuration([Self.camera("door", [Self.schedule(), later]), plain]) {
      var store = StoreConfiguration(name: "gone")
      (store.url, store.token, store.attempts) = ("http://127.0.0.1:1/cams", "5ECRET", 1)
      $0.snapshots.stores = [store]
      $0.access.tokens = [.init(secret: "look", role: .read), .init(secret: "change", role: .control)]
    }
    let (reader, controller) = ([("Authorization", "Bearer look")], [("Authorization", "Bearer change")])
    try await withService(configuration) { service in
      try await until {
        let listing = try await Self.listing(service, controller)
        return (listing.stores?.first?.failed ?? 0) >= 1
          && (listing.cameras.first?.schedules?.first?.taken ?? 0) >= 1
      }
      let listing = try await Self.listing(service, controller)
      let store = try #require(listing.stores?.first)
      #expect(listing.stores?.count == 1 && store.name == "gone" && store.sent == 0 && store.dropped >= 0)
      #expect(
        store.waiting >= 0 && store.problem?.isEmpty == false && store.problem?.contains("5ECRET") == false)

      let answer = try await service.get("/api/cameras", reader)
      #expect(!answer.text.contains("5ECRET") && !answer.text.contains("\"stores\""))
      let cameras = try answer.json(Listing.self).cameras
      #expect(cameras.map(\.name) == ["door", "plain"] && cameras[1].schedules == nil)
      let schedules = try #require(cameras[0].schedules)
      #expect(schedules.map(\.name) == ["second", "later"] && schedules.allSatisfy { $0.views == ["main"] })
      let form = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z/
      for schedule in schedules {
        #expect(try #require(schedule.next).wholeMatch(of: form) != nil)
        let count = schedule.taken + schedule.missed + schedule.failed
        #expect((schedule.last == nil) == (count == 0))
        if let last = schedule.last {
          #expect(last.moment.wholeMatch(of: form) != nil && (last.reason == nil) == (last.result == "taken"))
        }
      }
      #expect(schedules[0].taken > 0)

      let metrics = try await service.get("/metrics", reader).text
      for line in [
        #"glpreview_scheduled_snapshots_total{camera="door",schedule="second",result="taken"} "#,
        #"glpreview_uploads_total{store="gone",result="failed"} "#,
      ] { #expect(metrics.contains(line), "\(line)") }
    }
  }

  @Test("a reload begins and ends schedules, and others go on")
  func reload() async throws {
    try await withTemporaryFolder { folder in
      let (door, yard) = (Self.camera("door"), Self.camera("yard"))
      var idle = door
      idle.schedules = []
      let (first, second) = (
        Self.configuration([door, yard], in: folder), Self.configuration([idle, yard], in: folder)
      )
      try await withService(first) { service in
        await until { !Self.sequence(folder).isEmpty && !Self.sequence(folder, "main", "yard").isEmpty }
        let counted = try await Self.schedule(service, of: "yard").taken
        try await service.inside.apply(second)
        let end = Int(WallTime.now.sinceEpoch.components.seconds) + 1

        // The other camera has pictures of later moments.
        await until {
          (try? Self.moments(Self.sequence(folder, "main", "yard")).last).map { $0 > end + 2 } == true
        }
        #expect(try Self.moments(Self.sequence(folder)).allSatisfy { $0 <= end })
        let cameras = try await Self.listing(service).cameras
        #expect(cameras.first { $0.name == "door" }?.schedules == nil)
        // Counts go on, too.
        #expect(try await Self.schedule(service, of: "yard").taken > counted)

        let count = Self.sequence(folder).count
        try await service.inside.apply(first)
        await until { Self.sequence(folder).count > count }
      }
    }
  }

  @Test(
    "a reload logs that changed stores and the time zone need a restart, and no secret; the place needs none")
  func restart() async throws {
    let log = LogRecords()
    try await withService(Self.configuration([Self.camera("door", [])]), logger: log.logger) { service in
      var configuration = service.inside.configuration.configuration
      configuration.place = Place(latitude: 52.52, longitude: 13.4)
      try await service.inside.apply(configuration)
      #expect(!log.messages.contains { $0.hasPrefix("restart needed") })

      var store = StoreConfiguration(name: "web")
      (store.url, store.token) = ("http://127.0.0.1:1/cams", "5ECRET")
      configuration.snapshots.stores = [store]
      configuration.timeZone = "UTC"
      try await service.inside.apply(configuration)
      let lines = log.lines.filter { $0.hasPrefix("restart needed") }
      #expect(lines.count == 1 && lines.first?.contains("time-zone") == true, "\(lines)")
      #expect(lines.first?.contains("snapshots.stores") == true, "\(lines)")
      #expect(!log.lines.contains { $0.contains("5ECRET") })
    }
  }
}
