// An EGL display and its extensions: one for each device, for the whole life of the process.
internal import CEGL
internal import CGBM
internal import Glibc
internal import Synchronization

/// Where EGL is asked for a display.
enum DisplayPlatform: Sendable, Hashable {
  /// A device of EGL's own list (EGL_EXT_platform_device), by its place there.
  case device(Int)
  /// A file in /dev/dri (EGL_KHR_platform_gbm).
  case gbm(node: String)
  /// Whatever the driver takes for its default (EGL_MESA_platform_surfaceless).
  case surfaceless
}

/// A display that is open.
///
/// EGL's displays belong to the process: who asks twice gets the same one, and `eglTerminate` by one user would end the
/// contexts of all. So each is initialised once, and none is terminated.
@safe struct GPUDisplay: Sendable {
  // EGL makes a display safe to use from several threads.
  nonisolated(unsafe) let handle: EGLDisplay
  /// Of EGL.
  let version: GLVersion
  let vendor: String
  /// Such as "iris" or "swrast", where the driver tells (EGL_MESA_query_driver).
  let driverName: String?
  private var extensions: Set<Substring>

  func has(_ name: Substring) -> Bool { extensions.contains(name) }

  /// The same display as an older driver would give it: without some extensions.
  func lacking(_ names: Set<Substring>) -> GPUDisplay {
    var display = self
    display.extensions.subtract(names)
    return display
  }

  /// The display of a platform, initialised when it is first asked for.
  static func open(_ platform: DisplayPlatform) throws(EGLError) -> GPUDisplay {
    try displays.withLock { displays throws(EGLError) in
      if let display = displays[platform] { return display }
      let display = try EGLMessages.collected { () throws(EGLError) in try GPUDisplay(platform) }
      displays[platform] = display
      return display
    }
  }

  private static let displays = Mutex<[DisplayPlatform: GPUDisplay]>([:])

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
  }

  /// EGL's number for a platform, and the handle that it wants there.
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
    return unsafe try bufferManagers.withLock { managers throws(EGLError) in
      if let manager = managers[node] { return manager }
      let manager = try BufferManager(node)
      managers[node] = manager
      return manager
    }.handle
  }

  private static let bufferManagers = Mutex<[String: BufferManager]>([:])
}

/// Opened once for each file and never closed, since a display, also one that failed, stands on it.
@safe private struct BufferManager: Sendable {
  // Used for the making of displays alone, which EGL does one at a time.
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

  /// Whether a file is a device of the kernel's DRM, which is number 226 (Documentation/admin-guide/devices.txt).
  ///
  /// Mesa takes any file: asked for /dev/null, it draws in software.
  private static func isGPU(_ file: CInt) -> Bool {
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { return false }
    // As glibc's major(), a macro.
    return status.st_mode & S_IFMT == S_IFCHR && (status.st_rdev >> 8) & 0xfff == 226
  }
}
