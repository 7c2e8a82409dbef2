// When somebody is told of a camera: once for each state and each reason, however often it is tried again.
import Synchronization
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("WatchedCamera")
struct WatchedCameraTests {
  private static let start = CaptureInstant.second(1000)

  private static func lost(_ reason: String) -> SourceStatus {
    var status = SourceStatus(.lost, since: start)
    status.reason = reason
    return status
  }

  /// What is told of a camera that is tried again every five seconds for `minutes`: open for one of them, then closed.
  private static func told(minutes: Int, _ reason: (Int) -> String) -> [CameraReport] {
    var camera = WatchedCamera()
    var told: [CameraReport] = []
    for tick in 0..<minutes * 240 {
      let now = start + .milliseconds(250 * tick)
      let status: SourceStatus? =
        switch tick % 20 {
        case 0: SourceStatus(.opening, since: now)
        case 1...4: lost(reason(tick / 20))
        default: nil
        }
      camera.update(status, nil, 0, at: now)
      if tick % 20 == 2 {
        camera.proved(SourceError(.unavailable, path: "camera", reason: reason(tick / 20)), at: now)
      }
      if let report = camera.takeReport() { told.append(report) }
      #expect(tick < 1 || camera.report.state == .lost)
    }
    return told
  }

  @Test("a lost camera is reported once, and its state stays lost during retries")
  func away() {
    let told = Self.told(minutes: 60) { _ in "is not there" }
    #expect(told.map(\.state) == [.opening, .lost])
    #expect(told.last?.reason == "is not there")
  }

  @Test("two alternating reasons are reported once each, and endless new reasons give only 9 reports")
  func reasons() {
    #expect(Self.told(minutes: 60) { ["is not there", "is busy"][$0 % 2] }.count == 3)
    #expect(Self.told(minutes: 60) { "failed for the \($0). time" }.count == 9)
  }

  @Test("a camera is reported as lost, live, idle and lost again, and a frame clears its failure")
  func back() {
    var camera = WatchedCamera()
    var told: [SourceState] = []
    func see(_ status: SourceStatus?, after seconds: Int) {
      camera.update(status, nil, 0, at: Self.start + .seconds(seconds))
      if let report = camera.takeReport() { told.append(report.state) }
    }

    see(Self.lost("is not there"), after: 0)
    #expect(camera.failure == "is not there")
    see(nil, after: 1)
    #expect(camera.failure == "is not there")
    see(SourceStatus(.live, since: Self.start + .seconds(2)), after: 2)
    #expect(camera.failure == nil)
    see(nil, after: 3)
    #expect(camera.failure == nil)
    see(Self.lost("is not there"), after: 4)
    #expect(told == [.lost, .live, .idle, .lost])
  }

  @Test(
    "a lost camera becomes idle after a minute without a retry, or at once after a good probe")
  func forgotten() {
    var camera = WatchedCamera()
    camera.update(Self.lost("is not there"), nil, 0, at: Self.start)

    camera.update(nil, nil, 0, at: Self.start + .seconds(59))
    #expect(camera.report.state == .lost)

    camera.update(nil, nil, 0, at: Self.start + .seconds(61))
    #expect(camera.report.state == .idle)

    camera.update(Self.lost("is not there"), nil, 0, at: Self.start + .seconds(70))
    camera.proved(nil, at: Self.start + .seconds(71))
    camera.update(nil, nil, 0, at: Self.start + .seconds(72))
    #expect(camera.report.state == .idle && camera.failure == nil)
  }

  @Test("a failure is named before the first status: no frame yet, opening, or the probe's error")
  func untold() {
    var camera = WatchedCamera()
    #expect(camera.failure == "has not delivered a frame yet")
    camera.update(SourceStatus(.opening, since: Self.start), nil, 0, at: Self.start)
    #expect(camera.failure == "is opening")
    camera.proved(
      SourceError(.unavailable, path: "camera", reason: "delivered no picture within 5 s"), at: Self.start)
    #expect(camera.failure == "delivered no picture within 5 s")
  }

  @Test(
    "a required camera that fails is reopened repeatedly and reported as lost once", .timeLimit(.minutes(15)))
  func service() async throws {
    var camera = CameraConfiguration(name: "gone", source: "exec:exit 3")
    // A process that starts slowly has not stalled.
    (camera.options.live.stallsAfter, camera.options.live.reconnectsAfter) = (
      allTheTimeThereIs, allTheTimeThereIs
    )
    let registry = try await CameraRegistry(
      ServerConfiguration(cameras: [camera]), logger: LogRecords().logger,
      options: PreviewSession.Options(linger: .zero))
    let told = Mutex<[SourceState]>([])
    let watch = CameraWatch(registry, logger: LogRecords().logger, provesEvery: .milliseconds(100)) {
      _, report in
      told.withLock { $0.append(report.state) }
    }

    let running = Task { try await watch.run() }
    // Each try that finds it closed opens it.
    let source = registry.cameras[0].source
    await until { registry.session[source]?.statistics.opens ?? 0 >= 3 }
    running.cancel()
    _ = await running.result

    // It may be seen before it is tried, while it is, and between its closing and the end of that try.
    let states = told.withLock { $0 }
    #expect(states.drop { $0 == .idle || $0 == .opening } == [.lost], "\(states)")
    #expect(watch.failing.map(\.camera) == ["gone"])
    // Which of its troubles was seen last, nobody knows: that its output was empty, its status, that no picture came in time.
    for (_, reason) in watch.failing {
      #expect(reason != WatchedCamera.notTried && reason != "is opening")
      #expect(!reason.contains("Cancellation"))
    }

    await registry.session.close()
  }
}
