// A GPU, the CPU or a software driver as a value: what the machine has, which of it works and how it draws best.
internal import CPURenderer
internal import Glibc

/// A device that can draw on this machine.
///
///     for device in await GPUDevice.list() { print(device) }
///     let device = try await GPUDevice.choose(.automatic)
public struct GPUDevice: Sendable, Hashable, CustomStringConvertible {
  /// How EGL reaches the device.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Through EGL's device list (EGL_EXT_device_enumeration).
    case eglDevice = "EGL device"
    /// Through a file in /dev/dri.
    case gbm = "GBM"
    /// Through the driver's default.
    case surfaceless
    /// Without EGL: the processor's vector instructions draw.
    case cpu = "CPU"
  }

  /// A working device's description of itself.
  public struct Driver: Sendable, Hashable {
    /// The driver's name, such as "iris", "radeonsi", "swrast" or "NVIDIA".
    public let name: String
    /// OpenGL's GL_VENDOR.
    public let vendor: String
    /// OpenGL's GL_RENDERER: "llvmpipe (LLVM 15.0.6, 256 bits)".
    public let renderer: String
    /// The version of OpenGL ES, 3.0 or higher.
    package let version: GLVersion
    /// OpenGL's GL_VERSION, which includes the driver's own version: "OpenGL ES 3.2 Mesa 22.3.6".
    public let versionText: String
    /// The longest side of a texture, in texels.
    public let maximumTextureSize: Int
  }

  /// The result of drawing a pixel and reading it back.
  public enum Status: Sendable, Hashable {
    /// The pixel was correct.
    case works(Driver)
    /// The pixel was wrong, or could not be drawn.
    case fails(reason: String)
  }

  /// The N of `--gpu N`. Stable while the machine has the same devices; -1 for the CPU.
  public let index: Int
  /// How EGL reaches it.
  public let kind: Kind
  /// Its file, such as /dev/dri/renderD128; nil for software, or if unknown.
  public let drmNode: String?
  /// Whether it renders on the CPU.
  public let isSoftware: Bool
  /// Whether it works, and what it is.
  public let status: Status
  /// For the CPU that `.automatic` has chosen although there is a device file of a GPU: why not the GPU, and what
  /// may help. Otherwise nil.
  public let passedOver: String?
  /// Nil for the CPU.
  let platform: DisplayPlatform?

  /// The CPU, which always works and needs no driver.
  public static let cpu = GPUDevice(passingOver: nil)

  /// The CPU, in place of a GPU that does not work.
  init(passingOver reason: String?) {
    passedOver = reason
    (index, kind, drmNode, platform, isSoftware) = (-1, .cpu, nil, nil, true)
    status = .works(
      Driver(
        name: "cpu", vendor: "GLPreview", renderer: "CPU (\(CPURenderer.Instructions.best))",
        version: GLVersion(0, 0), versionText: "",
        maximumTextureSize: CPURenderer.tuning.maximumTargetSide))
  }

  init(_ candidate: DeviceCandidate, _ status: Status) {
    index = candidate.index
    kind = candidate.kind
    drmNode = candidate.drmNode
    platform = candidate.platform
    passedOver = nil
    self.status = status
    isSoftware =
      switch status {
      case .works(let driver): candidate.isMarkedSoftware || Self.isSoftware(renderer: driver.renderer)
      case .fails: candidate.isMarkedSoftware
      }
  }

  /// The driver's description; nil if the device does not work.
  public var driver: Driver? {
    guard case .works(let driver) = status else { return nil }
    return driver
  }

  /// The name for people: the renderer, or the place where it was looked for.
  public var name: String { driver?.renderer ?? place }

  /// One line: "0: llvmpipe (LLVM 15.0.6, 256 bits), OpenGL ES 3.2, swrast, software, EGL device".
  public var description: String {
    guard kind != .cpu else { return "\(name), software" }
    let parts: [String?] =
      switch status {
      case .works(let driver):
        [
          driver.renderer, "OpenGL ES \(driver.version)", driver.name, isSoftware ? "software" : nil, drmNode,
          kind.rawValue,
        ]
      case .fails(let reason): [place, "does not work: \(reason)"]
      }
    return "\(index): " + parts.compactMap(\.self).joined(separator: ", ")
  }

  /// The place where it was looked for.
  var place: String {
    switch platform {
    case .device(let index): "EGL device \(index)" + (drmNode.map { " (\($0))" } ?? "")
    case .gbm(let node): "GBM on \(node)"
    case .surfaceless: "EGL's default without a surface"
    case nil: "the CPU"
    }
  }

  /// Whether a renderer's name is one of those that draw on the CPU. They also show through layers, such as
  /// "zink Vulkan 1.3 (llvmpipe ...)" or "virgl (LLVMPIPE ...)".
  static func isSoftware(renderer: String) -> Bool {
    let name = renderer.lowercased()
    return [
      "llvmpipe", "softpipe", "swrast", "software rasterizer", "swiftshader", "swr (llvm", "lavapipe",
      "microsoft basic render",
    ].contains { name.contains($0) }
  }

  /// Whether a renderer's name is one of those that draw tile by tile, in memory on the chip. Others may take discarding
  /// a target badly: NVIDIA's slows down (libplacebo, src/opengl/gpu.c).
  static func drawsByTiles(renderer: String) -> Bool {
    let name = renderer.lowercased()
    return ["v3d", "vc4", "mali", "panfrost", "immortalis", "adreno", "freedreno", "powervr", "apple"]
      .contains {
        name.contains($0)
      }
  }
}

extension GPUDevice {
  /// All devices of this machine, ordered by `index`, including failed ones with their reasons: the CPU, then those that
  /// OpenGL draws on.
  ///
  /// Each of these is tested in its own context, which takes 5 to 50 ms and leaves only the display open. A second way to a
  /// device already in the list is omitted.
  public static func list() async -> [GPUDevice] {
    do {
      return [.cpu] + (await DeviceThread(try .forDevices(named: "gpu-probe")).list())
    } catch {
      return [.cpu] + DeviceSearch.ofThisMachine { GPUDevice($0, .fails(reason: "\(error)")) }.list()
    }
  }

  /// Finds a working device for the user's choice.
  ///
  /// `.automatic` stops at the first hardware that works, and is the CPU if there is none. Without a device file of a
  /// GPU, no driver is loaded.
  /// - Throws: `DeviceError`, with all attempts and hints.
  public static func choose(_ choice: Choice = .automatic) async throws(DeviceError) -> GPUDevice {
    switch choice {
    case .cpu: return .cpu
    case .automatic:
      guard HostFacts.hasGPUFile else { return .cpu }
      do throws(DeviceError) { return try await chooseForGL(.hardware) } catch {
        return GPUDevice(passingOver: "\(error)")
      }
    case .hardware, .llvmpipe, .index, .node: return try await chooseForGL(choice)
    }
  }

  /// Finds a working device that OpenGL draws on: `.automatic` is the first hardware, otherwise software, and `.cpu` is
  /// software.
  package static func chooseForGL(_ choice: Choice = .automatic) async throws(DeviceError) -> GPUDevice {
    try await DeviceThread(.forDevices(named: "gpu-probe")).choose(choice)
  }

  /// Chooses a device on the thread that will draw on it; the tested context stays parked there.
  static func choose(_ choice: Choice, toDrawOn thread: GPUThread) async throws(DeviceError) -> GPUDevice {
    try await DeviceThread(thread).chooseForDrawing(choice)
  }

  /// Sets the variables that drivers read, unless they are set: `LP_NUM_THREADS` to 0, `EGL_LOG_LEVEL` to `fatal`,
  /// and `MESA_SHADER_CACHE_DIR` if Mesa would not find a folder itself.
  ///
  /// Opening the first device does this too. Because no other thread may read the environment at the same time, call
  /// this before opening a device concurrently with other work.
  public static func prepareEnvironment() { DriverEnvironment.prepare }

  /// Prepares the environment of a program that draws `views` and little else: software draws those that cost
  /// more than decoding and encoding on several threads. Measured on Mesa 22.3 with two cores, 1920x1080 to 640x360: Lanczos of NV12 takes 8 ms
  /// in place of 15, linear light of RGB24 25 in place of 51, at the same CPU time.
  package static func prepareEnvironment(toDraw views: [ViewConfiguration]) {
    if views.contains(where: \.isHeavy) {
      DriverEnvironment.add("LP_NUM_THREADS", "\(min(max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1), 8))")
    }
    prepareEnvironment()
  }

  /// The recommended tuning for the device.
  ///
  /// Measured on Mesa 22.3's llvmpipe, 1920x1080 to 640x360: sixteen bytes at a time from a buffer take 0.4 of the
  /// time of four at a time from a texture, and the buffer is cheaper to fill. Hardware has texture units.
  ///
  /// Hardware gets three frames in flight: one uploads, one draws, one downloads. Software does all of that on the
  /// same cores, and llvmpipe's timer queries only cover the last target.
  ///
  /// The kind of shaders is hardware's faster one, which a renderer finds out when it opens, once for a driver.
  package var tuning: RenderTuning {
    guard kind != .cpu else { return CPURenderer.tuning }
    let isInWords =
      isSoftware && (driver?.version ?? GLVersion(3, 0)) >= GLVersion(3, 2) && passes != .compute
    let jpegProcessor = jpegProcessor
    // Pictures are coded from a buffer.
    let softwareTransfer = jpegProcessor == .gpu ? FrameTransfer.buffered(framesInFlight: 1) : .direct
    var tuning = RenderTuning(
      maximumTargetSide: driver?.maximumTextureSize ?? 2048, boxes: isInWords ? .words : .texels,
      transfer: isSoftware ? softwareTransfer : .buffered(framesInFlight: 3), timesPasses: !isSoftware,
      passes: passes, discardsTargets: driver.map { Self.drawsByTiles(renderer: $0.renderer) } ?? false)
    tuning.codesJPEG = jpegProcessor.map { $0 == .gpu }
    return tuning
  }
}

extension GPUThread {
  /// A new thread. Throws if there is none, since no device can be used then.
  static func forDevices(named name: String) throws(DeviceError) -> GPUThread {
    do { return try GPUThread(named: name) } catch {
      throw DeviceError(problem: "no usable GPU", attempts: [], hints: ["\(error)"])
    }
  }
}

extension GPUDevice {
  /// A device whose context, tested and parked on `thread`, can draw at the same time as one of this device; nil if
  /// there is none.
  ///
  /// Software's contexts of one display draw by turns (`DriverTurn`), so that it needs a second one, which must be the
  /// same driver's.
  /// It must have no context of other renderers, which would wait for it, unless it is `shared`.
  func beside(toDrawOn thread: GPUThread, shared: Bool = false) async -> GPUDevice? {
    guard isSoftware else { return self }
    let candidates = DeviceCandidate.all(renderNodes: [])
    // With hardware, the default is that.
    guard let platform, platform != .surfaceless, let byDefault = candidates.last,
      candidates.allSatisfy({ $0.isMarkedSoftware || [platform, .surfaceless].contains($0.platform) })
    else { return nil }
    guard let display = try? GPUDisplay.open(byDefault.platform), shared || display.turn?.contexts ?? 0 == 0
    else { return nil }
    return await DeviceThread(thread).device(byDefault, of: driver)
  }
}

/// Tests candidates on its own thread, so that the caller's current context is not changed.
private actor DeviceThread {
  private let thread: GPUThread

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  init(_ thread: GPUThread) { self.thread = thread }

  func list() -> [GPUDevice] { DeviceSearch.ofThisMachine(DeviceProbe.probe).list() }

  func chooseForDrawing(_ choice: GPUDevice.Choice) throws(DeviceError) -> GPUDevice {
    do throws(DeviceError) {
      return try DeviceSearch.ofThisMachine(DeviceProbe.probeForDrawing).choose(choice)
    } catch {
      GLContext.endParked()
      throw error
    }
  }

  /// Nil unless the candidate's programs are this driver's, however EGL calls it ("swrast" and "kms_swrast" are one).
  func device(_ candidate: DeviceCandidate, of driver: GPUDevice.Driver?) -> GPUDevice? {
    let device = DeviceProbe.probeForDrawing(candidate)
    if let driver, let own = device.driver,
      (own.renderer, own.versionText) == (driver.renderer, driver.versionText)
    {
      return device
    }
    GLContext.endParked()
    return nil
  }

  func choose(_ choice: GPUDevice.Choice) throws(DeviceError) -> GPUDevice {
    try DeviceSearch.ofThisMachine(DeviceProbe.probe).choose(choice)
  }
}

extension ViewConfiguration {
  /// Whether drawing it takes longer than decoding and encoding.
  fileprivate var isHeavy: Bool {
    switch filter {
    case .bicubic, .mitchell, .lanczos: true
    case .auto, .area, .bilinear, .nearest: light == .linear
    }
  }
}
