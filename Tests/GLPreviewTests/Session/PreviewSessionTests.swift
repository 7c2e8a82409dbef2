// Previews of a running session: who reads them gets the newest, and what nobody reads costs nothing.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Preview sessions", .timeLimit(.minutes(15)))
struct PreviewSessionTests {
  private static let small = ViewConfiguration(width: 4, height: 3)

  private static func view(_ name: String, width: Int = 4) -> ViewConfiguration {
    ViewConfiguration(name: name, width: width, height: 3)
  }

  @Test("a preview without readers opens no camera and draws nothing")
  func unread() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    for index in 0..<10 { _ = try session.addPreview(Self.view("view\(index)")) }
    await session.close()
    #expect(script.opens.isEmpty)
    #expect(session.statistics == PreviewSession.Statistics())
  }

  @Test("a reader gets each frame, and the camera closes when the reader is released")
  func reading() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)

    do {
      var frames = preview.pictures.makeAsyncIterator()
      for code: UInt8 in [10, 20, 30] {
        script.give(code)
        let frame = try #require(try await frames.next())
        #expect(frame.code == code)
        #expect(frame.picture.size == Size(width: 4, height: 3))
      }
    }

    await closed(script)
    #expect(script.opens.count == 1)
    #expect(session.statistics.frames == 3)
    #expect(session.statistics.renders == 3)
    await session.close()
  }

  /// Waits until the camera is closed.
  private func closed(_ script: SourceScript) async {
    await until { !script.isOpen }
  }

  @Test("previews waiting for one frame share a render, and equal requests share a picture")
  func together() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let one = try session.addPreview(Self.view("one"))
    let two = try session.addPreview(Self.view("two", width: 6))
    let unread = try session.addPreview(Self.view("unread"))

    async let first = one.pictures.first
    async let again = one.pictures.first
    async let second = two.pictures.first
    // All three wait: for the one frame that is asked for.
    await until { await session.waitingCount >= 3 }
    script.give(77)
    let frames = try await [first, again, second].compactMap(\.self)

    #expect(frames.map(\.code) == [77, 77, 77])
    #expect(session.statistics.renders == 1)
    #expect(session.statistics.pictures == 2)
    #expect(unread.preview.newest(.rgba) == nil)
    await session.close()
  }

  @Test("a slow reader skips to the newest frames and does not delay a fast reader")
  func slow() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    var slow = preview.pictures.makeAsyncIterator()
    var fast = preview.pictures.makeAsyncIterator()

    script.give(1)
    #expect(try await slow.next()?.code == 1)
    #expect(try await fast.next()?.code == 1)
    for code: UInt8 in 2...9 {
      script.give(code)
      #expect(try await fast.next()?.code == code)
    }
    script.give(10)
    async let next = fast.next()
    #expect(try await next?.code == 10)

    // What is newest is what the slow one gets, whether it is drawn already or comes next.
    script.give(11)
    let code = try #require(try await slow.next()?.code)
    #expect(code >= 10)
    await session.close()
  }

  @Test("a change to a preview applies as a whole to the next picture, even without a new frame")
  func changing() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    #expect(try await frames.next()?.picture.size == Size(width: 4, height: 3))
    async let next = frames.next()
    await until { await session.waitingCount > 0 }

    preview.update {
      ($0.width, $0.height) = (2, 6)
      $0.contentMode = .stretch
    }
    let changed = try #require(try await next)

    #expect(changed.picture.size == Size(width: 2, height: 6))
    #expect(changed.sequence == 0)
    #expect(preview.contentMode == .stretch)
    await session.close()
  }

  @Test("a disabled preview suspends its reader and closes the camera until it is enabled again")
  func disabled() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    _ = try await frames.next()

    preview.isEnabled = false
    async let next = frames.next()
    await closed(script)
    let renders = session.statistics.renders

    preview.isEnabled = true
    script.give(2)
    #expect(try await next?.code == 2)
    #expect(session.statistics.renders == renders + 1)
    #expect(script.opens.count == 2)
    await session.close()
  }

  @Test("a preview with a long update interval is not drawn for other readers' frames")
  func seldom() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small, updateEvery: .seconds(3600))
    var frames = preview.pictures.makeAsyncIterator()
    script.give(1)
    #expect(try await frames.next()?.code == 1)
    // Until the feed rests, its frame counts as just read.
    let feed = try #require(preview.preview.producer as? SourceFeed)
    await until { await feed.pump == nil }

    async let next = frames.next()
    script.give(2)
    let busy = try session.addPreview(Self.view("busy"))
    #expect(try await busy.pictures.first?.code == 2)
    #expect(session.statistics.pictures == 2)

    preview.updateEvery = .zero
    script.give(3)
    let code = try #require(try await next?.code)
    #expect(code >= 2)
    await session.close()
  }

  @Test("pending reads return nil when the preview is removed or the session is closed")
  func ends() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let removed = try session.addPreview(Self.view("removed"))
    let closed = try session.addPreview(Self.view("closed"))
    async let one = removed.pictures.first
    async let other = closed.pictures(for: .jpeg).first
    await until { await session.waitingCount >= 2 }

    session.remove(removed)
    #expect(try await one == nil)

    await session.close()
    #expect(try await other == nil)
    #expect(!script.isOpen)

    #expect(throws: SessionError.self) { try session.addPreview(Self.view("late")) }
    await #expect(throws: SessionError.self) { try await session.snapshot() }
  }

  @Test("releasing a session ends its readers and closes the camera")
  func dropped() async throws {
    let script = SourceScript()
    var session: PreviewSession? = try PreviewSession(scripted: script.source())
    let preview = try #require(try session?.addPreview(Self.small))
    script.give(1)
    var frames = preview.pictures.makeAsyncIterator()
    #expect(try await frames.next() != nil)

    session = nil
    #expect(try await frames.next() == nil)
    await closed(script)
  }

  @Test("cancelling a reader throws CancellationError and closes the camera")
  func cancelled() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    let reader = Task { try await preview.pictures.first }
    await until { await session.waitingCount > 0 }

    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    await closed(script)
    await session.close()
  }

  @Test("an invalid view throws an error to its own reader only")
  func wrongView() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source())
    let wrong = try session.addPreview(
      ViewConfiguration(name: "wrong", crop: Rectangle(x: 5, y: 0, width: 50, height: 2)))
    let right = try session.addPreview(Self.view("right"))

    let one = Task { try await wrong.pictures.first }
    async let other = right.pictures.first
    await until { await session.waitingCount >= 2 }
    script.give(9)

    #expect(try await other?.code == 9)
    await #expect(throws: ParameterError.self) { try await one.value }
    await session.close()
  }

  @Test("a source that can't be opened throws to its reader, and is opened again for the next one")
  func refused() async throws {
    let script = SourceScript()
    script.refuse(SourceError(.notFound, path: "script", reason: "is not there"))
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.small)
    await #expect(throws: SourceError.self) { try await preview.pictures.first }

    script.refuse(nil)
    script.give(4)
    #expect(try await preview.pictures.first?.code == 4)
    await session.close()
  }

  @Test("readers of a file get all its frames and then the end")
  func file() async throws {
    let script = SourceScript()
    var source = script.source(isLive: false)
    source.repeats = false
    let session = try PreviewSession(scripted: source)
    let preview = try session.addPreview(Self.small)
    script.give(1)
    script.give(2)
    script.give(.success(nil))
    script.give(.success(nil))

    var codes: [UInt8] = []
    for try await frame in preview.pictures { codes.append(frame.code) }

    #expect(codes == [1, 2])
    await session.close()
  }

  @Test("duplicate, empty and unknown names and a session without sources are rejected")
  func names() async throws {
    let session = try PreviewSession(SourceScript().source())
    _ = try session.addPreview(Self.view("one"))

    #expect(throws: SessionError.self) { try session.addPreview(Self.view("one")) }
    #expect(throws: SessionError.self) { try session.addPreview(Self.view("")) }
    #expect(throws: SessionError.self) { try session.addPreview(Self.view("two"), of: "nobody") }
    #expect(throws: SessionError.self) {
      try session.addScene(Scene(size: Size(width: 8, height: 8), tiles: [Tile("nobody")]))
    }
    #expect(throws: SessionError.self) { try PreviewSession([]) }
    await session.close()
  }

  @Test("the camera is opened at the smallest size that is large enough for all current readers")
  func demand() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(hasSizes: true))
    let small = try session.addPreview(Self.view("small"))
    let large = try session.addPreview(Self.view("large", width: 40))

    script.give(1)
    var frames = small.pictures.makeAsyncIterator()
    _ = try await frames.next()
    #expect(script.opens.map(\.minimumSize) == [Size(width: 4, height: 3)])

    var others = large.pictures.makeAsyncIterator()
    // What is there is shown larger, until the camera gives more.
    #expect(try await others.next()?.code == 1)
    // The camera is closed for it at once, and may be open again already; a frame that came before that would go with it.
    await until { script.closes == 1 }
    script.give(2)
    #expect(try await others.next()?.code == 2)
    #expect(script.opens.last?.minimumSize == Size(width: 40, height: 3))
    await session.close()
    #expect(!script.isOpen)
  }

  @Test(
    "a reader that comes while the camera changes its size gets the picture from before, if others read it")
  func duringResizing() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(hasSizes: true))
    let small = try session.addPreview(Self.view("small"))
    let large = try session.addPreview(Self.view("large", width: 40))
    do {
      script.give(1)
      var frames = small.pictures.makeAsyncIterator()
      _ = try await frames.next()

      var others = large.pictures.makeAsyncIterator()
      #expect(try await others.next()?.code == 1)
      await until { script.closes == 1 }
      #expect(try await small.pictures.first?.code == 1)
      script.give(2)
      #expect(try await others.next()?.code == 2)
    }

    // The last reader leaves.
    await until { !script.isOpen }
    let first = Task { try await large.pictures.first?.code }
    await until { script.isOpen }
    script.give(3)
    #expect(try await first.value == 3)
    await session.close()
  }
}

extension PreviewPictures {
  /// The first picture.
  var first: RenderedPicture? {
    get async throws {
      for try await frame in self { return frame }
      return nil
    }
  }
}
