// Finds out which shaders draw faster on a GPU, and remembers it.
internal import Glibc
internal import Shaders
internal import Synchronization

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

  /// The results of this process, by driver.
  private static let found = Mutex<[[String]: PassMethod]>([:])

  /// A trial that has begun. If it ends the process, or the driver, twice, there is no third.
  private static let beginnings = ["trial 1", "trial 2"]

  /// The shaders that draw faster with a driver: from a trial in this process or, on this machine, in an earlier one. Nil
  /// before a trial. Without a cache folder, the result could not be kept, and there are no trials.
  static func known(_ driver: GPUDevice.Driver, _ folder: CacheFolder? = .ofThisProcess) -> PassMethod? {
    found.withLock { found in
      if let method = found[driver.identity] { return method }
      guard let folder else { return .fragments }
      found[driver.identity] = note(of: driver, folder).flatMap(PassMethod.init(rawValue:))
      return found[driver.identity]
    }
  }

  private static func note(of driver: GPUDevice.Driver, _ folder: CacheFolder) -> String? {
    folder.read(fileName(driver), limit: 16).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func keep(_ note: String, of driver: GPUDevice.Driver, _ folder: CacheFolder) {
    folder.write(Array(note.utf8), to: fileName(driver))
  }

  /// It also depends on the shaders. The folder does not remove it in favour of newer files.
  private static func fileName(_ driver: GPUDevice.Driver) -> String {
    ProgramBinaryKey(sources: ["passes"] + ShaderSource.texts, driver: driver.identity).name + ".passes"
  }

  /// How much of the fragment shaders' time compute shaders may take.
  private static let mostShare = 0.9
  private static let rounds = 6

  /// Draws with the shaders of a method, and measures each stage.
  typealias Measure = (PassMethod, Frame, RenderPlan) throws -> (
    pictures: [Picture], measurement: RenderMeasurement
  )

  /// The driver refused a compute shader.
  struct Refusal: Error {}

  /// Returns `.compute` if compute shaders draw the same, to within 1 of 255, in clearly less time. The result is kept,
  /// unless it is an accident's, such as a lack of memory. While another renderer tries, in any process, it is
  /// `.fragments`, for this renderer alone.
  ///
  /// - Throws: `GLError` if the context is lost.
  static func run(
    on device: GPUDevice, _ tuning: RenderTuning, in folder: CacheFolder? = .ofThisProcess, _ measure: Measure
  ) throws(GLError) -> PassMethod {
    guard let driver = device.driver, let folder else { return .fragments }
    // The first write makes the folder.
    if note(of: driver, folder) == nil { keep("", of: driver, folder) }
    guard note(of: driver, folder) != nil, let lock = folder.lock(fileName(driver) + "-lock") else {
      return .fragments
    }
    defer { withExtendedLifetime(lock) {} }
    if let method = known(driver, folder) { return method }
    let begun = note(of: driver, folder).flatMap(beginnings.firstIndex(of:)).map { $0 + 1 } ?? 0
    var (method, isKept) = (PassMethod.fragments, true)
    if begun < beginnings.count {
      keep(beginnings[begun], of: driver, folder)
      do {
        if try trial(tuning, measure) { method = .compute }
      } catch let error as GLError where error.isContextLost {
        throw error
      } catch {
        // What the driver can't do, it can't do the next time either.
        isKept = error is Refusal || (error as? GLError)?.isOutOfMemory == false
      }
    }
    found.withLock { $0[driver.identity] = method }
    keep(isKept ? method.rawValue : "", of: driver, folder)
    return method
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

extension GPUDevice.Driver {
  /// The strings that identify whatever the speed of shaders depends on.
  fileprivate var identity: [String] { [vendor, renderer, versionText] }
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
    if driver.version < GLVersion(3, 1) { return .fragments }
    return PassTrial.forced ?? (isSoftware ? .fragments : PassTrial.known(driver))
  }
}
