// An OpenGL ES context that draws only into textures. All EGL code is in Device/.
internal import CEGL

/// A context that is current, for its whole life, on the thread that created it. A thread has one at a time.
///
/// Objects created in it must end before it: in a struct that owns both, declare the context last.
@safe struct GLContext: ~Copyable {
  private let display: EGLDisplay
  private let surface: EGLSurface?
  private let context: EGLContext

  /// Creates a context of the highest version of OpenGL ES 3.2, 3.1 and 3.0 that the driver supports.
  init(on display: GPUDisplay) throws(EGLError) {
    precondition(unsafe eglGetCurrentContext() == nil, "a thread has one context at a time")
    DriverTurn.begin(display.turn)
    var isMade = false
    defer { if !isMade { DriverTurn.end() } }
    guard eglBindAPI(EGLenum(EGL_OPENGL_ES_API)) == EGL_TRUE else { throw .last("eglBindAPI") }
    let config = unsafe try Self.config(on: display)
    let surface = unsafe try Self.surface(on: display, config)
    do throws(EGLError) {
      unsafe context = try Self.currentContext(on: display, config, surface)
    } catch {
      if let surface = unsafe surface { unsafe eglDestroySurface(display.handle, surface) }
      throw error
    }
    unsafe self.display = display.handle
    unsafe self.surface = surface
    isMade = true
    GLLedger.add(.context)
    GLCommands.replaceDefaults()
  }

  /// Takes ownership of the current context; nil if there is none.
  private init?(current display: EGLDisplay?) {
    guard let display = unsafe display, let context = unsafe eglGetCurrentContext() else { return nil }
    unsafe self.display = display
    unsafe surface = eglGetCurrentSurface(EGL_DRAW)
    unsafe self.context = context
  }

  deinit {
    unsafe eglMakeCurrent(display, glp_egl_no_surface(), glp_egl_no_surface(), glp_egl_no_context())
    unsafe eglDestroyContext(display, context)
    if let surface = unsafe surface { unsafe eglDestroySurface(display, surface) }
    // Frees EGL's per-thread state, which would otherwise remain until the thread ends.
    eglReleaseThread()
    DriverTurn.end()
    GLLedger.remove(.context)
  }

  /// Leaves the context current on its thread for `parked(on:)`. Handing it over avoids creating a second one, which
  /// takes longer than a picture.
  consuming func park() { discard self }

  /// The context that `park()` left on this thread, if it belongs to one of `displays`. Any other is destroyed.
  static func parked(on displays: [GPUDisplay]) -> GLContext? {
    guard let parked = unsafe GLContext(current: eglGetCurrentDisplay()) else { return nil }
    guard displays.contains(where: { unsafe $0.handle == parked.display }) else { return nil }
    return parked
  }

  /// Destroys the context that `park()` left on this thread, if any.
  static func endParked() { _ = unsafe GLContext(current: eglGetCurrentDisplay()) }

  /// Nil if the driver needs no config and no surface is needed.
  private static func config(on display: GPUDisplay) throws(EGLError) -> EGLConfig? {
    let needsNone = display.has("EGL_KHR_no_config_context") || display.has("EGL_MESA_configless_context")
    if needsNone && isSurfaceless(display) { return nil }
    let attributes: [EGLint] = [
      EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, isSurfaceless(display) ? 0 : EGL_PBUFFER_BIT,
      EGL_NONE,
    ]
    var config: EGLConfig?
    var count: EGLint = 0
    guard unsafe eglChooseConfig(display.handle, attributes, &config, 1, &count) == EGL_TRUE else {
      throw .last("eglChooseConfig")
    }
    guard count > 0 else { throw EGLError("eglChooseConfig", .missing("OpenGL ES 3 without a window")) }
    return unsafe config
  }

  /// A one-pixel surface, for drivers that cannot make a context current without one.
  private static func surface(on display: GPUDisplay, _ config: EGLConfig?) throws(EGLError) -> EGLSurface? {
    if isSurfaceless(display) { return nil }
    let attributes: [EGLint] = [EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE]
    guard let surface = unsafe eglCreatePbufferSurface(display.handle, config, attributes) else {
      throw .last("eglCreatePbufferSurface")
    }
    return unsafe surface
  }

  private static func isSurfaceless(_ display: GPUDisplay) -> Bool {
    display.has("EGL_KHR_surfaceless_context")
  }

  private static func currentContext(
    on display: GPUDisplay, _ config: EGLConfig?, _ surface: EGLSurface?
  ) throws(EGLError) -> EGLContext {
    let context = unsafe try newContext(on: display, config)
    guard unsafe eglMakeCurrent(display.handle, surface, surface, context) == EGL_TRUE else {
      let error = EGLError.last("eglMakeCurrent")
      unsafe eglDestroyContext(display.handle, context)
      throw error
    }
    return unsafe context
  }

  private static func newContext(on display: GPUDisplay, _ config: EGLConfig?) throws(EGLError) -> EGLContext
  {
    // Only such a context reports a GPU reset; others silently draw nothing from then on.
    let robust = [EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT, EGL_LOSE_CONTEXT_ON_RESET_EXT]
    // Before EGL 1.5, requesting a minor version needs this extension.
    let takesMinor = display.version >= GLVersion(1, 5) || display.has("EGL_KHR_create_context")
    let minors: [EGLint] = takesMinor ? [2, 1, 0] : []
    let versions =
      minors.map { [EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, $0] }
      + [[EGL_CONTEXT_CLIENT_VERSION, 3]]
    for more: [EGLint] in display.has("EGL_EXT_create_context_robustness") ? [robust, []] : [[]] {
      for version in versions {
        let attributes = version + more + [EGL_NONE]
        let context = unsafe eglCreateContext(display.handle, config, glp_egl_no_context(), attributes)
        if let context = unsafe context { return unsafe context }
      }
    }
    throw .last("eglCreateContext for OpenGL ES 3")
  }
}

@available(*, unavailable) extension GLContext: Sendable {}
