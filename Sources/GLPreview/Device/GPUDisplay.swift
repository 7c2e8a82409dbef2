// An EGL display and its extensions: one per device, for the life of the process; and the environment of its driver.
internal import CEGL
internal import CGBM
internal import Glibc
internal import Synchronization

enum DisplayPlatform: Sendable, Hashable {
  /// A device of EGL's own list (EGL_EXT_platform_device), by index.
  case device(Int)
  /// A file in /dev/dri (EGL_KHR_platform_gbm).
  case gbm(node: String)
  /// The driver's default (EGL_MESA_platform_surfaceless).
  case surfaceless
}

/// An open display.
///
/// EGL's displays belong to the process: a second request returns the same one, and `eglTerminate` by one user would
/// destroy the contexts of all. So each is initialised once and never terminated.
@safe struct GPUDisplay: Sendable {
  // EGL displays are thread-safe.
  nonisolated(unsafe) let handle: EGLDisplay
  /// The version of EGL.
  let version: GLVersion
  let vendor: String
  /// The driver's name, such as "iris" or "swrast", if it is available (EGL_MESA_query_driver).
  let driverName: String?
  var extensions: Set<Substring>
  /// The turn in which its contexts draw; nil if they may draw at once.
  let turn: DriverTurn?

  /// Whether the current context belongs to it.
  var isCurrent: Bool { unsafe eglGetCurrentDisplay() == handle }

  func has(_ name: Substring) -> Bool { extensions.contains(name) }

  /// The display of a platform, initialised at first use.
  static func open(_ platform: DisplayPlatform) throws(EGLError) -> GPUDisplay {
    try displays.withLock { displays throws(EGLError) in
      if let display = displays[platform] { return display }
      let display = try opened(platform)
      displays[platform] = display
      return display
    }
  }

  /// The display on which a new context of `platform` draws. Software's second context gets EGL's default display where
  /// that is software as well, so that two contexts need not take turns; each after them joins the one with fewer.
  static func forContext(on platform: DisplayPlatform) throws(EGLError) -> GPUDisplay {
    let display = try open(platform)
    guard let turn = display.turn, turn.contexts > 0, hasSecond(platform),
      let second = try? open(.surfaceless),
      let other = second.turn, other.contexts < turn.contexts
    else { return display }
    return second
  }

  /// The displays that `forContext(on:)` may have chosen so far.
  static func usedForContexts(on platform: DisplayPlatform) throws(EGLError) -> [GPUDisplay] {
    let display = try open(platform)
    guard display.turn != nil, hasSecond(platform), let second = displays.withLock({ $0[.surfaceless] })
    else {
      return [display]
    }
    return [display, second]
  }

  private static func hasSecond(_ platform: DisplayPlatform) -> Bool {
    platform != .surfaceless && EGLDevice.all.allSatisfy(\.isSoftware)
  }

  private static let displays = Mutex<[DisplayPlatform: GPUDisplay]>([:])

  /// A new display. Its error has the driver's first message beside EGL's code: "DRI2: failed to load driver".
  private static func opened(_ platform: DisplayPlatform) throws(EGLError) -> GPUDisplay {
    guard EGLClient.has("EGL_KHR_debug") else { return try GPUDisplay(platform) }
    message.withLock { $0 = nil }
    let callbackBefore = unsafe glp_egl_debug_callback()
    unsafe glp_egl_set_debug_callback { _, _, _, _, _, message in
      guard let text = unsafe String(lent: message) else { return }
      GPUDisplay.message.withLock { $0 = $0 ?? text }
    }
    defer { unsafe glp_egl_set_debug_callback(callbackBefore) }
    do throws(EGLError) { return try GPUDisplay(platform) } catch {
      throw error.with(message: message.withLock { $0 })
    }
  }

  /// The first message since a display began to open; EGL has one callback per process.
  private static let message = Mutex<String?>(nil)

  private init(_ platform: DisplayPlatform) throws(EGLError) {
    DriverEnvironment.prepare
    let (enumerator, native) = unsafe try Self.native(of: platform)
    guard let handle = unsafe glp_egl_get_platform_display(EGLenum(enumerator), native) else {
      throw .last("eglGetPlatformDisplay")
    }
    var major: EGLint = 0
    var minor: EGLint = 0
    guard unsafe eglInitialize(handle, &major, &minor) == EGL_TRUE else { throw .last("eglInitialize") }
    unsafe self.handle = handle
    version = GLVersion(Int(major), Int(minor))
    vendor = unsafe String(lent: eglQueryString(handle, EGL_VENDOR)) ?? "unknown"
    extensions = unsafe Set(
      (String(lent: eglQueryString(handle, EGL_EXTENSIONS)) ?? "").split(separator: " "))
    driverName =
      extensions.contains("EGL_MESA_query_driver")
      ? unsafe String(lent: glp_egl_get_driver_name(handle)) : nil
    // Mesa's "swrast" and "kms_swrast"; older versions do not say which driver it is.
    turn = driverName?.hasSuffix("swrast") ?? vendor.hasPrefix("Mesa") ? DriverTurn() : nil
  }

  private static func native(
    of platform: DisplayPlatform
  ) throws(EGLError) -> (enumerator: EGLint, handle: UnsafeMutableRawPointer?) {
    switch platform {
    case .device(let index):
      let devices = EGLDevice.all
      guard EGLClient.has("EGL_EXT_platform_device"), devices.indices.contains(index) else {
        throw EGLError("eglGetPlatformDisplay", .missing("EGL_EXT_platform_device"))
      }
      return unsafe (EGL_PLATFORM_DEVICE_EXT, devices[index].handle)
    case .gbm(let node):
      return unsafe (EGL_PLATFORM_GBM_KHR, UnsafeMutableRawPointer(try bufferManager(at: node)))
    case .surfaceless:
      guard EGLClient.has("EGL_MESA_platform_surfaceless") else {
        throw EGLError("eglGetPlatformDisplay", .missing("EGL_MESA_platform_surfaceless"))
      }
      return (EGL_PLATFORM_SURFACELESS_MESA, nil)
    }
  }

  private static func bufferManager(at node: String) throws(EGLError) -> OpaquePointer {
    guard EGLClient.has("EGL_KHR_platform_gbm") || EGLClient.has("EGL_MESA_platform_gbm") else {
      throw EGLError("eglGetPlatformDisplay", .missing("EGL_KHR_platform_gbm"))
    }
    return unsafe try withBufferManager(at: node) { unsafe $0.handle }
  }

  /// Makes a buffer of at least `byteCount` bytes of the device at `node`, which other devices may fill.
  static func makeBuffer(of byteCount: Int, at node: String) throws(EGLError) -> DMABuffer {
    try withBufferManager(at: node) { manager throws(EGLError) in try manager.makeBuffer(of: byteCount) }
  }

  private static func withBufferManager<Result>(
    at node: String, _ body: (BufferManager) throws(EGLError) -> Result
  ) throws(EGLError) -> Result {
    try bufferManagers.withLock { managers throws(EGLError) in
      if let manager = managers[node] { return try body(manager) }
      let manager = try BufferManager(node)
      managers[node] = manager
      return try body(manager)
    }
  }

  private static let bufferManagers = Mutex<[String: BufferManager]>([:])
}

/// Opened once per file and never closed, because displays, even failed ones, depend on it.
@safe private struct BufferManager: Sendable {
  // Used under the lock of `bufferManagers`, and by EGL to create displays, which it serialises.
  nonisolated(unsafe) let handle: OpaquePointer

  init(_ node: String) throws(EGLError) {
    let file = unsafe open(node, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw EGLError("opening \(node)", .system(errno)) }
    guard Self.isGPU(file) else {
      close(file)
      throw EGLError("opening \(node) as a GPU", .system(ENODEV))
    }
    guard let handle = unsafe gbm_create_device(file) else {
      let code = errno
      close(file)
      throw EGLError("gbm_create_device on \(node)", .system(code))
    }
    unsafe self.handle = handle
  }

  /// The bytes of a row of a buffer's made-up picture: a page, so that every driver keeps it.
  private static let bytesPerRow = 4096

  func makeBuffer(of byteCount: Int) throws(EGLError) -> DMABuffer {
    let activity = "a buffer of \(byteCount) bytes"
    let rows = (byteCount + Self.bytesPerRow - 1) / Self.bytesPerRow
    guard let height = UInt32(exactly: rows),
      let buffer = unsafe gbm_bo_create(
        handle, UInt32(Self.bytesPerRow), height, glp_gbm_format_r8, GBM_BO_USE_LINEAR.rawValue)
    else { throw EGLError(activity, .system(errno)) }
    // Its file keeps the memory.
    defer { unsafe gbm_bo_destroy(buffer) }
    guard unsafe gbm_bo_get_stride(buffer) == Self.bytesPerRow else {
      throw EGLError(activity, .missing("rows without padding"))
    }
    let descriptor = unsafe gbm_bo_get_fd(buffer)
    guard descriptor >= 0 else { throw EGLError(activity, .system(errno)) }
    do throws(DMABuffer.Failure) {
      return try DMABuffer(owning: descriptor, byteCount: rows * Self.bytesPerRow)
    } catch {
      throw EGLError(activity, .system(error.code))
    }
  }

  /// Whether a file is a device of the kernel's DRM, major number 226 (Documentation/admin-guide/devices.txt).
  ///
  /// Mesa accepts any file: for /dev/null it draws in software.
  private static func isGPU(_ file: CInt) -> Bool {
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { return false }
    // Like glibc's major(), which is a macro.
    return status.st_mode & S_IFMT == S_IFCHR && (status.st_rdev >> 8) & 0xfff == 226
  }
}

/// Environment variables that drivers read: set before the first display is opened, unless the user has set them.
enum DriverEnvironment {
  static let prepare: Void = {
    var words = sharedCacheBase()
    // Measured on Mesa 22.3, 1920x1080 NV12 to 640x360: beside a decoding and an encoding thread, llvmpipe's raster
    // threads save no wall time and cost half as much CPU again.
    words.append(("LP_NUM_THREADS", "0"))
    // Silences libEGL's own messages; our error includes them.
    words.append(("EGL_LOG_LEVEL", "fatal"))
    for (name, value) in words { add(name, value) }
  }()

  /// Sets a variable unless it is set.
  static func add(_ name: String, _ value: String) { unsafe glp_environment_add(name, value) }

  /// Mesa finds the home folder in the user database, not in HOME. If the user has none there, as in a systemd
  /// service with DynamicUser=, Mesa caches nothing, and llvmpipe regenerates its machine code in each run (150 ms
  /// for a view of a JPEG). In the folder given here Mesa creates `mesa_shader_cache`, as it would in `~/.cache`.
  private static func sharedCacheBase() -> [(name: String, value: String)] {
    guard unsafe getenv("MESA_GLSL_CACHE_DIR") == nil else { return [] }
    guard let base = CacheBase.ofThisProcess else {
      // An empty variable counts as unset; Mesa would complain about a folder without a name.
      return unsafe String(lent: getenv("XDG_CACHE_HOME")) == ""
        ? [("MESA_SHADER_CACHE_DISABLE", "true")] : []
    }
    base.make()
    // Mesa trusts the folder's content, so it must be ours.
    return base.isOurs ? [("MESA_SHADER_CACHE_DIR", base.path)] : []
  }
}
