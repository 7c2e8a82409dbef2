import Testing

@testable import GLPreview

private func shader(_ text: String) -> ShaderText { ShaderText(fileName: "broken.frag", text: text) }

@Suite struct ShaderProgramTests {
  @Test("a compile error has the file name, the defines, the driver's log and the source line")
  func compileError() async throws {
    try await withContext {
      let text = """
        #version 300 es
        precision highp float;
        out vec4 color;
        void main() {
          color = undeclared;
        }
        """

      let error = #expect(throws: ShaderError.self) {
        _ = try ShaderProgram(
          vertex: fullscreen, fragment: shader(text),
          defines: ["TAPS 3", "SIDE 1"])
      }

      #expect(error?.step == .compiling)
      #expect(error?.description.hasPrefix("compiling broken.frag with TAPS=3 SIDE=1: ") == true)
      #expect(error?.log.contains("undeclared") == true)
      #expect(error?.sourceLine == "5: color = undeclared;")
      #expect(error?.description.hasSuffix("\n  line 5: color = undeclared;") == true)
    }
  }

  @Test("a link error has both file names and the driver's log")
  func linkError() async throws {
    try await withContext {
      let text = """
        #version 300 es
        precision highp float;
        in vec4 nobodyWritesThis;
        out vec4 color;
        void main() { color = nobodyWritesThis; }
        """

      let error = #expect(throws: ShaderError.self) {
        _ = try ShaderProgram(vertex: fullscreen, fragment: shader(text))
      }

      #expect(error?.step == .linking)
      #expect(error?.fileNames == ["fullscreen.vert", "broken.frag"])
      #expect(error?.log.contains("nobodyWritesThis") == true)
    }
  }

  @Test(
    "the source line is found in the log formats of Mesa, ANGLE and NVIDIA",
    arguments: [
      "0:2(9): error: `x' undeclared", "ERROR: 0:2: 'x' : undeclared identifier",
      "0(2) : error C1503: undefined variable",
    ])
  func lines(log: String) {
    #expect(ShaderError.line(namedIn: log, of: "first\n  second\nthird") == "2: second")
  }

  @Test(
    "no source line is found in a log without a line number or with one out of range",
    arguments: ["", "out of memory", "0:9(1): x"])
  func noLines(log: String) { #expect(ShaderError.line(namedIn: log, of: "first\nsecond") == nil) }

  @Test("defines are inserted after #version, and later lines keep their numbers")
  func source() {
    let text = ShaderProgram.source(
      "#version 310 es\nvoid main() {}\n", ["A 1", "B"])
    #expect(text == "#version 310 es\n#define A 1\n#define B\n#line 2\nvoid main() {}\n")
  }

  @Test("uniforms of every type reach the shader, and unknown ones are ignored")
  func uniforms() async throws {
    try await withContext {
      let declarations = """
        uniform int whole; uniform ivec2 pair; uniform ivec4 four;
        uniform float number; uniform vec2 two; uniform vec3 three; uniform vec4 rgba;
        uniform mat3 matrix; uniform int unused; uniform float table[3];
        """
      let body = """
        vec3 product = matrix * three;
        switch (int(gl_FragCoord.x)) {
          case 0: result = uvec4(whole, pair, LIMIT); break;
          case 1: result = uvec4(four); break;
          case 2: result = uvec4(floatBitsToUint(vec4(number, two, table[0]))); break;
          case 3: result = uvec4(floatBitsToUint(rgba)); break;
          default: result = uvec4(floatBitsToUint(vec4(product, 0.0))); break;
        }
        """
      let program = try program(body, declarations: declarations, defines: ["LIMIT 42"])
      let target = try RenderTarget(Texture(.rgba32ui, width: 5, height: 1))

      target.begin()
      program.use()
      program.set("whole", 7)
      program.set("pair", SIMD2<Int32>(8, 9))
      program.set("four", SIMD4<Int32>(1, 2, 3, 4))
      program.set("number", 0.5)
      program.set("two", SIMD2<Float>(1.5, 2.5))
      program.set("table", 3.5)
      program.set("three", SIMD3<Float>(1, 10, 100))
      program.set("rgba", SIMD4<Float>(0.25, 0.5, 0.75, 1))
      program.set("matrix", rows: ([1, 2, 3], [4, 5, 6], [7, 8, 9]))
      program.set("unused", 1)
      program.set("misspelt", 1)
      program.drawTriangle()

      let floats: [Float] = [0.5, 1.5, 2.5, 3.5, 0.25, 0.5, 0.75, 1, 321, 654, 987, 0]
      #expect(try target.words() == [7, 8, 9, 42, 1, 2, 3, 4] + floats.map(\.bitPattern))
      #expect(
        program.has("whole") && program.has("table") && !program.has("unused") && !program.has("misspelt"))
      try GLError.check("setting uniforms")
    }
  }

  @Test("an OpenGL error flag is thrown once, with its name")
  func flags() async throws {
    try await withContext {
      let texture = try Texture(.r8ui, width: 1, height: 1)
      texture.bind(unit: 1 << 16)
      let error = #expect(throws: GLError.self) { try GLError.check("binding to a unit that is not there") }
      #expect(error?.description == "binding to a unit that is not there: GL_INVALID_ENUM")
      try GLError.check("nothing")
    }
  }

  @Test("error codes are described by their OpenGL, EGL and system names")
  func codes() {
    #expect(GLError.name(of: 0x0505) == "GL_OUT_OF_MEMORY")
    #expect(GLError.name(ofStatus: 0x8CDD) == "GL_FRAMEBUFFER_UNSUPPORTED")
    #expect(GLError.name(of: 0xBEEF) == "0xbeef")
    #expect(EGLError("eglInitialize", .code(0x3001)).description == "eglInitialize: EGL_NOT_INITIALIZED")
    #expect(EGLError("opening /dev/x", .system(2)).description == "opening /dev/x: No such file or directory")
    #expect(EGLError.name(of: 0x300E) == "EGL_CONTEXT_LOST")
  }
}
