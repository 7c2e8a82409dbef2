// Everything at once and at random: readers that come and go, changes, stills, switches, failures; nobody is forgotten.
import Foundation
import PreviewCore
import Synchronization
import Testing

@testable import GLPreview

@Suite("Sessions under stress", .timeLimit(.minutes(15)))
struct SessionStressTests {
  /// A second and a half, unless GLPREVIEW_STRESS_SECONDS says another number.
  private static var length: Duration {
    .seconds(ProcessInfo.processInfo.environment["GLPREVIEW_STRESS_SECONDS"].flatMap { Double($0) } ?? 1.5)
  }

  private static let sources = ["one", "two"]
  private static let scene = Scene(
    size: Size(width: 32, height: 18), tiles: [Tile("one"), Tile("two")], labels: [Label(.time())])

  /// Until the time is up.
  private static func repeatedly(_ end: CaptureInstant, _ work: () async throws -> Void) async {
    while CaptureClock.now < end, !Task.isCancelled {
      // What is refused, cancelled or lost is tried again: that somebody waits for ever is what this is about.
      try? await work()
      await Task.yield()
    }
  }

  @Test("under random changes all readers get pictures, no camera opens twice, and close() ends all")
  func chaos() async throws {
    let cameras = Self.sources.map { _ in UnrulyCamera() }
    let session = try PreviewSession(
      zip(cameras, Self.sources).map { $0.source(named: $1) },
      options: .tested(linger: .milliseconds(2)))
    var previews = try (0..<4).map { index in
      try session.addPreview(
        ViewConfiguration(name: "view\(index)", width: 4 + 2 * index, height: 3), of: Self.sources[index % 2]
      ).preview
    }
    previews.append(try session.addScene(Self.scene).preview)
    let steady = try (0..<2).map { index in
      try session.addPreview(
        ViewConfiguration(name: "steady\(index)", width: 8, height: 6), of: Self.sources[index]
      ).preview
    }
    let end = CaptureClock.now + Self.length

    await withTaskGroup(of: Void.self) { group in
      for preview in previews + steady {
        for _ in 0..<3 { group.addTask { await Self.read(preview, until: end) } }
      }
      for preview in previews { group.addTask { await Self.change(preview, until: end) } }
      for source in Self.sources { group.addTask { await Self.switchOff(source, of: session, until: end) } }
      for _ in 0..<2 { group.addTask { await Self.takeSnapshots(of: session, until: end) } }
      group.addTask { await Self.addAndRemove(session, until: end) }
    }

    for camera in cameras { camera.calmDown() }
    for source in Self.sources { await session[source]?.setEnabled(true) }
    for preview in previews { preview.isEnabled = true }

    // Whoever reads now gets one picture after the other.
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for preview in previews + steady { group.addTask { try await Self.count(20, of: preview) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts == Array(repeating: 20, count: previews.count + steady.count))

    // These wait when it is closed.
    let readers = (previews + steady).map { preview in
      Task {
        do {
          for try await _ in preview.pictures {}
          return true
        } catch {
          return false
        }
      }
    }

    await session.close()
    for reader in readers { #expect(await reader.value) }
    for camera in cameras {
      #expect(!camera.isOpen)
      #expect(camera.mostOpen == 1, "of \(camera.opens)")
    }
  }

  /// A few pictures, and from the beginning; sometimes nobody waits for the next one.
  private static func read(_ preview: Preview, until end: CaptureInstant) async {
    await repeatedly(end) {
      let reader = Task {
        var left = Int.random(in: 1...20)
        for try await _ in preview.pictures {
          left -= 1
          if left == 0 || CaptureClock.now > end { return }
        }
      }
      if Int.random(in: 0..<3) == 0 {
        try await pause(.microseconds(Int.random(in: 0...5000)))
        reader.cancel()
      }
      // Switched off at the end, a preview has nothing for its reader.
      let timer = Task {
        try await pause(max(end - CaptureClock.now, .zero))
        reader.cancel()
      }
      _ = await reader.result
      timer.cancel()
    }
  }

  private static func change(_ preview: Preview, until end: CaptureInstant) async {
    await repeatedly(end) {
      try await pause(.milliseconds(Int.random(in: 0...10)))
      switch Int.random(in: 0..<4) {
      case 0: preview.isEnabled.toggle()
      case 1:
        let interval = Duration.milliseconds(Int.random(in: 0...8))
        preview.update { $0.updateEvery = interval }
      default:
        let size = Size(width: Int.random(in: 8...40), height: Int.random(in: 8...40))
        preview.update { $0.preferredSize = size }
      }
    }
  }

  private static func switchOff(
    _ source: String, of session: PreviewSession, until end: CaptureInstant
  ) async {
    await repeatedly(end) {
      try await pause(.milliseconds(Int.random(in: 0...100)))
      await session[source]?.setEnabled(false)
      if Bool.random() { try await pause(.milliseconds(Int.random(in: 0...5))) }
      await session[source]?.setEnabled(true)
    }
  }

  private static func takeSnapshots(of session: PreviewSession, until end: CaptureInstant) async {
    let modes: [SnapshotRequest.Mode] = [.newest, .newest(maxAge: .zero), .next, .still(settling: 1)]
    await repeatedly(end) {
      try await pause(.milliseconds(Int.random(in: 0...30)))
      let names = ["view0", "view1", "scene", "steady0"]
      let timeout = Duration.milliseconds(Int.random(in: 1...100))
      _ = try await session.snapshot(
        SnapshotRequest(
          modes.randomElement() ?? .next, of: names.randomElement().map { [$0] }, timeout: timeout))
    }
  }

  private static func addAndRemove(_ session: PreviewSession, until end: CaptureInstant) async {
    await repeatedly(end) {
      let preview =
        Bool.random()
        ? try session.addPreview(ViewConfiguration(name: "guest", width: 6, height: 6), of: "two").preview
        : try session.addScene(scene, name: "guest").preview
      let reader = Task { for try await _ in preview.pictures {} }
      try? await pause(.milliseconds(Int.random(in: 0...20)))
      session.remove(preview)
      try await reader.value
    }
  }

  private static func count(_ number: Int, of preview: Preview) async throws -> Int {
    var count = 0
    // The last failures may still be on their way.
    for _ in 0..<10 {
      do {
        for try await _ in preview.pictures {
          count += 1
          if count == number { return count }
        }
      } catch is SourceError {
        continue
      }
    }
    return count
  }
}
