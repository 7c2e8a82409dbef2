// Tests whether a device works: draws a pixel and reads it back.

/// Tests candidates on the calling thread.
enum DeviceProbe {
  /// The tested device, working or failed with a reason. Leaves no context behind.
  static func probe(_ candidate: DeviceCandidate) -> GPUDevice {
    device(candidate) {
      let context = try GLContext(on: GPUDisplay.open(candidate.platform))
      return try withExtendedLifetime(context) {
        try drawPixel(nil)
        return try driver(of: candidate.platform)
      }
    }
  }

  /// Like `probe`, for a thread that will draw on the device: the context of a working device stays parked, and
  /// cached programs are not compiled again.
  ///
  /// A device that EGL marks as software is only tested by a clear. It is the last choice anyway, so the test only
  /// affects the error message, and compiling a program just for it takes 20 ms.
  static func probeForDrawing(_ candidate: DeviceCandidate) -> GPUDevice {
    GLContext.endParked()
    return device(candidate) {
      let context = try GLContext(on: .forContext(on: candidate.platform))
      if candidate.isMarkedSoftware {
        try clearPixel()
      } else {
        try drawPixel(ProgramBinaryCache(.ofThisProcess))
      }
      let driver = try driver(of: candidate.platform)
      context.park()
      return driver
    }
  }

  private static func device(
    _ candidate: DeviceCandidate, _ driver: () throws -> GPUDevice.Driver
  ) -> GPUDevice {
    do {
      return GPUDevice(candidate, .works(try driver()))
    } catch {
      return GPUDevice(candidate, .fails(reason: "\(error)"))
    }
  }

  private static func driver(of platform: DisplayPlatform) throws -> GPUDevice.Driver {
    let (display, capabilities) = (try GPUDisplay.open(platform), GLCapabilities())
    return GPUDevice.Driver(
      name: display.driverName ?? display.vendor, vendor: capabilities.vendor,
      renderer: capabilities.renderer, version: capabilities.version,
      versionText: capabilities.versionText, maximumTextureSize: capabilities.maximumTextureSize)
  }

  /// Draws with a program, because a device that can clear may still lack a shader compiler.
  private static func drawPixel(_ binaries: ProgramBinaryCache?) throws {
    try check(ProbePixel(binaries).target)
  }

  private static func clearPixel() throws {
    let target = try RenderTarget(Texture(.rgba8, width: 1, height: 1))
    target.clear([0.2, 0.4, 0.8, 1])
    try check(target)
  }

  private static func check(_ target: borrowing RenderTarget) throws {
    var pixel = [UInt8](repeating: 0, count: 4)
    try target.read(into: &pixel)
    guard pixel == [51, 102, 204, 255] else { throw WrongPixel(bytes: pixel) }
  }

  private struct WrongPixel: Error, CustomStringConvertible {
    let bytes: [UInt8]
    var description: String { "a pixel drawn as 51, 102, 204, 255 is read back as \(bytes)" }
  }
}

/// Draws one pixel without any input.
final class ProbePixel {
  let target: RenderTarget
  private let program: ShaderProgram

  init(_ binaries: ProgramBinaryCache?) throws {
    target = try RenderTarget(Texture(.rgba8, width: 1, height: 1))
    program = try ShaderProgram(vertex: Self.vertex, fragment: Self.fragment, binaries: binaries)
    draw()
  }

  /// As the last draw, it replaces all bindings: a driver keeps the inputs and outputs of a draw alive until the next
  /// one, even if they are deleted.
  func draw() {
    target.begin()
    program.use()
    program.drawTriangle()
  }

  private static let vertex = ShaderText(
    fileName: "probe.vert",
    text: """
      #version 300 es
      void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }
      """)
  private static let fragment = ShaderText(
    fileName: "probe.frag",
    text: """
      #version 300 es
      precision highp float;
      out vec4 color;
      void main() { color = vec4(0.2, 0.4, 0.8, 1.0); }
      """)
}

/// A compute shader without any input, for OpenGL ES 3.1.
final class ProbeDispatch {
  private let program: ShaderProgram

  init() throws(ShaderError) { program = try ShaderProgram(compute: Self.text) }

  /// As the last dispatch, it replaces all bindings, as `ProbePixel.draw()` does for draws.
  func run() {
    GLCommands.unbindWritten()
    program.use()
    program.dispatch(Size(width: 1, height: 1))
  }

  private static let text = ShaderText(
    fileName: "probe.comp",
    text: """
      #version 310 es
      layout(local_size_x = 1) in;
      void main() {}
      """)
}
