// A source that replaces another: both are there for a while, and the camera is never open twice. And waits that end in time.
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Source replacement", .timeLimit(.minutes(15)))
struct SourceReplacementTests {
  @Test("a replacing source opens after the replaced one closes, which delivers frames until then")
  func order() async throws {
    let (old, new) = (SourceScript(), SourceScript())
    var options = PreviewSession.Options.tested(linger: .zero)
    options.replacedCloseWithin = .seconds(3600)
    let session = try PreviewSession([old.source(named: "old")], options: options)
    let before = try session.addPreview(ViewConfiguration(name: "before", width: 4), of: "old")
    var pictures = before.pictures.makeAsyncIterator()
    old.give(10)
    #expect(try await pictures.next()?.code == 10)

    var source = new.source(named: "new")
    source.opensWithin = .seconds(3600)
    try session.addSource(source, replacing: ["old"])
    let after = try session.addPreview(ViewConfiguration(name: "after", width: 4), of: "new")
    new.give(20)
    let first = Task { try await after.pictures.first }

    // The old one goes on meanwhile.
    for code: UInt8 in 11...14 {
      old.give(code)
      #expect(try await pictures.next()?.code == code)
    }
    #expect(new.opens.isEmpty && old.isOpen)

    await session.removeSource("old")
    #expect(!old.isOpen)
    #expect(try await first.value?.code == 20)
    #expect(try await pictures.next() == nil)

    await session.close()
    #expect(!new.isOpen)
  }

  @Test("a replacing source that is removed before it opens does not wait for the replaced one")
  func givenUp() async throws {
    let (old, new) = (SourceScript(), SourceScript())
    var options = PreviewSession.Options.tested(linger: .zero)
    options.replacedCloseWithin = allTheTimeThereIs
    let session = try PreviewSession([old.source(named: "old")], options: options)
    var source = new.source(named: "new")
    source.keepsWarm = true
    try session.addSource(source, replacing: ["old"])
    await session.removeSource("new")
    #expect(new.opens.isEmpty && session.sources.map(\.name) == ["old"])
    await session.close()
  }

  @Test("withDeadline returns nil at its deadline and throws on cancellation if the work hangs")
  func timeout() async throws {
    let held = Mutex<[CheckedContinuation<Void, Never>]>([])
    let hangs: @Sendable () async -> Void = {
      await withCheckedContinuation { continuation in held.withLock { $0.append(continuation) } }
    }

    #expect(try await withDeadline(.milliseconds(1), hangs) == nil)

    let waiting = Task { try await withDeadline(.seconds(3600), hangs) }
    await until { held.withLock({ $0.count }) >= 2 }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    for continuation in held.withLock({ $0 }) { continuation.resume() }
  }
}
