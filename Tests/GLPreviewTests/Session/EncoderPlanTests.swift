// What a video does with each picture, case by case, without an encoder.
import PreviewCore
import Testing

@testable import CaptureCore
@testable import GLPreview
@testable import VideoFormats

private func at(_ milliseconds: Int) -> CaptureInstant { .start + .milliseconds(milliseconds) }

@Suite("EncoderPlan")
struct EncoderPlanTests {
  /// A picture that a preview gives 10 ms after it was captured.
  struct Given: Sendable {
    var sequence = 0
    var version = 0
    var state = SourceState.live
    var isOriginal = false
    /// By default, pictures are 100 ms apart.
    var capturedAt: CaptureInstant?

    static func drawn(_ sequence: Int, version: Int = 0, _ state: SourceState = .live) -> Given {
      Given(sequence: sequence, version: version, state: state)
    }

    static func original(_ sequence: Int) -> Given { Given(sequence: sequence, isOriginal: true) }

    var now: CaptureInstant { at(sequence * 100 + 10) }

    var picture: PreviewPicture {
      let time = capturedAt ?? at(sequence * 100)
      let key = PictureKey(sequence: sequence, version: version, outage: state == .live ? 0 : 1)
      guard isOriginal else {
        let size = Size(width: 1, height: 1)
        return .drawn(
          RenderedPicture(
            name: "main", picture: Picture(tight: size, format: .rgba, bytes: [0, 0, 0, 255]), key,
            timestamp: time, sourceState: state))
      }
      let format = H264Format(sps: [], pps: [], size: Size(width: 16, height: 16), encoder: nil)
      let sample = VideoSample(bytes: [], isKey: true, timestamp: time, format: format)
      let original = CameraPicture(
        content: .h264(OriginalVideo().add(sample)), sequence: sequence, timestamp: time
      ) { nil }
      return .original(original, version: version)
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let given: [Given]
    let isBatched: Bool
    let steps: [EncoderPlan.Step]

    /// `steps` are those of the last picture.
    init(_ name: String, _ given: Given..., isBatched: Bool = false, steps: EncoderPlan.Step...) {
      (testDescription, self.given, self.isBatched, self.steps) = (name, given, isBatched, steps)
    }
  }

  private static let cases = [
    Case("the first picture is encoded", .drawn(1), steps: .encode(keyframe: false, time: at(100))),
    Case("so are those after it", .drawn(1), .drawn(2), steps: .encode(keyframe: false, time: at(200))),
    Case("an original closes the encoder", .drawn(1), .original(2), steps: .rest, .passOn),
    Case("originals follow one another", .original(1), .original(2), steps: .passOn),
    Case(
      "encoding after originals begins with a keyframe", .original(1), .drawn(2),
      steps: .encode(keyframe: true, time: at(200))),
    Case(
      "a changed view discards samples of the view before", .original(1), .drawn(2, version: 1),
      steps: .discard(batched: true), .encode(keyframe: true, time: at(200))),
    Case(
      "a lost camera's last originals are passed on first", .original(1), .drawn(2, .lost),
      steps: .flush, .discard(batched: false), .loseSource, .encode(keyframe: true, time: at(200))),
    Case(
      "batched watchers get no fallback", .original(1), .drawn(2, .lost), isBatched: true,
      steps: .flush, .discard(batched: false), .loseSource, .drop),
    Case(
      "nothing is passed on of a camera that was switched off", .original(1), .drawn(2, .off),
      steps: .discard(batched: true), .loseSource, .encode(keyframe: true, time: at(200))),
    Case(
      "nothing is passed on of another view", .original(1), .drawn(2, version: 1, .lost),
      steps: .discard(batched: true), .loseSource, .encode(keyframe: true, time: at(200))),
    Case(
      "batched watchers keep the samples of a lost camera", .drawn(1), .drawn(2, .lost),
      steps: .discard(batched: false), .loseSource, .encode(keyframe: false, time: at(200))),
    Case(
      "samples are discarded once", .drawn(1), .drawn(2, .lost), .drawn(3, .lost),
      steps: .loseSource, .encode(keyframe: false, time: at(300))),
    Case(
      "fallbacks are discarded when the camera is back", .drawn(1, .lost), .drawn(2),
      steps: .discard(batched: false), .encode(keyframe: false, time: at(200))),
    Case(
      "originals follow a fallback", .drawn(1, .lost), .original(2), isBatched: true,
      steps: .discard(batched: false), .rest, .passOn),
    Case(
      "a video may begin with a fallback", .drawn(1, .opening),
      steps: .discard(batched: true), .loseSource, .encode(keyframe: false, time: at(100))),
    Case(
      "a picture that is repeated is as new as its repetition", .drawn(2), .drawn(2),
      steps: .encode(keyframe: false, time: at(210))),
    Case(
      "an old picture is dated a second back at most", Given(sequence: 30, capturedAt: at(5)),
      steps: .encode(keyframe: false, time: at(2010))),
  ]

  @Test("each picture gives the encoder steps that follow from the pictures before it", arguments: cases)
  func steps(_ one: Case) {
    var plan = EncoderPlan(repeats: .seconds(1))
    let steps = one.given.map { plan.steps(for: $0.picture, isBatched: one.isBatched, at: $0.now) }
    #expect(steps.last == one.steps)
  }

  @Test("only an encoded picture is due for repetition")
  func repeats() {
    var plan = EncoderPlan(repeats: .seconds(1))
    func encodedAt(_ given: Given, isBatched: Bool = false) -> CaptureInstant? {
      _ = plan.steps(for: given.picture, isBatched: isBatched, at: given.now)
      return plan.encodedAt
    }
    #expect(plan.encodedAt == nil)
    #expect(encodedAt(.drawn(1)) == at(110))
    #expect(encodedAt(.original(2)) == nil)
    #expect(encodedAt(.drawn(3, .lost)) == at(310))
    #expect(encodedAt(.drawn(4, .lost), isBatched: true) == nil)
  }
}
