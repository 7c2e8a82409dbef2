// Which sources have changed since somebody looked.
import TestSupport
import Testing

@testable import GLPreview

@Suite("Activity of sources", .timeLimit(.minutes(15)))
struct SourceActivityTests {
  @Test("a name is given once for any number of changes, and wakes who waits")
  func names() async throws {
    let activity = SourceActivity()
    activity.note(["a", "b"])
    activity.note(["a"])
    #expect(activity.take() == ["a", "b"])
    #expect(activity.take().isEmpty)

    let waiting = Task { try await activity.wait() }
    activity.note([])
    activity.note(["c"])
    try await waiting.value
    #expect(activity.take() == ["c"])

    let cancelled = Task { try await activity.wait() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test("a source is active while it is open, and says so when that begins and ends")
  func session() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(ViewConfiguration(width: 4, height: 3))
    let name = try #require(session.sources.first?.name)
    #expect(session.activity.take() == [name])
    #expect(await session[name]?.observation.isActive == false)

    async let picture = preview.pictures.first
    try await session.activity.wait()
    #expect(session.activity.take() == [name])
    #expect(await session[name]?.observation.isActive == true)
    script.give(7)
    #expect(try await picture?.code == 7)
    await until { !script.isOpen }
    await until { await session[name]?.observation.isActive == false }
    #expect(session.activity.take() == [name])

    async let last = preview.pictures.first
    try await session.activity.wait()
    await session.removeSource(name)
    #expect(session.activity.take().isEmpty)
    _ = try? await last
    await session.close()
  }
}
