// Snapshots of a running session: one frame, whichever was asked for, in all that is wanted.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Snapshots of a session", .timeLimit(.minutes(15)))
struct SessionSnapshotTests {
  private static func session(_ script: SourceScript, hasSizes: Bool = false) throws -> PreviewSession {
    let session = try PreviewSession(scripted: script.source(hasSizes: hasSizes))
    _ = try session.addPreview(ViewConfiguration(name: "one", width: 4, height: 3))
    _ = try session.addPreview(ViewConfiguration(name: "two", rotation: .clockwise90, width: 3, height: 4))
    return session
  }

  private static func rgba(_ mode: SnapshotRequest.Mode, of previews: [String]? = nil) -> SnapshotRequest {
    SnapshotRequest.patient(mode, of: previews, as: .rgba)
  }

  @Test("a snapshot without readers draws all previews from one frame in one render")
  func all() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    script.give(50)

    let snapshot = try await session.snapshot(Self.rgba(.newest(maxAge: allTheTimeThereIs)))

    #expect(snapshot.pictures.map(\.name) == ["one", "two"])
    #expect(snapshot.pictures.map(\.picture.size) == [Size(width: 4, height: 3), Size(width: 3, height: 4)])
    #expect(snapshot.pictures.allSatisfy { $0.picture.bytes[0] == 50 })
    #expect(snapshot.camera == "camera")
    #expect(snapshot.sequence == 0)
    #expect(snapshot.sourceState == .live)
    #expect(session.statistics.renders == 1)
    await session.close()
  }

  @Test("a snapshot can skip warmup frames, and skips none if the camera has been open for longer")
  func warmup() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    let preview = try #require(session.previews.first { $0.name == "one" })
    var request = Self.rgba(.newest(maxAge: allTheTimeThereIs))
    request.warmup = .frames(2)
    for code: UInt8 in 1...3 { script.give(code) }
    #expect(try await session.snapshot(request).pictures[0].picture.bytes[0] == 3)
    // Until then the picture is new to a reader.
    await session.firstFeed?.pumpStopped()

    var pictures = preview.pictures.makeAsyncIterator()
    for code: UInt8 in 4...6 {
      script.give(code)
      #expect(try await pictures.next()?.code == code)
    }
    request.mode = .newest(maxAge: .seconds(3600))
    #expect(try await session.snapshot(request).pictures[0].picture.bytes[0] == 6)
    await session.close()
  }

  @Test("a snapshot of the newest frame reuses the picture that is already drawn")
  func newest() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    let preview = try #require(session.previews.first { $0.name == "one" })
    var frames = preview.pictures(for: .jpeg).makeAsyncIterator()
    script.give(1)
    let frame = try #require(try await frames.next())

    let snapshot = try await session.snapshot(
      SnapshotRequest.patient(.newest(maxAge: .seconds(3600)), of: ["one"]))

    #expect(snapshot.sequence == frame.sequence)
    #expect(snapshot.timestamp == frame.timestamp)
    #expect(snapshot["one"]?.picture == frame.picture)
    #expect(session.statistics.renders == 1)
    await session.close()
  }

  @Test("a snapshot of the next frame returns one captured after the call")
  func next() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    let preview = try #require(session.previews.first { $0.name == "one" })
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    _ = try await frames.next()

    async let snapshot = session.snapshot(Self.rgba(.next, of: ["one"]))
    await until { await session.waitingCount > 0 }
    script.give(2)
    let taken = try await snapshot

    #expect(taken["one"]?.picture.bytes[0] == 2)
    #expect(taken.sequence == 1)
    await session.close()
  }

  @Test("a snapshot with a maximum age of 0 waits for a new frame")
  func tooOld() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    let preview = try #require(session.previews.first { $0.name == "one" })
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    _ = try await frames.next()

    async let snapshot = session.snapshot(Self.rgba(.newest(maxAge: .zero), of: ["one"]))
    await until { await session.waitingCount > 0 }
    script.give(2)

    #expect(try await snapshot.sequence == 1)
    await session.close()
  }

  @Test("a still is taken at the largest size, and the previews continue at their own")
  func still() async throws {
    let script = SourceScript()
    let session = try Self.session(script, hasSizes: true)
    let preview = try #require(session.previews.first { $0.name == "one" })
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    _ = try await frames.next()
    let unsized = try session.addPreview(ViewConfiguration(name: "whole"))

    let snapshot = try await session.snapshot(Self.rgba(.still, of: ["whole", "one"]))
    #expect(snapshot["whole"]?.picture.size == Size(width: 16, height: 12))
    #expect(snapshot["whole"]?.picture.bytes[0] == 200)

    script.give(3)
    let after = try #require(try await frames.next())
    #expect(after.code == 3)
    #expect(after.sequence > snapshot.sequence)
    #expect(script.opens.map { $0.minimumSize?.width } == [4, 65535, 4])

    session.remove(unsized)
    await session.close()
    #expect(!script.isOpen)
  }

  @Test("a snapshot of a disabled source has a placeholder, or throws if fallbacks are refused")
  func off() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    await session.sources.first?.setEnabled(false)

    let snapshot = try await session.snapshot(Self.rgba(.newest))
    #expect(snapshot.sourceState == .off)
    #expect(snapshot.pictures.count == 2)

    let request = SnapshotRequest.patient(.newest, as: .rgba, fallback: .error)
    await #expect(throws: SourceError.self) { try await session.snapshot(request) }
    #expect(script.opens.isEmpty)
    await session.close()
  }

  @Test("a snapshot times out if the source delivers no frame")
  func timeout() async throws {
    let session = try Self.session(SourceScript())
    let request = SnapshotRequest(.newest, as: .rgba, timeout: .milliseconds(20))
    await #expect(throws: SourceError.self) { try await session.snapshot(request) }
    await session.close()
  }

  @Test("a request with waitsForOpening waits for an opening source, up to its timeout")
  func opening() async throws {
    func waiting(_ timeout: Duration) -> SnapshotRequest {
      var request = SnapshotRequest(.newest(maxAge: .seconds(3600)), as: .rgba, timeout: timeout)
      request.waitsForOpening = true
      return request
    }
    let (script, gate) = (SourceScript(), OpeningGate())
    var source = script.source().opening(through: gate)
    source.opensWithin = .milliseconds(1)
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(ViewConfiguration(width: 4, height: 3)).preview
    #expect(try await session.snapshot(Self.rgba(.newest)).sourceState == .opening)

    #expect(try await preview.moment(waiting(.milliseconds(20))).sourceState == .opening)

    let request = waiting(allTheTimeThereIs)
    async let moment = preview.moment(request)
    await until { await session.waitingCount == 1 }
    gate.open()
    script.give(7)
    #expect(try await moment.sourceState == .live)
    await session.close()
  }

  @Test("a trigger delivers snapshots to its handler, its async sequence and its caller")
  func trigger() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    let trigger = SnapshotTrigger()
    let (handled, continuation) = AsyncStream.makeStream(of: Result<Snapshot, any Error>.self)
    session.attach(trigger, Self.rgba(.newest(maxAge: .seconds(3600)))) { continuation.yield($0) }
    let snapshots = trigger.snapshots

    script.give(8)
    trigger.capture()
    var results = handled.makeAsyncIterator()
    #expect(try await results.next()?.get()["one"]?.picture.bytes[0] == 8)
    #expect(try await trigger.snapshot().sequence == 0)

    var count = 0
    for await _ in snapshots {
      count += 1
      if count == 2 { break }
    }
    await session.close()
  }

  @Test("a cancelled reader of a trigger's snapshots is removed before the next snapshot")
  func leftTrigger() async {
    let trigger = SnapshotTrigger()
    let kept = trigger.snapshots
    let reading = Task { for await _ in trigger.snapshots {} }
    await until { trigger.readerCount == 2 }

    reading.cancel()
    await until { trigger.readerCount == 1 }

    withExtendedLifetime(kept) {}
  }

  @Test("a trigger without a session throws, and does not keep its session alive")
  func detached() async throws {
    let trigger = SnapshotTrigger()
    await #expect(throws: SessionError.self) { try await trigger.snapshot() }
    let script = SourceScript()
    var session: PreviewSession? = try Self.session(script)
    session?.attach(trigger)
    session = nil
    await #expect(throws: SessionError.self) { try await trigger.snapshot() }
  }

  @Test("a capture above a trigger's limit fails, and its handler gets the error")
  func tooMany() async throws {
    let script = SourceScript()
    let session = try Self.session(script)
    let trigger = SnapshotTrigger()
    let (handled, continuation) = AsyncStream.makeStream(of: Bool.self)
    session.attach(trigger, Self.rgba(.next)) { result in
      if case .failure(let error) = result { continuation.yield(error is SessionError) }
    }

    for _ in 0...SnapshotTrigger.mostUnderWay { trigger.capture() }

    var failures = handled.makeAsyncIterator()
    #expect(await failures.next() == true)
    await session.close()
  }

  @Test("a snapshot throws without previews, for unknown or empty names, and after closing")
  func wrong() async throws {
    let session = try PreviewSession(scripted: SourceScript().source())
    await #expect(throws: SessionError.self) { try await session.snapshot() }

    _ = try session.addPreview()
    for names in [["nobody"], []] {
      await #expect(throws: SessionError.self) {
        try await session.snapshot(Self.rgba(.newest, of: names))
      }
    }

    await session.close()
    await #expect(throws: SessionError.self) { try await session.snapshot() }
  }
}
