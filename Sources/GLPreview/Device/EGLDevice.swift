// EGL without a display: its client extensions, and its own list of devices.
internal import CEGL

/// An entry of EGL's device list (EGL_EXT_device_enumeration, EGL_EXT_device_query).
@safe struct EGLDevice: Sendable {
  // EGL keeps a device for the life of the process.
  nonisolated(unsafe) let handle: EGLDeviceEXT
  private let extensions: Set<Substring>

  /// All devices, in EGL's order; empty if EGL cannot list devices. Queried once, so that indices stay the
  /// same.
  static let all: [EGLDevice] = {
    guard EGLClient.has("EGL_EXT_device_enumeration") || EGLClient.has("EGL_EXT_device_base") else {
      return []
    }
    var count: EGLint = 0
    guard unsafe glp_egl_query_devices(0, nil, &count) == EGL_TRUE, count > 0 else { return [] }
    var handles = unsafe [EGLDeviceEXT?](repeating: nil, count: Int(count))
    guard unsafe glp_egl_query_devices(count, &handles, &count) == EGL_TRUE else { return [] }
    return unsafe handles.prefix(Int(count)).compactMap { handle in
      unsafe handle.map { unsafe EGLDevice($0) }
    }
  }()

  @unsafe private init(_ handle: EGLDeviceEXT) {
    unsafe self.handle = handle
    let names = unsafe String(lent: glp_egl_query_device_string(handle, EGL_EXTENSIONS)) ?? ""
    extensions = Set(names.split(separator: " "))
  }

  /// Whether it is the CPU (EGL_MESA_device_software).
  var isSoftware: Bool { extensions.contains("EGL_MESA_device_software") }

  /// The render node, otherwise the primary node; nil if EGL knows neither.
  var drmNode: String? {
    let renderNode =
      extensions.contains("EGL_EXT_device_drm_render_node") ? text(EGL_DRM_RENDER_NODE_FILE_EXT) : nil
    return renderNode ?? (extensions.contains("EGL_EXT_device_drm") ? text(EGL_DRM_DEVICE_FILE_EXT) : nil)
  }

  private func text(_ name: EGLint) -> String? {
    unsafe String(lent: glp_egl_query_device_string(handle, name))
  }
}

enum EGLClient {
  static func has(_ name: Substring) -> Bool { extensions.contains(name) }

  /// Empty if no driver is installed.
  static let extensions = unsafe Set(
    (String(lent: eglQueryString(glp_egl_no_display(), EGL_EXTENSIONS)) ?? "").split(separator: " "))
}
