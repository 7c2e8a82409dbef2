// A context on a thread of its own, for tests that call OpenGL.
import Testing

@testable import GLPreview

/// Does its work where a context is current.
actor TestContext {
  private let thread: GPUThread
  private var context: GLContext?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  /// On `display`, or on the one that a renderer would get; without some of its extensions, as if its driver
  /// were older.
  init(
    _ platform: DisplayPlatform, on display: GPUDisplay? = nil, lacking extensions: Set<Substring> = []
  ) async throws {
    thread = try GPUThread(named: "gpu-test")
    context = nil  // All is set: from here on the init runs on the thread.
    var display = if let display { display } else { try GPUDisplay.forContext(on: platform) }
    display.extensions.subtract(extensions)
    context = try GLContext(on: display)
  }

  isolated deinit { context = nil }

  func perform<Result: Sendable>(_ work: @Sendable () throws -> Result) rethrows -> Result { try work() }

  /// Ends the context, and tells what of OpenGL outlives it.
  func end() -> [GLLedger.Kind: Int] {
    context = nil
    return GLLedger.livingOnThisThread
  }
}

/// Tried once for all tests.
let chosenDevice = Task { try await GPUDevice.chooseForGL() }

/// The display of the chosen device.
func chosenPlatform() async throws -> DisplayPlatform {
  try #require(try await chosenDevice.value.platform)
}

/// Does `work` in a context of the device that this machine would choose, and finds that nothing outlives it.
func withContext<Result: Sendable>(_ work: @Sendable () throws -> Result) async throws -> Result {
  let context = try await TestContext(chosenPlatform())
  let result: Swift.Result<Result, any Error>
  do { result = .success(try await context.perform(work)) } catch { result = .failure(error) }
  #expect(await context.end() == [:])
  return try result.get()
}

/// A program that runs `body` for each pixel and stores the `uvec4 result` that it makes in a `rgba32ui` target.
func program(_ body: String, declarations: String = "", defines: [String] = []) throws -> ShaderProgram {
  try ShaderProgram(
    vertex: fullscreen,
    fragment: ShaderText(
      fileName: "test.frag",
      text: """
        #version 300 es
        precision highp float;
        precision highp int;
        precision highp usampler2D;
        precision highp sampler2D;
        \(declarations)
        out uvec4 result;
        void main() { \(body) }
        """),
    defines: defines)
}

let fullscreen = ShaderText(
  fileName: "fullscreen.vert",
  text: """
    #version 300 es
    void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }
    """)

extension RenderTarget {
  /// What `read` gives, four words a texel.
  borrowing func words(_ region: Rectangle? = nil) throws -> [UInt32] {
    let region = region ?? texture.bounds
    var bytes = [UInt8](repeating: 0, count: region.width * region.height * 16)
    try read(into: &bytes, region)
    return unsafe bytes.withUnsafeBytes { unsafe Array($0.bindMemory(to: UInt32.self)) }
  }
}

extension Array {
  /// Its memory's bytes.
  var memory: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }
}
