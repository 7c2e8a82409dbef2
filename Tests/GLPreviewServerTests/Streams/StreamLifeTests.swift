// How long streams last: they end with what they show, and nobody is shown what is not to be seen any more.
import AsyncHTTPClient
import GLPreview
import Logging
import NIOCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Lifetime of streams", .timeLimit(.minutes(15)))
struct StreamLifeTests {
  private static let paths = ["/cameras/camera/main.mjpeg", "/cameras/camera/main.mjpeg?width=64"]
  /// With those of video, where it can be encoded.
  private static let all =
    paths + (hasEncoder ? ["/cameras/camera/main.mp4", "/cameras/camera/main.mp4?width=64"] : [])

  /// Opens streams, waits until each has shown something, does `change`, and waits until all have ended.
  private static func end(
    _ paths: [String], of service: RunningService, by change: () async throws -> Void
  ) async throws {
    let (begun, first) = AsyncStream.makeStream(of: String.self)
    let readers = paths.map { path in
      Task {
        do {
          for try await _ in try await service.openStream(path) { first.yield(path) }
        } catch is HTTPClientError {}
        first.yield(path)
      }
    }
    // A request that has no answer yet when its camera is replaced is answered by the new one, and does not end.
    var waiting = Set(paths)
    for await path in begun {
      waiting.remove(path)
      if waiting.isEmpty { break }
    }
    try await change()
    for reader in readers { try await reader.value }
  }

  @Test("switching off a view ends all its streams and returns 409 until it is switched on")
  func switchedOff() async throws {
    try await withService(StreamTests.configuration()) { service in
      let view = "/api/cameras/camera/views/main"
      try await Self.end(Self.all, of: service) { () async throws in
        #expect(try await service.send("PATCH", view, body: #"{"enabled": false}"#).status == 200)
      }

      for path in Self.all + ["/api/stream?view=camera/main"] {
        #expect(try await service.get(path).status == 409)
      }

      #expect(try await service.send("PATCH", view, body: #"{"enabled": true}"#).status == 200)
      for path in Self.paths { #expect(try await service.parts(path, 2).parts.count >= 2) }
    }
  }

  @Test("a stream of two views continues with one when the other is switched off")
  func oneOfSeveral() async throws {
    let views = [ServedView(), ServedView(ViewConfiguration(name: "small", width: 64))]
    try await withService(StreamTests.configuration(views)) { service in
      let body = try await service.openStream("/api/stream?view=camera/main&view=camera/small")
      var (reader, parts) = (PartReader(), [RunningService.Part]())
      var isOff = false

      for try await chunk in body {
        parts += reader.read(Array(chunk.readableBytesView))
        let names = Set(parts.suffix(8).compactMap { $0.headers["x-view"] })
        if !isOff, names.count == 2 {
          isOff = true
          let answer = try await service.send(
            "PATCH", "/api/cameras/camera/views/small", body: #"{"enabled": false}"#)
          #expect(answer.status == 200)
        }
        if isOff, parts.count >= 8, names == ["main"] { break }
      }

      #expect(isOff && Set(parts.suffix(8).compactMap { $0.headers["x-view"] }) == ["main"])
    }
  }

  @Test("replacing a camera ends its streams, and later streams show the new camera")
  func replaced() async throws {
    try await withService(StreamTests.configuration()) { service in
      var other = StreamTests.configuration()
      other.cameras[0].source = "pattern:smpte,size=64x36,fps=20"
      try await Self.end(Self.all, of: service) { try await service.inside.apply(other) }
      let sizes = try await Self.paths.asyncMap { try await service.parts($0, 2).parts.map(\.size) }
      #expect(sizes.map(Set.init) == [["64x36"], ["64x36"]])
    }
  }

  @Test("locking a view ends its streams with URL parameters, and new ones return 403")
  func locked() async throws {
    try await withService(StreamTests.configuration()) { service in
      var other = StreamTests.configuration()
      other.cameras[0].views[0].isLocked = true
      try await Self.end(Self.all.filter { $0.contains("?") }, of: service) {
        try await service.inside.apply(other)
      }
      #expect(try await service.get(Self.paths[1]).status == 403)
    }
  }

  @Test("a changed quality applies to running streams")
  func quality() async throws {
    var served = ServedView(ViewConfiguration(width: 320))
    served.quality = 95

    try await withService(StreamTests.configuration([served])) { service in
      var (reader, first) = (PartReader(), 0)
      for try await chunk in try await service.openStream("/cameras/camera/main.mjpeg") {
        guard let count = reader.read(Array(chunk.readableBytesView)).last?.jpeg.count else { continue }
        if first == 0 {
          first = count
          let path = "/api/cameras/camera/views/main"
          #expect(try await service.send("PATCH", path, body: #"{"quality": 5}"#).status == 200)
        }
        if count < first / 2 { return }
      }
      Issue.record("the stream ended")
    }
  }

  @Test("streams of other qualities count against the limit of ad hoc views")
  func manyQualities() async throws {
    var configuration = StreamTests.configuration()
    configuration.limits.adHocViews = 2

    try await withService(configuration) { service in
      let streams = service.inside.streams
      let target = try service.inside.registry.view(nil, of: nil)
      var subscriptions: [StreamSubscription] = []
      for quality in [80, 10, 20] {
        var wanted = target.served
        wanted.quality = quality
        subscriptions.append(try streams.join(target, as: wanted, every: .zero))
      }

      #expect(try await service.get("/cameras/camera/main.mjpeg?quality=30").status == 503)
      #expect(subscriptions.count == 3)
    }
  }

  @Test("Pace keeps its interval from the first picture on, also if one is late or missed")
  func pace() {
    var pace = Pace()
    #expect(pace.wait(at: .second(100), every: .seconds(2)) == .zero)
    pace.took(at: .second(100), every: .seconds(2))
    #expect(pace.wait(at: .second(101), every: .seconds(2)) == .seconds(1))

    // A little late: the next one is when it would have been.
    pace.took(at: .millisecond(102_100), every: .seconds(2))
    #expect(pace.wait(at: .millisecond(102_100), every: .seconds(2)) == .milliseconds(1900))

    // Much too late: one is left out.
    pace.took(at: .second(110), every: .seconds(2))
    #expect(pace.wait(at: .second(110), every: .seconds(2)) == .zero)

    // Somebody who wants more has come.
    #expect(pace.wait(at: .second(110), every: .zero) == .zero)
  }

  @Test(
    "with a frame interval a client gets the first picture at once and the second when due"
  )
  func watcherPace() async throws {
    let parts = try await ServiceParts(
      ValidatedConfiguration(StreamTests.configuration()),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let target = try parts.registry.view(nil, of: nil)
    let subscription = try parts.streams.join(target, as: target.served, every: .seconds(1))
    let part = try await subscription.hub.firstPart(
      since: subscription.since, within: allTheTimeThereIs)
    // It has no channel, and keeps what it is given.
    let connection = StreamConnection(cutOffAfter: .seconds(1), counting: parts.metrics)
    let watcher = StreamWatcher(subscription, every: .seconds(1), of: connection)

    #expect(watcher.offer(part, at: .second(10)) == .kept)
    #expect(watcher.offer(part, at: .millisecond(10_050)) == .notDue)
    #expect(watcher.offer(part, at: .millisecond(10_950)) == .replaced)
    #expect(watcher.offer(part, at: .millisecond(11_000)) == .notDue)
  }
}

extension Array {
  /// One after another.
  fileprivate func asyncMap<Result>(_ work: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await work(element)) }
    return results
  }
}
