// Finds out which shaders draw faster on a GPU, and remembers it.
internal import Glibc
internal import Shaders

/// The choice between fragment shaders and compute shaders. Some GPUs draw triangles on a fraction of the chip; others keep
/// the pixels of a target in fast memory.
enum PassTrial {
  /// The user's choice by the environment, which need not be valid; nil to try.
  private static let variable = unsafe String(lent: getenv("GLPREVIEW_PASSES")).flatMap {
    $0.isEmpty ? nil : $0
  }

  /// The user's choice: `GLPREVIEW_PASSES`, which is `fragments` or `compute`.
  static let forced = variable.flatMap(PassMethod.init(rawValue:))

  /// - Throws: `RenderError` if the user's choice is neither.
  static func check() throws(RenderError) {
    guard let variable, forced == nil else { return }
    let names = PassMethod.allCases.map(\.rawValue).joined(separator: " or ")
    throw RenderError("the environment's GLPREVIEW_PASSES is \(variable), but may be \(names)")
  }

  /// - Throws: `RenderError` if the user's choice is not valid, or not possible on a device.
  static func check(on device: GPUDevice) throws(RenderError) {
    try check()
    guard forced == .compute, let version = device.driver?.version, version < leastForCompute else { return }
    throw RenderError(
      "\(device.name): the environment's GLPREVIEW_PASSES is compute, but compute shaders need OpenGL ES "
        + "\(leastForCompute), and this is \(version)")
  }

  /// The first version of OpenGL ES with compute shaders.
  fileprivate static let leastForCompute = GLVersion(3, 1)

  private static let choices = DriverTrial("passes", usual: PassMethod.fragments)

  /// The shaders that draw faster with a driver; nil before a trial.
  static func known(_ driver: GPUDevice.Driver, _ folder: CacheFolder? = .ofThisProcess) -> PassMethod? {
    choices.known(driver, folder)
  }

  /// How much of the fragment shaders' time compute shaders may take.
  private static let mostShare = 0.9
  private static let rounds = 6

  /// Draws with the shaders of a method, and measures each stage.
  typealias Measure = (PassMethod, Frame, RenderPlan) throws -> (
    pictures: [Picture], measurement: RenderMeasurement
  )

  /// Returns `.compute` if compute shaders draw the same, to within 1 of 255, in clearly less time.
  ///
  /// - Throws: `GLError` if the context is lost.
  static func run(
    on device: GPUDevice, _ tuning: RenderTuning, in folder: CacheFolder? = .ofThisProcess, _ measure: Measure
  ) throws(GLError) -> PassMethod {
    try choices.run(device.driver, in: folder) { try trial(tuning, measure) ? .compute : .fragments }
  }

  /// Returns whether compute shaders draw the same in clearly less time.
  private static func trial(_ tuning: RenderTuning, _ measure: Measure) throws -> Bool {
    let frame = try noise(Size(width: 1920, height: 1080))
    func plan(_ views: [ViewConfiguration], _ output: Picture.Format) throws -> RenderPlan {
      try RenderPlanner(tuning: tuning).plan(frame.format, views.map { ViewRequest($0, as: output) })
    }
    // Views that are as different as can be, for their pictures alone; one by one, so that each is written to a buffer.
    let odd = [
      ViewConfiguration(mirroring: .horizontal, width: 501, height: 283, contentMode: .fit, filter: .lanczos),
      ViewConfiguration(rotation: .clockwise90, width: 203, height: 301),
      ViewConfiguration(width: 77, filter: .bilinear),
      ViewConfiguration(width: 90, light: .linear),
    ]
    for output in [Picture.Format.rgba, .ycbcr(.yuv420)] {
      for view in odd {
        let plan = try plan([view], output)
        guard
          try measure(.compute, frame, plan).pictures.areClose(to: measure(.fragments, frame, plan).pictures)
        else { return false }
      }
    }
    let sizes = [(640, 360), (1280, 720), (320, 180), (160, 90)]
    let usual = try plan(sizes.map { ViewConfiguration(width: $0, height: $1) }, .ycbcr(.yuv420))
    var least: [PassMethod: Duration] = [:]
    // The first round compiles.
    for round in 0...rounds {
      var drawn: [PassMethod: [Picture]] = [:]
      for method in PassMethod.allCases {
        let (pictures, measurement) = try measure(method, frame, usual)
        drawn[method] = pictures
        // GPUs' clocks need not count what compute shaders do.
        let time = measurement.passes.wall + measurement.readback.wall
        if round > 0 { least[method] = min(least[method] ?? time, time) }
      }
      guard let compute = drawn[.compute], let fragments = drawn[.fragments], compute.areClose(to: fragments)
      else {
        return false
      }
    }
    guard let compute = least[.compute], let fragments = least[.fragments] else { return false }
    return compute < fragments * mostShare
  }

  /// A frame in which no rows are the same.
  private static func noise(_ size: Size) throws -> Frame {
    let format = Frame.Format(.nv12, size, color: .jfif)
    let count = format.pixelFormat.planes.reduce(0) {
      $0 + $1.tightBytesPerRow(of: size) * $1.texels(of: size).height
    }
    var state: UInt32 = 1
    let bytes = (0..<count).map { _ in
      state = state &* 1_664_525 &+ 1_013_904_223
      return UInt8(truncatingIfNeeded: state >> 24)
    }
    return try Frame(tight: format, bytes: bytes)
  }
}

extension [Picture] {
  /// Whether no sample differs by more than 1.
  fileprivate func areClose(to others: [Picture]) -> Bool {
    count == others.count
      && zip(self, others).allSatisfy { picture, other in
        picture.bytes.count == other.bytes.count
          && zip(picture.bytes, other.bytes).allSatisfy { abs(Int($0) - Int($1)) <= 1 }
      }
  }
}

extension GPUDevice {
  /// The shaders that draw on it; nil for the CPU, and until a renderer has tried both kinds.
  package var passes: PassMethod? {
    guard let driver, kind != .cpu else { return nil }
    if driver.version < PassTrial.leastForCompute { return .fragments }
    return PassTrial.forced ?? (isSoftware ? .fragments : PassTrial.known(driver))
  }
}
