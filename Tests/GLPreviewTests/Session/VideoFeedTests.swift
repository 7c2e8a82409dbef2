// A preview as video: one encoder for all who watch, and each gets what it can take.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Preview video", .timeLimit(.minutes(15)))
struct VideoFeedTests {
  private static let view = ViewConfiguration(width: 8, height: 6)

  /// Nothing is decided by time, but what a test says.
  private static func times(_ change: (inout VideoTimes) -> Void = { _ in }) -> VideoTimes {
    var times = VideoTimes(
      linger: .zero, joining: .zero, dropping: .zero, unread: allTheTimeThereIs, repeats: allTheTimeThereIs)
    change(&times)
    return times
  }

  private static func video(
    _ preview: ViewPreview, _ script: EncoderScript, _ times: VideoTimes = times(),
    _ configuration: VideoConfiguration = VideoConfiguration(keyframeInterval: .seconds(60))
  ) -> VideoSequence {
    VideoSequence(preview.preview, configuration, times) { script.encoder(configuration) }
  }

  /// The code of a frame's grey in limited range (BT.601-7, 2.5.3).
  private static func limited(_ code: Int) -> UInt8 { UInt8((16 + Double(code) * 219 / 255).rounded()) }

  @Test("a viewer gets each picture in limited range, the first one as a keyframe")
  func watching() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    #expect(script.opens.isEmpty)
    do {
      var video = Self.video(preview, encoders).makeAsyncIterator()
      var last: CaptureInstant?
      for (index, code) in [10, 20, 30].enumerated() {
        script.give(UInt8(code))
        let sample = try #require(try await video.next())
        #expect(sample.code == Self.limited(code))
        #expect(sample.isKey == (index == 0))
        #expect(sample.format.size == Size(width: 8, height: 6))
        #expect(last.map { $0 < sample.timestamp } ?? true)
        last = sample.timestamp
      }
      #expect(preview.preview.videos.count == 1)
    }
    // The last watcher is gone: camera and encoder are closed.
    await until { !script.isOpen && encoders.closes == 1 && preview.preview.videos.count == 0 }
    #expect(encoders.opens.count == 1)
    await session.close()
  }

  @Test("viewers with equal configurations share an encoder, and another configuration has its own")
  func sharing() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    let small = VideoConfiguration(bitrate: 100_000)

    let usual = VideoConfiguration(keyframeInterval: .seconds(60))
    let watches = [usual, usual, small].map { configuration in
      preview.preview.videos.watch(preview.preview, configuration, Self.times()) {
        encoders.encoder(configuration)
      }
    }
    #expect(preview.preview.videos.count == 2)
    script.give(50)
    var samples: [VideoSample] = []
    for watch in watches { samples.append(try #require(try await watch.next())) }

    #expect(samples.map(\.code) == [UInt8](repeating: Self.limited(50), count: 3))
    #expect(samples.map(\.isKey) == [true, true, true])
    #expect(encoders.opens.count == 2)
    await session.close()
  }

  @Test("a viewer that joins an unchanged preview gets the current picture as a keyframe")
  func joining() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let video = Self.video(try session.addPreview(Self.view), encoders)
    var first = video.makeAsyncIterator()
    script.give(60)
    let sample = try #require(try await first.next())

    var second = video.makeAsyncIterator()
    let joined = try #require(try await second.next())
    #expect(joined.isKey)
    #expect(joined.code == sample.code)
    #expect(joined.timestamp > sample.timestamp)
    // The first watcher gets it too.
    #expect(try await first.next() == joined)
    #expect(encoders.opens.count == 1)
    await session.close()
  }

  @Test("the last picture is encoded again while no new frame comes")
  func repeating() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let times = Self.times { $0.repeats = .milliseconds(1) }
    var video = Self.video(try session.addPreview(Self.view), encoders, times).makeAsyncIterator()
    script.give(60)
    for index in 0..<5 {
      let sample = try #require(try await video.next())
      #expect(sample.code == Self.limited(60))
      #expect(sample.isKey || index > 0)
    }
    await session.close()
  }

  @Test("a disabled preview is not repeated, and continues when it is enabled again")
  func disabled() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    let times = Self.times { $0.repeats = .milliseconds(1) }
    var video = Self.video(preview, encoders, times).makeAsyncIterator()
    script.give(60)
    _ = try await video.next()

    preview.isEnabled = false
    // The camera is closed when the reader is gone that was asked for another picture.
    await until { !script.isOpen }
    // One may be on its way.
    for _ in 0..<20 { await letOthersGoOn() }
    let count = encoders.calls.count
    for _ in 0..<20 { await letOthersGoOn() }
    #expect(encoders.calls.count == count)

    preview.isEnabled = true
    try await script.giving(70) {
      while try #require(try await video.next()).code != Self.limited(70) {}
    }
    await session.close()
  }

  @Test("a viewer that stops reading loses pictures and resumes with a keyframe; others lose none")
  func slow() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let video = Self.video(try session.addPreview(Self.view), encoders, Self.times { $0.unread = .zero })
    var quick = video.makeAsyncIterator()
    var slow = video.makeAsyncIterator()
    script.give(1)
    #expect(try await quick.next()?.code == Self.limited(1))
    #expect(try await slow.next()?.isKey == true)

    var seen: [UInt8] = []
    for code: UInt8 in 2...20 {
      script.give(code * 10)
      while let sample = try await quick.next() {
        if sample.code == Self.limited(Int(code) * 10) {
          seen.append(code)
          break
        }
      }
    }
    #expect(seen == Array(2...20))

    // What it still has is at most one picture of that time; then it needs a key picture, which comes at once.
    let keys = encoders.calls.count { $0.isKey }
    #expect(try await Self.key(&slow)?.code == Self.limited(200))
    #expect(encoders.calls.count { $0.isKey } == keys + 1)
    await session.close()
  }

  @Test("repeated drops lower the bit rate to a quarter, then the slow viewer is left behind")
  func bitrate() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view).preview
    let times = Self.times {
      $0.unread = .zero
      ($0.control.loweredAfter, $0.control.leftBehindAfter, $0.control.dropsExpireAfter) = (
        .zero, .zero, allTheTimeThereIs
      )
      $0.control.raisedAfter = allTheTimeThereIs
    }
    let configuration = VideoConfiguration(bitrate: 100_000, keyframeInterval: .seconds(60))
    let watch = preview.videos.watch(preview, configuration, times) { encoders.encoder(configuration) }
    func drop() async throws {
      var sample = try await watch.next()
      while sample?.isKey == false { sample = try await watch.next() }
      // The first of two pictures is unread when the second comes.
      for _ in 0..<2 {
        let count = encoders.calls.count
        script.give(UInt8(count))
        await until { encoders.calls.count > count }
      }
      let count = encoders.calls.count
      script.give(UInt8(count))
      await until { encoders.calls.count > count }
    }
    script.give(10)

    try await drop()
    #expect(preview.videoBitrate(configuration) == 100_000)
    try await drop()
    #expect(preview.videoBitrate(configuration) == 70_000)
    // Three steps more, then it is at its least.
    for _ in 0..<6 { try await drop() }
    #expect(preview.videoBitrate(configuration) == 25_000)
    #expect(!watch.standing(at: CaptureClock.now).isLeftBehind)
    for _ in 0..<3 { try await drop() }
    #expect(watch.standing(at: CaptureClock.now).isLeftBehind)
    await session.close()
  }

  @Test("a viewer that reports lost pictures gets a keyframe, and the loss counts as a drop")
  func lost() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view).preview
    let configuration = VideoConfiguration(keyframeInterval: .seconds(60))
    let watch = preview.videos.watch(preview, configuration, Self.times()) { encoders.encoder(configuration) }
    script.give(10)
    #expect(try await watch.next()?.isKey == true)
    #expect(watch.standing(at: CaptureClock.now).lastDrop == nil)
    watch.lost()
    #expect(try await watch.next()?.isKey == true)
    #expect(watch.standing(at: CaptureClock.now).lastDrop != nil)
    await session.close()
  }

  @Test("unread pictures beyond the byte limit are dropped, and the viewer resumes with a keyframe")
  func bytes() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let video = Self.video(try session.addPreview(Self.view), encoders, Self.times { $0.unreadBytes = 13 })
    var quick = video.makeAsyncIterator()
    var slow = video.makeAsyncIterator()
    script.give(10)
    _ = try await quick.next()
    _ = try await slow.next()
    // Seven bytes each: the second does not fit beside the first.
    for code in [20, 30, 40] {
      script.give(UInt8(code))
      while try await quick.next()?.code != Self.limited(code) {}
    }
    let keys = encoders.calls.count { $0.isKey }
    let sample = try await slow.next()
    #expect(sample?.isKey == true)
    #expect(encoders.calls.count { $0.isKey } == keys + 1)
    await session.close()
  }

  /// What ends the right to see what was encoded before.
  enum Change: CaseIterable {
    case disabled, removed, switchedOff, turned
  }

  @Test(
    "pictures left unread before a change that hides them are never delivered", arguments: Change.allCases)
  func hidden(by change: Change) async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    let video = Self.video(preview, encoders)
    var quick = video.makeAsyncIterator()
    var slow = video.makeAsyncIterator()
    script.give(60)
    _ = try await quick.next()
    _ = try await slow.next()
    // Leaves a picture unread that the other has.
    script.give(70)
    while try await quick.next()?.code != Self.limited(70) {}

    switch change {
    case .disabled:
      preview.isEnabled = false
      let read = Task { [slow] in
        var slow = slow
        return try await slow.next()
      }
      await letOthersGoOn()
      preview.isEnabled = true
      let sample = try #require(try await script.giving(80) { try await read.value })
      #expect(sample.isKey)
    case .removed:
      session.remove(preview)
      let sample = try await slow.next()
      #expect(sample == nil)
    case .switchedOff:
      await session["camera"]?.setEnabled(false)
      _ = try await quick.next()
      let sample = try #require(try await slow.next())
      #expect(sample.isKey)
    case .turned:
      preview.rotation = .half
      script.give(80)
      while try await quick.next()?.code != Self.limited(80) {}
      let sample = try #require(try await slow.next())
      #expect(sample.isKey && sample.code == Self.limited(80))
    }
    await session.close()
  }

  @Test("an encoder that ignores a keyframe request is not asked again at once")
  func deaf() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript([.x264: .deaf]))
    let session = try PreviewSession(scripted: script.source())
    let times = Self.times { $0.dropping = allTheTimeThereIs }
    let configuration = VideoConfiguration(keyframeInterval: .seconds(60), encoder: .x264)
    let preview = try session.addPreview(Self.view)
    var first = Self.video(preview, encoders, times, configuration).makeAsyncIterator()
    script.give(60)
    _ = try await first.next()
    let second = Task { [video = Self.video(preview, encoders, times, configuration)] in
      try await video.first { _ in true }
    }
    await until { encoders.calls.count { $0.isKey } == 2 }
    await letOthersGoOn()
    #expect(encoders.calls.count == 2)
    second.cancel()
    _ = try? await second.value
    await session.close()
  }

  /// Reads on until a key picture comes.
  private static func key(_ video: inout VideoSequence.Iterator) async throws -> VideoSample? {
    while let sample = try await video.next() { if sample.isKey { return sample } }
    return nil
  }

  @Test("a size change starts a new stream with a keyframe")
  func sizes() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    var video = Self.video(preview, encoders).makeAsyncIterator()
    script.give(60)
    _ = try await video.next()

    preview.preferredSize = Size(width: 10, height: 4)
    script.give(70)
    var sample = try #require(try await video.next())
    while sample.format.size != Size(width: 10, height: 4) { sample = try #require(try await video.next()) }
    #expect(sample.isKey)
    #expect(encoders.opens.map(\.size) == [Size(width: 8, height: 6), Size(width: 10, height: 4)])
    await session.close()
  }

  @Test("a source that is switched off is encoded as a fallback in the same format")
  func fallback() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    var video = Self.video(try session.addPreview(Self.view), encoders).makeAsyncIterator()
    script.give(60)
    let live = try #require(try await video.next())
    await session["camera"]?.setEnabled(false)
    let fallback = try #require(try await video.next())
    #expect(fallback.format == live.format)
    #expect(fallback.timestamp > live.timestamp)
    await session.close()
  }

  @Test("a video ends when its preview is removed, and a later one ends at once")
  func removal() async throws {
    let (script, encoders) = (SourceScript(), EncoderScript())
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    var video = Self.video(preview, encoders).makeAsyncIterator()
    script.give(60)
    _ = try await video.next()
    session.remove(preview)
    #expect(try await video.next() == nil)
    #expect(try await video.next() == nil)
    await until { preview.preview.videos.count == 0 && encoders.closes == 1 }
    #expect(try await Self.video(preview, encoders).first { _ in true } == nil)
    await session.close()
  }

  @Test("a video throws if no encoder works, and the next one tries again")
  func refusal() async throws {
    let error = VideoError(.unavailable, "it is not installed")
    let (script, encoders) = (SourceScript(), EncoderScript([.x264: .refusal(error)]))
    let session = try PreviewSession(scripted: script.source())
    let preview = try session.addPreview(Self.view)
    let configuration = VideoConfiguration(encoder: .x264)
    script.give(60)
    var video = Self.video(preview, encoders, Self.times(), configuration).makeAsyncIterator()
    await #expect(throws: error) { try await video.next() }
    await until { preview.preview.videos.count == 0 }

    let works = EncoderScript()
    var again = Self.video(preview, works, Self.times(), configuration).makeAsyncIterator()
    let sample = try await script.giving(60) { try await again.next() }
    #expect(sample?.isKey == true)
    await session.close()
  }
}
