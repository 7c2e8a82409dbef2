// A GPU, or the software that stands in for one, as a value: what there is, and which of it works.

/// One way to draw on this machine.
///
///     for device in await GPUDevice.list() { print(device) }
///     let device = try await GPUDevice.choose(.automatic)
public struct GPUDevice: Sendable, Hashable, CustomStringConvertible {
  /// How EGL comes to the device.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// By EGL's own list of devices (EGL_EXT_device_enumeration).
    case eglDevice = "EGL device"
    /// By a file in /dev/dri.
    case gbm = "GBM"
    /// By whatever the driver takes for its default.
    case surfaceless
  }

  /// What a device that works says of itself.
  public struct Driver: Sendable, Hashable {
    /// Such as "iris", "radeonsi", "swrast", "NVIDIA".
    public let name: String
    /// OpenGL's GL_VENDOR.
    public let vendor: String
    /// OpenGL's GL_RENDERER: "llvmpipe (LLVM 15.0.6, 256 bits)".
    public let renderer: String
    /// Of OpenGL ES, 3.0 or higher.
    package let version: GLVersion
    /// OpenGL's GL_VERSION, which names the driver's own version: "OpenGL ES 3.2 Mesa 22.3.6".
    public let versionText: String
    /// The longest side of a texture, in texels.
    public let maximumTextureSize: Int
  }

  /// What came of drawing a pixel and reading it back.
  public enum Status: Sendable, Hashable {
    /// The pixel was right.
    case works(Driver)
    /// It was not, or there was no way to draw it.
    case fails(reason: String)
  }

  /// The N that `--gpu N` takes. It stays the same while the machine has the same devices.
  public let index: Int
  /// How EGL comes to it.
  public let kind: Kind
  /// Its file, such as /dev/dri/renderD128; nil where it has none (software) or does not tell.
  public let drmNode: String?
  /// Whether the CPU does its work.
  public let isSoftware: Bool
  /// Whether it works.
  public let status: Status
  /// Where a display for it comes from.
  let platform: DisplayPlatform

  init(_ candidate: DeviceCandidate, _ status: Status) {
    index = candidate.index
    kind = candidate.kind
    drmNode = candidate.drmNode
    platform = candidate.platform
    self.status = status
    isSoftware =
      switch status {
      case .works(let driver): candidate.isMarkedSoftware || Self.isSoftware(renderer: driver.renderer)
      case .fails: candidate.isMarkedSoftware
      }
  }

  /// What it says of itself; nil where it does not work.
  public var driver: Driver? {
    guard case .works(let driver) = status else { return nil }
    return driver
  }

  /// What people call it: its renderer, or where it was looked for.
  public var name: String { driver?.renderer ?? place }

  /// On one line: "0: llvmpipe (LLVM 15.0.6, 256 bits), OpenGL ES 3.2, swrast, software, EGL device".
  public var description: String {
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

  /// Where it was looked for.
  var place: String {
    switch platform {
    case .device(let index): "EGL device \(index)" + (drmNode.map { " (\($0))" } ?? "")
    case .gbm(let node): "GBM on \(node)"
    case .surfaceless: "EGL's default without a surface"
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
}

extension GPUDevice {
  /// Every device of this machine, in the order of `index`; those that do not work say why.
  ///
  /// Each is tried with a context of its own, which takes 5 to 50 ms and leaves nothing behind but the open display.
  /// What leads to a device that is in the list already is left out.
  public static func list() async -> [GPUDevice] {
    do {
      return await DeviceThread(try .forDevices(named: "gpu-probe")).list()
    } catch {
      return DeviceSearch.ofThisMachine { GPUDevice($0, .fails(reason: "\(error)")) }.list()
    }
  }

  /// The device that a user wants, tried and found to work.
  ///
  /// `.automatic` tries hardware first and stops at the first that works.
  /// - Throws: `DeviceError`, with all that was tried and what may help.
  public static func choose(_ choice: GPUChoice = .automatic) async throws(DeviceError) -> GPUDevice {
    try await DeviceThread(.forDevices(named: "gpu-probe")).choose(choice)
  }

  /// The same on the thread that will draw on the device: the context that it was tried in is left parked there.
  static func choose(_ choice: GPUChoice, toDrawOn thread: GPUThread) async throws(DeviceError) -> GPUDevice {
    try await DeviceThread(thread).chooseForDrawing(choice)
  }
}

extension GPUDevice {
  /// Sets the variables that drivers read, unless they are set: `LP_NUM_THREADS` to 0, `EGL_LOG_LEVEL` to `fatal`, and
  /// `MESA_SHADER_CACHE_DIR` where Mesa would find no folder by itself.
  ///
  /// The first opening of a device does that too. Since no other thread may read the environment meanwhile, call this
  /// before a device is opened beside other work.
  public static func prepareEnvironment() { DriverEnvironment.prepare }
}

extension GPUThread {
  /// A new thread, without which there is no device.
  static func forDevices(named name: String) throws(DeviceError) -> GPUThread {
    do { return try GPUThread(named: name) } catch {
      throw DeviceError(problem: "no usable GPU", attempts: [], hints: ["\(error)"])
    }
  }
}

/// Candidates are tried on a thread of their own: whatever is current on the caller's stays so.
private actor DeviceThread {
  private let thread: GPUThread

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  init(_ thread: GPUThread) { self.thread = thread }

  func list() -> [GPUDevice] { DeviceSearch.ofThisMachine(DeviceProbe.probe).list() }

  func chooseForDrawing(_ choice: GPUChoice) throws(DeviceError) -> GPUDevice {
    do throws(DeviceError) {
      return try DeviceSearch.ofThisMachine(DeviceProbe.probeForDrawing).choose(choice)
    } catch {
      GLContext.endParked()
      throw error
    }
  }

  func choose(_ choice: GPUChoice) throws(DeviceError) -> GPUDevice {
    try DeviceSearch.ofThisMachine(DeviceProbe.probe).choose(choice)
  }
}
