// Whether a device works: it draws a pixel and reads it back.

/// Tries candidates out, on the calling thread, and leaves no context behind.
enum DeviceProbe {
  /// What came of it, as a device that works or as one that says why not.
  static func probe(_ candidate: DeviceCandidate) -> GPUDevice {
    do {
      let driver = try driver(of: candidate.platform)
      return GPUDevice(candidate, .works(driver))
    } catch {
      return GPUDevice(candidate, .fails(reason: "\(error)"))
    }
  }

  private static func driver(of platform: DisplayPlatform) throws -> GPUDevice.Driver {
    let display = try GPUDisplay.open(platform)
    let context = try GLContext(on: display)
    return try withExtendedLifetime(context) {
      let capabilities = GLCapabilities()
      try drawPixel()
      return GPUDevice.Driver(
        name: display.driverName ?? display.vendor, vendor: capabilities.vendor,
        renderer: capabilities.renderer, version: capabilities.version,
        maximumTextureSize: capabilities.maximumTextureSize)
    }
  }

  /// By a program: a device that can clear may still lack what compiles shaders.
  private static func drawPixel() throws {
    let target = try RenderTarget(Texture(.rgba8, width: 1, height: 1))
    let program = try ShaderProgram(vertex: vertex, fragment: fragment)
    target.begin()
    program.use()
    program.drawTriangle()
    var pixel = [UInt8](repeating: 0, count: 4)
    try target.read(into: &pixel)
    guard pixel == [51, 102, 204, 255] else { throw WrongPixel(bytes: pixel) }
  }

  private struct WrongPixel: Error, CustomStringConvertible {
    let bytes: [UInt8]
    var description: String { "a pixel drawn as 51, 102, 204, 255 is read back as \(bytes)" }
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
