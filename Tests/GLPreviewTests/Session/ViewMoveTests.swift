// Moves of a view through a lens: each frame is drawn with the pose of its capture, for all readers.
import Basics
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Moves of lens views", .timeLimit(.minutes(15)))
struct ViewMoveTests {
  private static let lens = Lens(.fisheye(), fov: 180)
  private static let frameSize = Size(width: 64, height: 64)
  private static let start = LensPose(yaw: -30, pitch: 5, hfov: 60)
  private static let goal = LensPose(yaw: 30, pitch: -10, roll: 8, hfov: 40)
  /// Longer than any test.
  private static let hour = Duration.seconds(3600)

  private static func view(_ pose: LensPose = start) -> ViewConfiguration {
    var projection = Projection()
    projection.pose = pose
    return ViewConfiguration(width: 32, height: 18, projection: projection)
  }

  /// A frame in which each place looks different.
  private static func frame(_ sequence: Int, at time: CaptureInstant) throws -> Frame {
    let bytes = (0..<frameSize.pixelCount).map { UInt8(($0 % 64 * 3 + $0 / 64 * 5 + sequence * 7) & 255) }
    return try Frame(
      tight: Frame.Format(.grey, frameSize, color: .jfif), bytes: bytes, sequence: sequence, timestamp: time)
  }

  private static func session(
    _ script: SourceScript, isLive: Bool = true
  ) throws -> (PreviewSession, ViewPreview) {
    var source = script.source(isLive: isLive)
    source.options.lens = lens
    let session = try PreviewSession(scripted: source)
    return (session, try session.addPreview(view()))
  }

  /// The picture of a frame by a view that stands still.
  private static func still(_ frame: Frame, _ pose: LensPose, by session: PreviewSession) async throws
    -> [UInt8]
  {
    var view = view(pose)
    view.lens = lens
    let pictures = try await session.draw(frame, [view], as: .rgba, at: frame.timestamp)
    return pictures.first?.picture.bytes ?? []
  }

  @Test("a frame of a moving view has the pose of its capture, for streams and snapshots")
  func exact() async throws {
    let script = SourceScript(size: Self.frameSize)
    let (session, preview) = try Self.session(script)
    var pictures = preview.pictures.makeAsyncIterator()
    let first = try Self.frame(0, at: CaptureClock.now)
    script.give(.success(first))
    let before = try #require(try await pictures.next()).picture.bytes
    #expect(try await before == Self.still(first, Self.start, by: session))
    let subject = preview.preview.subject

    let move = try preview.preview.move(to: Self.goal, over: Self.hour).move
    #expect(move.from == Self.start && move.to == Self.goal && move.end == move.start + Self.hour)
    #expect(preview.view.projection?.pose == Self.goal, "it is configured at once")
    for (number, part) in [0.1, 0.25, 0.5, 0.999, 1, 1.5].enumerated() {
      let frame = try Self.frame(number + 1, at: move.start + Self.hour * part)
      script.give(.success(frame))
      var picture = try #require(try await pictures.next())
      // A frame that has become old is shown again, in the pose of the present.
      while picture.sequence < frame.sequence { picture = try #require(try await pictures.next()) }
      let pose = move.pose(at: frame.timestamp)
      #expect(part < 1 || pose == Self.goal)
      #expect(try await picture.picture.bytes == Self.still(frame, pose, by: session), "\(part)")
      let snapshot = try await session.snapshot(.patient(.newest(maxAge: Self.hour), as: .rgba))
      #expect(snapshot.sequence == picture.sequence)
      #expect(snapshot.pictures.first?.picture.bytes == picture.picture.bytes, "\(part)")
    }
    // Encoders and recordings go on.
    #expect(preview.preview.subject == subject)
    await session.close()
  }

  @Test("a jump shows the current frame again, at once")
  func jump() async throws {
    let script = SourceScript(size: Self.frameSize)
    let (session, preview) = try Self.session(script)
    var pictures = preview.pictures.makeAsyncIterator()
    let frame = try Self.frame(0, at: CaptureClock.now)
    script.give(.success(frame))
    let before = try #require(try await pictures.next())

    try preview.move(to: Self.goal)
    let after = try #require(try await pictures.next())

    #expect(after.sequence == before.sequence)
    #expect(try await after.picture.bytes == Self.still(frame, Self.goal, by: session))
    #expect(preview.pose == Self.goal && preview.preview.runningMove(at: .now) == nil)
    await session.close()
  }

  @Test("a snapshot shows the pose that it was requested with, wherever the view has jumped meanwhile")
  func jumps() async throws {
    let script = SourceScript(size: Self.frameSize)
    let (session, preview) = try Self.session(script)
    var pictures = preview.pictures.makeAsyncIterator()
    // Not old before the test ends.
    let frame = try Self.frame(0, at: CaptureClock.now + Self.hour)
    script.give(.success(frame))
    let first = try #require(try await pictures.next())
    let moment = try await preview.preview.moment(.patient(.newest(maxAge: Self.hour)))
    func draw() async throws -> [UInt8]? {
      try await moment.draw(Self.view(), for: preview.preview, as: .rgba, coding: nil)?.picture.bytes
    }
    let before = try await Self.still(frame, Self.start, by: session)
    #expect(first.picture.bytes == before)
    #expect(try await draw() == before)

    try preview.move(to: Self.goal)
    let second = try #require(try await pictures.next())
    #expect(second.picture.bytes != before)
    #expect(try await draw() == before)
    // The preview's picture is still that of the other pose.
    try preview.move(to: Self.start)
    #expect(try await draw() == before)
    await session.close()
  }

  @Test("a source with one frame is redrawn until the view is in its place")
  func oneFrame() async throws {
    let script = SourceScript(size: Self.frameSize)
    let (session, preview) = try Self.session(script, isLive: false)
    var pictures = preview.pictures.makeAsyncIterator()
    let frame = try Self.frame(0, at: .start)
    script.give(.success(frame))
    _ = try #require(try await pictures.next())
    // As often as it is asked again.
    for _ in 0..<100 { script.give(.success(nil)) }

    try preview.move(to: Self.goal, over: .milliseconds(200))
    var last: RenderedPicture?
    while let picture = try await pictures.next() { last = picture }

    let bytes = try #require(last).picture.bytes
    #expect(try await bytes == Self.still(frame, Self.goal, by: session))
    await session.close()
  }

  @Test("the newest move wins, from where the view is; frames from before keep the pose that they had")
  func newest() async throws {
    let (session, preview) = try Self.session(SourceScript(size: Self.frameSize))
    let one = try preview.preview.move(to: Self.goal, over: Self.hour)
    let other = try preview.preview.move(to: Self.start, over: Self.hour)

    #expect(!one.supersedes && other.supersedes)
    #expect(other.move.from == one.move.pose(at: other.move.start) && other.move.to == Self.start)
    let configuration = preview.preview.configuration
    func pose(at time: CaptureInstant) -> LensPose? { configuration.view(at: time)?.projection?.pose }
    #expect(pose(at: one.move.start - .seconds(1)) == Self.start)
    #expect(pose(at: one.move.start) == Self.start)
    #expect(pose(at: other.move.start) == other.move.from)
    let middle = other.move.start + .seconds(900)
    #expect(pose(at: middle) == other.move.pose(at: middle))
    #expect(pose(at: other.move.end) == Self.start)
    #expect(await preview.preview.end(of: one.move) == .superseded)
    await session.close()
  }

  @Test("a move arrives, or is stopped where the view is")
  func ends() async throws {
    let (session, preview) = try Self.session(SourceScript(size: Self.frameSize))
    let short = try preview.preview.move(to: Self.goal, over: .milliseconds(1))
    #expect(await preview.preview.end(of: short.move) == .arrived)
    #expect(preview.pose == Self.goal)

    let long = try preview.preview.move(to: Self.start, over: Self.hour)
    let stop = try preview.preview.stopMove()
    #expect(stop.supersedes && stop.move.from == long.move.pose(at: stop.move.start))
    #expect(await preview.preview.end(of: long.move) == .stopped)
    #expect(preview.pose == stop.move.to && preview.view.projection?.pose == stop.move.to)
    #expect(try !preview.preview.stopMove().supersedes, "there is nothing to stop")

    let third = try preview.preview.move(to: Self.goal, over: Self.hour)
    preview.crop = Rectangle(x: 0, y: 0, width: 32, height: 32)
    #expect(await preview.preview.end(of: third.move) == .superseded)
    #expect(preview.pose == Self.goal)
    await session.close()
  }

  @Test("a change of anything but the part that is shown leaves a move alone")
  func others() async throws {
    let (session, preview) = try Self.session(SourceScript(size: Self.frameSize))
    let move = try preview.preview.move(to: Self.goal, over: Self.hour).move
    preview.update { $0.background = RGBColor(red: 1, green: 2, blue: 3) }
    preview.updateEvery = .seconds(1)
    #expect(preview.preview.runningMove(at: .now) == move)
    preview.update { $0.width = 30 }
    #expect(preview.preview.runningMove(at: .now) == nil && preview.pose == Self.goal)
    await session.close()
  }

  @Test("a view without a projection, and a pose out of bounds, are refused by their keys")
  func refused() async throws {
    let (session, preview) = try Self.session(SourceScript(size: Self.frameSize))
    let plain = try session.addPreview(ViewConfiguration(name: "plain"))
    let error = #expect(throws: ParameterError.self) { try plain.move(to: Self.goal, over: Self.hour) }
    #expect(error?.key == "projection" && plain.pose == nil)
    let wide = #expect(throws: ParameterError.self) { try preview.move(to: LensPose(hfov: 180)) }
    #expect(wide?.key == "hfov")
    let far = #expect(throws: ParameterError.self) { try preview.move(to: LensPose(yaw: .nan)) }
    #expect(far?.key == "yaw" && preview.pose == Self.start)

    // The field of view of an undistorted picture depends on the camera's size, which is unknown yet.
    preview.update { view in
      view.lens = Lens(.pinhole(), fov: 70)
      view.projection = Projection()
    }
    let early = #expect(throws: ParameterError.self) { try preview.move(to: Self.goal, over: Self.hour) }
    #expect(early?.key == "hfov")
    #expect(throws: Never.self) { try preview.move(to: LensPose(yaw: 20), over: Self.hour) }
    await session.close()
  }
}
