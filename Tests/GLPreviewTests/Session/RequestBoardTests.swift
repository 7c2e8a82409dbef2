// Which requests a source satisfies by what it shows, and how its camera is counted: decided without a camera or a GPU.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview
@testable import VideoFormats

@Suite("RequestBoard")
struct RequestBoardTests {
  private static func at(_ second: Int) -> CaptureInstant { .start + .seconds(second) }

  /// The frame of that number, captured in that second.
  private static func frame(_ number: Int) throws -> Frame {
    let format = Frame.Format(.grey, Size(width: 1, height: 1), color: .jfif)
    return try Frame(tight: format, bytes: [0], timestamp: at(number)).with(sequence: number)
  }

  private static func jpeg(_ number: Int) throws -> CameraPicture {
    let bytes = try smallJPEG(Size(width: 8, height: 8))
    let jpeg = try OriginalJPEG(checking: bytes, maximumPixels: 64)
    return CameraPicture(content: .jpeg(jpeg), sequence: number, timestamp: at(number)) { nil }
  }

  private static func video(_ number: Int) -> CameraPicture {
    let format = H264Format(sps: [], pps: [], size: Size(width: 16, height: 16), encoder: nil)
    let sample = VideoSample(bytes: [], isKey: true, timestamp: at(number), format: format)
    return CameraPicture(content: .h264(OriginalVideo().add(sample)), sequence: number, timestamp: at(number))
    {
      nil
    }
  }

  private static func event(after number: Int? = nil, outage: Int = 0, isOver: Bool = false) -> FeedRequest {
    let key = number.map { FeedKey(sequence: $0, outage: outage) }
    return FeedRequest(subject: .event(after: key, isOver: isOver))
  }

  private static func frame(since second: Int, isCropped: Bool = false, passes: Bool = false) -> FeedRequest {
    FeedRequest(subject: .frame(capturedAt: at(second), isCropped: isCropped, passes: passes))
  }

  private static func picture(
    _ preview: Preview, _ format: Picture.Format = .ycbcr(.yuv420), passes: Bool = false
  ) -> FeedRequest {
    FeedRequest(subject: .picture(preview, PictureForm(format), after: nil, passes: passes))
  }

  private static func preview() -> Preview {
    Preview(name: "main", PreviewConfiguration(.view(ViewConfiguration(), of: "camera")), of: NoPictures())
  }

  private struct NoPictures: PictureProducer {
    var eagerReaders: EagerReaders? { nil }
    var endedConnections: EndedConnections? { nil }
    var budget: MemoryBudget? { nil }
    func next(_ preview: Preview, _ form: PictureForm, after key: PictureKey?, passes: Bool)
      -> PreviewPicture?
    {
      nil
    }
    func changed(_ preview: Preview) {}
    func readerCame(_ preview: Preview) {}
    func readerWent(_ preview: Preview) {}
  }

  @Test("frames before a request's earliest do not satisfy it, decoded or passed on, unless one was the last")
  func earliest() throws {
    var board = RequestBoard()
    var (event, passed) = (Self.event(), Self.picture(Self.preview(), passes: true))
    (event.earliest, passed.earliest) = (4, 4)
    board.show(CameraPicture(try Self.frame(2)))
    #expect(!board.isMet(event))
    board.show(try Self.jpeg(3))
    #expect(!board.isMetByOriginal(event) && !board.isMetByOriginal(passed))
    // One that can't be decoded leaves the frame before it.
    board.show(try Self.jpeg(4))
    #expect(board.isMetByOriginal(event) && board.isMetByOriginal(passed))
    _ = board.decoded(4, to: nil)
    #expect(!board.isMet(event))
    #expect(board.isMet(Self.event()))
    board.isEnded = true
    #expect(board.isMet(event))
  }

  @Test("a frame satisfies requests that have not seen it and that accept its capture time")
  func frames() throws {
    var board = RequestBoard()
    #expect(!board.isMet(Self.event()) && !board.isMet(Self.frame(since: 0)))
    board.show(CameraPicture(try Self.frame(3)))
    #expect(
      board.isMet(Self.event()) && board.isMet(Self.event(after: 2)) && !board.isMet(Self.event(after: 3)))
    #expect(board.isMet(Self.frame(since: 3)) && !board.isMet(Self.frame(since: 4)))
    #expect(board.isMet(Self.picture(Self.preview())))
  }

  @Test("an outage satisfies every request that has not seen it, until it is over")
  func outage() throws {
    var board = RequestBoard()
    board.show(CameraPicture(try Self.frame(3)))
    let outage = Outage(.lost, reason: "is away", sinceCapture: Self.at(4))
    #expect(board.show(outage, at: Self.at(4)) == true)
    #expect(board.show(outage, at: Self.at(5)) == false, "the same one")
    #expect(board.isMet(Self.event(after: 3)) && board.isMet(Self.frame(since: 99)))
    #expect(!board.isMet(Self.event(after: 3, outage: 1)))
    #expect(board.event.outage == outage && board.event.frame?.sequence == 3)

    #expect(board.show(nil, at: Self.at(6)) == false)
    #expect(!board.isMet(Self.event(after: 3)) && !board.isMet(Self.frame(since: 99)))
    #expect(board.show(outage, at: Self.at(7)) == true)
    #expect(board.isMet(Self.event(after: 3, outage: 1)), "another one")
  }

  @Test("each satisfied request is taken once, and the others stay until removed")
  func order() throws {
    var board = RequestBoard()
    let ids = (0..<20).map { board.add(Self.frame(since: $0 % 2)) }
    #expect(board.isWanted)
    board.show(CameraPicture(try Self.frame(0)))
    #expect(board.take { $1.isMet($0) }.count == 10)
    #expect(board.take { $1.isMet($0) }.isEmpty)
    #expect(ids[..<2].map { board.remove($0) } == [false, true])
    #expect(board.requests.keys.sorted() == Array(ids.filter { $0.isMultiple(of: 2) }.dropFirst()))
  }

  @Test("a JPEG goes undecoded to requests that accept it, and is decoded for the others")
  func jpeg() throws {
    var board = RequestBoard()
    let preview = Self.preview()
    let kept = [
      Self.frame(since: 1), Self.frame(since: 2, passes: true), Self.picture(preview),
      Self.picture(preview, .video, passes: true),
    ].map { board.add($0) }
    for request in [Self.frame(since: 1, passes: true), Self.picture(preview, passes: true)] {
      _ = board.add(request)
    }
    board.show(try Self.jpeg(1))
    #expect(board.undecoded?.sequence == 1)
    #expect(board.takeOriginals().count == 2)
    #expect((0..<2).map { _ in board.countsOriginal() } == [true, false], "it is counted once")
    #expect(board.requests.keys.sorted() == kept)
    #expect(
      board.requests.filter { board.waitsForDecoding($0.value) }.keys.sorted() == [kept[0], kept[2], kept[3]])

    #expect(board.decoded(1, to: try Self.frame(1)) == true)
    #expect(board.undecoded == nil)
    #expect(board.take { $1.isMet($0) }.count == 3)
  }

  @Test("a picture that fails to decode is skipped, and an older frame never replaces a newer one")
  func damaged() throws {
    var board = RequestBoard()
    board.show(try Self.jpeg(1))
    board.show(try Self.jpeg(2))
    #expect(board.decoded(1, to: try Self.frame(1)) == true, "while the newer one is decoded")
    #expect(board.undecoded?.sequence == 2)
    #expect(board.decoded(2, to: nil) == false)
    #expect(board.undecoded == nil && board.event.frame?.sequence == 1)
    board.show(CameraPicture(try Self.frame(4)))
    #expect(board.decoded(3, to: try Self.frame(3)) == false)
    #expect(board.event.frame?.sequence == 4)
  }

  @Test("H.264 goes only to uncropped videos, and after an outage only from a new keyframe on")
  func video() throws {
    var board = RequestBoard()
    let (preview, cropped) = (Self.preview(), Self.preview())
    cropped.update { $0.view?.crop = Rectangle(x: 0, y: 0, width: 8, height: 8) }
    for preview in [preview, cropped] { _ = board.add(Self.picture(preview, .video, passes: true)) }
    board.show(Self.video(1))
    #expect(board.takeOriginals().map(\.request.picture?.preview) == [preview])

    _ = board.add(Self.picture(preview, .video, passes: true))
    _ = board.show(Outage(.lost, sinceCapture: Self.at(2)), at: Self.at(5))
    #expect(board.takeOriginals().isEmpty)
    _ = board.show(nil, at: Self.at(5))
    #expect(board.takeOriginals().isEmpty)
    board.show(Self.video(4))
    #expect(board.takeOriginals().isEmpty, "its keyframe is older than the end of the outage")
    board.show(Self.video(5))
    #expect(board.takeOriginals().count == 1)
  }

  @Test("requests for a crop wait until frames have the reference size")
  func switching() throws {
    var board = RequestBoard { $0 == Size(width: 1, height: 1) }
    board.show(CameraPicture(try Self.frame(1)))
    #expect(board.isMet(Self.frame(since: 1)) && !board.isMet(Self.frame(since: 1, isCropped: true)))
    board.show(try Self.jpeg(2))
    #expect(board.waitsForDecoding(Self.frame(since: 1, isCropped: true)), "it is of another size")
  }

  @Test("after the last frame, event and frame requests get it once and picture requests get nil")
  func end() throws {
    var board = RequestBoard()
    board.show(CameraPicture(try Self.frame(1)))
    board.isEnded = true
    let preview = Self.preview()
    let seen = FeedRequest(
      subject: .picture(
        preview, PictureForm(.rgba), after: PictureKey(sequence: 1, version: 0), passes: false))
    for request in [Self.event(after: 1), Self.frame(since: 9), seen, Self.event(after: 1, isOver: true)] {
      _ = board.add(request)
    }
    #expect(board.takeLast().map { $0.answer?.event?.isLast } == [true, true, nil])
    #expect(board.requests.count == 1 && !board.isWanted, "it waits for other changes")
  }
}

@Suite("SourceCamera")
struct SourceCameraTests {
  private static func camera(_ demand: SourceOptions.Demand, countedFrom first: Int = 0) -> SourceCamera {
    var camera = SourceCamera(linger: .zero, after: [], within: .zero)
    _ = camera.open(FailingSource(), demand, countedFrom: first)
    return camera
  }

  @Test("sequence numbers continue after the camera reopens and keep the source's gaps")
  func numbers() {
    var camera = Self.camera(SourceOptions.Demand())
    #expect([0, 1, 4].map { camera.number($0) } == [0, 1, 4])
    #expect(camera.close()?.number == 1 && camera.close()?.number == nil)
    #expect(camera.open(FailingSource(), SourceOptions.Demand(), countedFrom: 10) == 2)
    #expect([0, 0, 2].map { camera.number($0) } == [10, 11, 12])
  }

  @Test("a warmup begins with the first picture after the camera opens")
  func warmup() {
    var camera = Self.camera(SourceOptions.Demand())
    let times = [5, 6, 7].map { CaptureInstant.start + .seconds($0) }
    #expect(!camera.lasts(.frames(1), at: times[0]))
    #expect(times.map { camera.isWarmingUp(.frames(2), at: $0) } == [true, true, false])
    #expect(camera.lasts(.frames(3), at: times[2]) && !camera.lasts(.frames(2), at: times[2]))
    _ = camera.close()
    #expect(camera.isWarmingUp(.frames(2), at: times[2]) == false)
  }

  @Test(
    "a larger size is requested at once, a much smaller one after 5 s, and others not at all",
    arguments: [
      (10, 11, Duration.zero), (10, 10, nil), (10, 9, nil), (10, 5, .seconds(5)), (nil, 10, .seconds(5)),
      (10, nil, .zero), (nil, nil, nil),
    ] as [(Int?, Int?, Duration?)])
  func sizes(open: Int?, wanted: Int?, delay: Duration?) {
    let demands = [open, wanted].map { side in
      SourceOptions.Demand(minimumSize: side.map { Size(width: $0, height: $0) })
    }
    #expect(Self.camera(demands[0]).resizes(for: demands[1]) == delay)
  }

  @Test("the reference size is requested at once, and released after 5 s")
  func reference() {
    let (pinned, small) = (
      SourceOptions.Demand(isPinned: true), SourceOptions.Demand(minimumSize: Size(width: 1, height: 1))
    )
    #expect(Self.camera(small).resizes(for: pinned) == .zero)
    #expect(Self.camera(pinned).resizes(for: small) == .seconds(5))
    #expect(Self.camera(pinned).resizes(for: pinned) == nil)
    #expect(SourceCamera(linger: .zero, after: [], within: .zero).resizes(for: pinned) == nil)
  }
}
