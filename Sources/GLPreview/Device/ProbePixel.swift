// The smallest possible drawing: it tests a device, and makes the driver release what it drew before.

/// Draws one pixel without any input.
final class ProbePixel {
  let target: RenderTarget
  private let program: ShaderProgram

  init(_ binaries: ProgramBinaryCache?) throws {
    target = try RenderTarget(Texture(.rgba8, width: 1, height: 1))
    program = try ShaderProgram(
      vertex: Self.vertex, fragment: Self.fragment, binaries: binaries)
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
