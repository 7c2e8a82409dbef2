// Finds out whether a GPU codes JPEGs faster than the CPU, and remembers it.
internal import Synchronization

/// The processor that codes JPEGs.
public enum JPEGProcessor: String, Sendable, Hashable, CaseIterable {
  /// The GPU, if it is hardware and a trial, once for a driver, has shown that it takes clearly less time than the CPU;
  /// otherwise the CPU. Text: "auto".
  case automatic = "auto"
  /// The CPU, by libjpeg-turbo.
  case cpu
  /// The GPU, by compute shaders, which need OpenGL ES 3.1. The files are the same, except that within a budget of bytes the
  /// quality may be a little lower, because the Huffman tables stay the standard ones. Pictures that it can't code are coded by the CPU.
  case gpu

  private static let choice = Mutex(JPEGProcessor.automatic)

  /// The processor that codes JPEGs in this process. A change is for renderers that are opened later. Default: `.automatic`.
  public static var chosen: JPEGProcessor {
    get { choice.withLock { $0 } }
    set { choice.withLock { $0 = newValue } }
  }
}

/// The choice between the GPU and the CPU for JPEGs.
enum CodingTrial {
  private static let choices = DriverTrial("jpeg", usual: JPEGProcessor.cpu)

  /// The processor that codes faster with a driver; nil before a trial.
  static func known(_ driver: GPUDevice.Driver, _ folder: CacheFolder? = .ofThisProcess) -> JPEGProcessor? {
    choices.known(driver, folder)
  }

  /// How much of the CPU's time the GPU may take.
  private static let mostShare = 0.5
  private static let rounds = 5
  private static let quality = 80

  /// Draws, and measures each stage.
  typealias Measure = (Frame, RenderPlan) throws -> (pictures: [Picture], measurement: RenderMeasurement)

  /// Returns `.gpu` if the GPU codes the same, byte for byte, in clearly less time.
  ///
  /// - Throws: `GLError` if the context is lost.
  static func run(
    on device: GPUDevice, _ tuning: RenderTuning, in folder: CacheFolder? = .ofThisProcess, _ measure: Measure
  ) throws(GLError) -> JPEGProcessor {
    try choices.run(device.driver, in: folder) { try trial(tuning, measure) ? .gpu : .cpu }
  }

  private static func trial(_ tuning: RenderTuning, _ measure: Measure) throws -> Bool {
    var tuning = tuning
    tuning.codesJPEG = true
    let frame = try self.frame(Size(width: 1280, height: 720))
    let planner = RenderPlanner(tuning: tuning)
    func plan(_ coding: PictureCoding?) throws -> RenderPlan {
      try planner.plan(
        frame.format, [ViewRequest(ViewConfiguration(), as: .ycbcr(.yuv420), coding: coding)])
    }
    // Sizes that are not of whole blocks, in all samplings, two of a frame, one within a budget, for their bytes alone.
    let odd: [(width: Int, quality: Int, chroma: Picture.ChromaSubsampling)] = [
      (1, 1, .yuv420), (77, 95, .yuv422), (200, 50, .yuv444), (333, 100, .yuv420),
    ]
    var hasSearched = false
    for (width, quality, chroma) in odd {
      let view = ViewConfiguration(width: width, height: width * 2 / 3 + 1)
      let codings = [
        PictureCoding(quality: quality, keepsSamples: true),
        PictureCoding(quality: quality, maximumBytes: 1000 + width * width / 5),
      ]
      let plan = try planner.plan(
        frame.format, codings.map { ViewRequest(view, as: .ycbcr(chroma), coding: $0) })
      let pictures = try measure(frame, plan).pictures
      // What does not fit is not coded.
      guard pictures[0].isCodedRight, pictures[1].scan == nil || pictures[1].isCodedRight else {
        return false
      }
      if let found = pictures[1].scan?.quality, found < quality { hasSearched = true }
    }
    guard hasSearched else { return false }
    let coding = PictureCoding(quality: quality)
    let (samples, coded) = (try plan(nil), try plan(coding))
    var least: (samples: Duration, coded: Duration, cpu: Duration)?
    // The first round compiles.
    for round in 0...rounds {
      let (drawn, first) = try measure(frame, samples)
      let (scans, second) = try measure(frame, coded)
      let start = ContinuousClock.now
      let file = try JPEGEncoder(quality: quality).encode(drawn[0])
      let cpu = ContinuousClock.now - start
      guard let scan = scans[0].scan, try JPEGEncoder(quality: quality).wrap(scan, of: scans[0]) == file
      else {
        return false
      }
      guard round > 0 else { continue }
      let before = least ?? (first.drawn, second.drawn, cpu)
      least = (min(before.samples, first.drawn), min(before.coded, second.drawn), min(before.cpu, cpu))
    }
    guard let least else { return false }
    return least.coded - least.samples < least.cpu * mostShare
  }

  /// A frame with edges, slopes and some noise, as cameras' are.
  private static func frame(_ size: Size) throws -> Frame {
    var state: UInt32 = 1
    let bytes = (0..<size.pixelCount * 3 / 2).map { index -> UInt8 in
      state = state &* 1_664_525 &+ 1_013_904_223
      let (x, y) = (index % size.width, index / size.width)
      let level = (x / 40 + y / 30) % 2 == 0 ? x / 8 : 200 - y / 8
      return UInt8(clamping: level + Int(state >> 29))
    }
    return try Frame(tight: Frame.Format(.nv12, size, color: .jfif), bytes: bytes)
  }
}

extension RenderMeasurement {
  /// The time of drawing, coding and reading back.
  fileprivate var drawn: Duration { passes.wall + readback.wall }
}

extension Picture {
  /// Whether its scan is what the CPU makes of its samples.
  fileprivate var isCodedRight: Bool {
    guard let scan else { return false }
    let encoder = JPEGEncoder(quality: scan.quality)
    guard let wrapped = try? encoder.wrap(scan, of: self), let file = try? encoder.encode(self) else {
      return false
    }
    return wrapped == file
  }
}

extension GPUDevice {
  /// A tuning with which it codes JPEGs, whatever is faster; nil if it can't.
  package var tuningForCoding: RenderTuning? {
    guard let driver, kind != .cpu, driver.version >= GLVersion(3, 1) else { return nil }
    var tuning = RenderTuning(
      maximumTargetSide: driver.maximumTextureSize, transfer: .buffered(framesInFlight: 3),
      passes: passes ?? .fragments)
    tuning.codesJPEG = true
    return tuning
  }

  /// The processor that codes JPEGs of pictures that are drawn on it, `.cpu` or `.gpu`; nil until a renderer has tried both.
  package var jpegProcessor: JPEGProcessor? {
    guard let driver, kind != .cpu, driver.version >= GLVersion(3, 1) else { return .cpu }
    let chosen = JPEGProcessor.chosen
    return chosen != .automatic ? chosen : isSoftware ? .cpu : CodingTrial.known(driver)
  }
}
