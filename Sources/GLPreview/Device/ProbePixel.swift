// The least that a program can draw: it shows that a device works, and makes the driver let go of what it drew before.

/// A pixel drawn of nothing.
final class ProbePixel {
  let target: RenderTarget
  private let program: ShaderProgram

  init(_ binaries: ProgramBinaryCache?) throws {
    target = try RenderTarget(Texture(.rgba8, width: 1, height: 1))
    program = try ShaderProgram(
      vertex: Self.vertex, fragment: Self.fragment, binaries: binaries)
    draw()
  }

  /// Drawn last, it is all that the driver has bound: a driver holds what a draw has read and written until the next one,
  /// also where that is deleted.
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
