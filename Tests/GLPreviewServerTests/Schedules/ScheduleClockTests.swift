// Schedules by a clock that the test sets: what is taken, missed and reported, and when destinations are slow or fail.
import Dispatch
import Foundation
import Hummingbird
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

extension ScheduleServiceTests {
  // MARK: - Moments

  @Test(
    "moments over which the clock is set are missed, which is logged once; the next one is taken",
    .timeLimit(.minutes(15)))
  func clockSet() async throws {
    try await withTemporaryFolder { folder in
      let door = Self.camera("door", [Self.schedule { $0.times.every = 60 }])
      let stage = try await Self.withStage(Self.configuration([door], in: folder)) { stage in
        #expect(stage.next == 60)
        stage.set(60)
        await until { stage.counts == [.taken: 1] }
        #expect(stage.last == 60 && stage.reason == nil)
        stage.set(3690)
        await until { stage.counts == [.taken: 1, .missed: 60] }
        #expect(stage.last == 3660 && stage.reason == "the machine or its clock passed over it")
        stage.set(3720)
        await until { stage.counts == [.taken: 2, .missed: 60] }
        #expect(stage.last == 3720 && stage.reason == nil && stage.next == 3780)
        // The clock was wrong, and moments come again.
        stage.set(119)
        await until { stage.next == 120 }
        stage.set(120)
        await until { stage.counts == [.taken: 3, .missed: 60] }
        await until { Self.sequence(folder).count == 3 }
      }
      #expect(try Self.moments(Self.sequence(folder)).map { $0 - Stage.noon } == [60, 120, 3720])
      let lines = stage.records.lines.filter { $0.hasPrefix("scheduled snapshot") }
      #expect(lines.count == 2 && lines.first?.contains("count=60") == true, "\(lines)")
      #expect(lines.first?.hasPrefix("scheduled snapshot missed: ") == true)
      #expect(lines.last?.hasPrefix("scheduled snapshots resumed: ") == true)
    }
  }

  @Test(
    "the picture of a moment is captured after it; a moment without a frame before the next one has failed")
  func freshness() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      let stage = try await Self.withStage(Self.configuration([Self.scripted()], in: folder), of: source) {
        stage in
        try source.give(50)
        try await source.took(1)
        await Self.beginMoment(stage)
        stage.set(3)
        await until { stage.counts == [.failed: 1] }
        #expect(stage.last == 2 && stage.reason == "no frame was captured in time")
        try await until {
          // Again, because the moment may not be waiting for a frame yet.
          try source.give(200)
          return stage.counts == [.failed: 1, .taken: 1]
        }
        await until { Self.files(folder).count == 1 }
      }
      let moments = try Self.moments(Self.sequence(folder)).map { $0 - Stage.noon }
      #expect(moments == [3], "\(stage.records.lines)")
      let file = try #require(Self.files(folder).first)
      let grey = try JPEGDecoder.decode(Self.bytes(folder, file), maximumPixels: 1 << 20).bytes[0]
      #expect(abs(Int(grey) - 200) < 8)
    }
  }

  @Test("a frame that is captured more than 10 seconds after its moment is not its picture")
  func late() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      var door = Self.scripted()
      door.schedules = [Self.schedule { $0.times.every = 60 }]
      let stage = try await Self.withStage(Self.configuration([door], in: folder), of: source) { stage in
        stage.set(60)
        await until { stage.scheduler.inProgressCount == 1 }
        stage.set(75)
        try await until {
          try source.give(200)
          return stage.counts == [.failed: 1]
        }
        #expect(stage.last == 60 && stage.reason == "no frame was captured in time")
        stage.set(120)
        try await until {
          try source.give(200)
          return stage.counts == [.failed: 1, .taken: 1]
        }
        await until { !Self.files(folder).isEmpty }
      }
      let moments = try Self.moments(Self.sequence(folder)).map { $0 - Stage.noon }
      #expect(moments == [120], "\(stage.records.lines)")
    }
  }

  @Test(
    "if each second moment has no picture because a camera is slow, the log has no ends without beginnings")
  func logged() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      let stage = try await Self.withStage(Self.configuration([Self.scripted()], in: folder), of: source) {
        stage in
        for moment in [2, 4, 6, 8] {
          stage.set(moment)
          await until { stage.next == moment + 1 }
          stage.set(moment + 1)
          await until { stage.next == moment + 2 }
          try await until {
            try source.give(100)
            return stage.counts.values.reduce(0, +) == moment
          }
        }
      }
      let (missed, resumed) = (
        stage.records.messages.count { $0.hasPrefix("scheduled snapshot ") },
        stage.records.messages.count { $0 == "scheduled snapshots resumed" }
      )
      #expect(resumed <= missed, "\(missed) missed or failed, \(resumed) resumed")
    }
  }

  @Test("a moment in progress when a reload removes its camera is not reported")
  func removed() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      let configuration = Self.configuration([Self.scripted()], in: folder)
      let stage = try await Self.withStage(configuration, of: source) { stage in
        await Self.beginMoment(stage)
        var other = stage.parts.configuration.configuration
        other.cameras = [Self.camera("yard", [])]
        try await stage.parts.apply(other)
        await until { stage.scheduler.inProgressCount == 0 }
      }
      let lines = stage.records.lines.filter { $0.hasPrefix("scheduled snapshot") }
      #expect(lines == [])
      let results = stage.parts.metrics.text.split(separator: "\n").filter {
        $0.hasPrefix("glpreview_scheduled_snapshots_total{")
      }
      #expect(results == [])
    }
  }

  /// Returns while a moment waits for a frame.
  private static func beginMoment(_ stage: Stage) async {
    stage.set(2)
    await until { stage.scheduler.inProgressCount == 1 }
  }

  @Test("a moment in progress when a reload replaces its camera is taken of the new one, and counts go on")
  func replaced() async throws {
    try await withTemporaryFolder { folder in
      let (old, new) = (CountingCamera(), CountingCamera())
      let stage = try await Self.withStage(
        Self.configuration([Self.scripted()], in: folder),
        makeSource: { ($0 == "script" ? old : new).source(named: $1, $2) }
      ) { stage in
        await Self.beginMoment(stage)
        var other = stage.parts.configuration.configuration
        other.cameras[0].source = "another"
        try await stage.parts.apply(other)
        try await until {
          // Again, because the camera may not be open yet.
          try new.give(150)
          return stage.counts == [.taken: 1]
        }
        await until { Self.files(folder).count == 1 }
      }
      let file = try #require(Self.files(folder).first)
      let grey = try JPEGDecoder.decode(Self.bytes(folder, file), maximumPixels: 1 << 20).bytes[0]
      #expect(abs(Int(grey) - 150) < 8)
      #expect(!stage.records.messages.contains("scheduled snapshot failed"), "\(stage.records.lines)")
    }
  }

  @Test("a moment in progress when a reload changes its schedule is stored under the new name")
  func renamed() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      let stage = try await Self.withStage(Self.configuration([Self.scripted()], in: folder), of: source) {
        stage in
        await Self.beginMoment(stage)
        var other = stage.parts.configuration.configuration
        other.cameras[0].schedules = [Self.schedule { $0.naming = .latest }]
        try await stage.parts.apply(other)
        try await until {
          // Again, because the moment may not be waiting for a frame yet.
          try source.give(200)
          return stage.counts == [.taken: 1]
        }
        await until { !Self.files(folder).isEmpty }
      }
      #expect(Self.files(folder) == ["latest-main.jpg"], "\(stage.records.lines)")
    }
  }

  @Test("a moment in progress when the service ends is not reported as failed")
  func ending() async throws {
    try await withTemporaryFolder { folder in
      let source = CountingCamera()
      let stage = try await Self.withStage(Self.configuration([Self.scripted()], in: folder), of: source) {
        stage in
        await Self.beginMoment(stage)
      }
      #expect(stage.counts[.failed] == nil, "\(stage.records.lines)")
      #expect(!stage.records.messages.contains("scheduled snapshot failed"))
    }
  }

  // MARK: - Destinations that are slow or fail

  @Test("a disk that hangs delays neither stores nor the next moments")
  func hangingDisk() async throws {
    let receiver = PictureStoreTests.Receiver()
    let router = Router(context: ServiceContext.self)
    router.put("/cams/**") { request, _ in try await receiver.answer(to: request) }
    try await withTemporaryFolder { folder in
      try await withServer(of: router) { server in
        let configuration = Self.configuration([Self.camera()], in: folder) {
          $0.snapshots.stores = [Self.store(server.port)]
        }
        _ = try await Self.withStage(configuration) { stage in
          let isReleased = DispatchSemaphore(value: 0)
          defer { isReleased.signal() }
          let disk = try #require(stage.parts.core.events.folder)
          disk.queue.async { isReleased.wait() }
          // More moments than snapshots of schedules are queued for the disk.
          for moment in 2...12 {
            stage.set(moment)
            await until { stage.counts == [.taken: moment - 1] && stage.scheduler.inProgressCount == 0 }
          }
          await until { receiver.names.count == 11 }
        }
        #expect(Set(receiver.names).count == 11)
      }
    }
  }

  @Test("if a picture of a snapshot can't be encoded, no destination gets any of its pictures")
  func unencodable() async throws {
    try await withTemporaryFolder { folder in
      let views = [ServedView(), Self.view("face")]
      // Nothing listens there, and nothing may be sent there.
      let configuration = Self.configuration([Self.camera(views: views)], in: folder) {
        $0.snapshots.stores = [Self.store(1)]
      }
      _ = try await Self.withStage(configuration) { stage in
        let served = stage.parts.registry.served
        let targets = try #require(served[camera: "door"]).views
        // A JPEG has at most 65500 pixels a side.
        let sizes = [Size(width: 16, height: 16), Size(width: 66_000, height: 1)]
        let snapshot = Snapshot(
          camera: "door", sequence: 1, timestamp: .start,
          pictures: zip(targets, sizes).map { target, size in
            let grey = [UInt8](repeating: 128, count: 3 * size.pixelCount)
            return RenderedPicture(
              name: target.name, picture: Picture(tight: size, format: .ycbcr(.yuv444), bytes: grey),
              PictureKey(sequence: 0), timestamp: .start)
          })
        await #expect(throws: (any Error).self) {
          try await stage.scheduler.send(
            TakenSnapshot(snapshot: snapshot, views: targets), targets.map { PictureRight($0, in: served) },
            to: ["folder", "web"], .both, Stage.noon)
        }
        #expect(stage.scheduler.stores.map(\.status) == [DeliveryQueue.Status()])
        await stage.parts.core.events.folder?.flush()
        #expect(Self.files(folder) == [])
      }
    }
  }

  @Test("the state of schedules can be read while moments are counted", .oneProcessAtATime)
  func counting() async throws {
    let (isSlow, isAsked, isReleased) = (Watched(false), Watched(false), DispatchSemaphore(value: 0))
    // It blocks a thread of Swift's pool.
    let clock = LocalClock { _ in
      if isSlow.value {
        isAsked.update { $0 = true }
        isReleased.wait()
        isReleased.signal()
      }
      return 0
    }
    try await withTemporaryFolder { folder in
      let door = Self.camera("door", [Self.schedule { $0.times.every = 86400 }])
      _ = try await Self.withStage(Self.configuration([door], in: folder), clock: clock) { stage in
        defer { isReleased.signal() }
        #expect(stage.next == 43200)
        isSlow.update { $0 = true }
        stage.set(10 * 86400)
        await until { isAsked.value }
        #expect(stage.next == 43200 && stage.counts == [:])
        isReleased.signal()
        await until { stage.counts == [.missed: 10] }
      }
    }
  }
}
