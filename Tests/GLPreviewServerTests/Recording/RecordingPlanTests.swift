// The pictures that are recorded: every one of the span, each once, in files that begin with key pictures.
import PreviewCore
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation
@testable import VideoFormats

@Suite("Recording plan")
struct RecordingPlanTests {
  private static let format = H264Format(
    sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
    size: Size(width: 14, height: 12), encoder: nil)

  /// Ten pictures a second; every `gop`th is a key picture.
  private static func sample(_ index: Int, gop: Int = 10, bytes: Int = 10, _ format: H264Format = format)
    -> VideoSample
  {
    VideoSample(
      bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: bytes), isKey: index % gop == 0,
      timestamp: .start + .seconds(1000) + .milliseconds(100 * index), format: format)
  }

  private static func index(_ sample: VideoSample) -> Int {
    Int(((sample.timestamp - .start) / .milliseconds(100)).rounded()) - 10_000
  }

  /// The files that steps make, as the numbers of their pictures.
  private struct Files {
    var files: [[Int]] = []
    var isOpen = false

    mutating func carryOut(_ steps: [RecordingPlan.Step]) {
      for step in steps {
        switch step {
        case .begin(let samples):
          #expect(!isOpen && samples.first?.isKey == true)
          files.append(samples.map(index))
          isOpen = true
        case .append(let sample):
          #expect(isOpen)
          files[files.count - 1].append(index(sample))
        case .end:
          #expect(isOpen)
          isOpen = false
        }
      }
    }
  }

  private static func configuration(
    _ when: RecordingConfiguration.Occasion, before: Int = 2, after: Int = 3, segment: Int = 60
  ) -> RecordingConfiguration {
    var configuration = RecordingConfiguration()
    configuration.when = when
    (configuration.before, configuration.after) = (.seconds(before), .seconds(after))
    configuration.segment = .seconds(segment)
    return configuration
  }

  @Test("`always` records each picture once, in files of the segment length that start at keyframes")
  func always() {
    var (plan, files) = (RecordingPlan(Self.configuration(.always, segment: 5)), Files())
    for index in 3..<200 { files.carryOut(plan.take(Self.sample(index))) }
    files.carryOut(plan.interrupt())
    #expect(files.files.flatMap(\.self) == Array(10..<200), "from the first key picture on")
    #expect(files.files.map(\.count) == [50, 50, 50, 40] && !files.isOpen)
  }

  @Test("a triggered recording covers at least `before` and `after` it, extended to keyframes")
  func trigger() {
    var (plan, files) = (RecordingPlan(Self.configuration(.trigger)), Files())
    for index in 0..<300 {
      if index == 105 { plan.trigger(until: Self.sample(125).timestamp) }
      files.carryOut(plan.take(Self.sample(index)))
    }
    // From the last key picture that is 2 s old at the latest key picture, to the first after 125 + 30.
    #expect(files.files == [Array(80..<160)] && !files.isOpen)
  }

  @Test("a trigger extends a recording; one soon after its end starts a file exactly where it ended")
  func triggers() {
    var (plan, files) = (RecordingPlan(Self.configuration(.motion)), Files())
    for index in 0..<400 {
      for time in [100, 120, 175, 300] where index == time {
        plan.trigger(until: Self.sample(time).timestamp)
      }
      files.carryOut(plan.take(Self.sample(index)))
    }
    #expect(files.files == [Array(80..<160), Array(160..<210), Array(280..<340)])
  }

  @Test("a trigger that ends before the next picture is recorded too")
  func moment() {
    var configuration = Self.configuration(.trigger)
    configuration.after = .milliseconds(1)
    var (plan, files) = (RecordingPlan(configuration), Files())
    for index in 0..<100 {
      if index == 50 { plan.trigger(until: Self.sample(49).timestamp + .milliseconds(10)) }
      files.carryOut(plan.take(Self.sample(index)))
    }
    #expect(files.files == [Array(30..<60)])
  }

  @Test("stopping a trigger still records its `after` time")
  func stop() {
    var (plan, files) = (RecordingPlan(Self.configuration(.trigger)), Files())
    for index in 0..<300 {
      if index == 100 { plan.trigger(until: Self.sample(1000).timestamp) }
      if index == 150 { plan.stop(at: Self.sample(150).timestamp) }
      files.carryOut(plan.take(Self.sample(index)))
    }
    #expect(files.files == [Array(80..<190)])
  }

  @Test("without a keyframe a recording ends 10 s after its planned end")
  func noKeys() {
    var (plan, files) = (RecordingPlan(Self.configuration(.trigger)), Files())
    for index in 0..<600 {
      if index == 20 { plan.trigger(until: Self.sample(20).timestamp) }
      files.carryOut(plan.take(Self.sample(index, gop: 500)))
    }
    #expect(files.files == [Array(0..<151)])
  }

  @Test("a format change starts a new file, and after an interruption a file starts with a keyframe")
  func formats() {
    let other = H264Format(sps: [1], pps: [2], size: Size(width: 20, height: 12), encoder: .x264)
    var (plan, files) = (RecordingPlan(Self.configuration(.always)), Files())
    for index in 0..<30 { files.carryOut(plan.take(Self.sample(index, index < 20 ? Self.format : other))) }
    files.carryOut(plan.interrupt())
    for index in 35..<50 { files.carryOut(plan.take(Self.sample(index))) }
    #expect(files.files == [Array(0..<20), Array(20..<30), Array(40..<50)])
  }

  @Test(
    "forgetOldest() drops one group of pictures, and a recording starts at the next keyframe"
  )
  func room() {
    var (plan, files) = (RecordingPlan(Self.configuration(.trigger, before: 60)), Files())
    for index in 0..<25 { files.carryOut(plan.take(Self.sample(index))) }
    #expect(plan.waitingBytes == 250)
    plan.forgetOldest()
    #expect(plan.waitingBytes == 150)
    plan.trigger(until: Self.sample(25).timestamp)
    for index in 25..<30 { files.carryOut(plan.take(Self.sample(index))) }
    #expect(files.files == [Array(10..<30)] && plan.waitingBytes == 0)
    plan.forgetOldest()
    #expect(plan.waitingBytes == 0)
  }

  @Test("buffered pictures are bounded in bytes, even within one group of pictures")
  func bytes() {
    let size = RecordingPlan.mostWaitingBytes / 8
    for gop in [3, 1000] {
      var (plan, files) = (RecordingPlan(Self.configuration(.trigger, before: 60)), Files())
      for index in 0..<50 { files.carryOut(plan.take(Self.sample(index, gop: gop, bytes: size))) }
      plan.trigger(until: Self.sample(50).timestamp)
      files.carryOut(plan.take(Self.sample(50, gop: gop, bytes: size)))
      #expect(files.files.flatMap(\.self).count <= 9)
      #expect(gop == 3 ? files.files.first?.last == 50 : files.files.isEmpty)
    }
  }
}
