// A linked program, of a vertex and a fragment shader or of a compute shader, with its uniforms, and the errors of the
// shader compiler.
internal import CGLES

/// One variant of a pair of shaders, or of a compute shader.
///
/// Setters act on the program in use, so call `use()` first. Uniforms that the compiler removed are ignored.
struct ShaderProgram: ~Copyable {
  enum Origin { case sources, binary }

  let origin: Origin
  private let name: GLuint
  private let locations: [String: GLint]

  /// Compiles and links the program, or loads it from `binaries`; new programs are stored there.
  ///
  /// `defines`, each `NAME VALUE`, are inserted after the `#version` line without changing line numbers.
  init(
    vertex: ShaderText, fragment: ShaderText, defines: [String] = [], binaries: ProgramBinaryCache? = nil
  ) throws(ShaderError) {
    try self.init(
      [(GLenum(GL_VERTEX_SHADER), vertex), (GLenum(GL_FRAGMENT_SHADER), fragment)], defines, binaries)
  }

  /// Does the same for a compute shader, which needs OpenGL ES 3.1.
  init(
    compute: ShaderText, defines: [String] = [], binaries: ProgramBinaryCache? = nil
  ) throws(ShaderError) {
    try self.init([(GLenum(GL_COMPUTE_SHADER), compute)], defines, binaries)
  }

  private init(
    _ stages: [(stage: GLenum, text: ShaderText)], _ defines: [String], _ binaries: ProgramBinaryCache?
  ) throws(ShaderError) {
    let key = binaries?.key(for: stages.map { Self.source($0.text.text, defines) })
    if let key, let binary = binaries?.binary(for: key), let program = Self.program(from: binary) {
      (name, origin) = (program, .binary)
    } else {
      (name, origin) = (try Self.link(stages, defines, isKept: key != nil), .sources)
      if let key, let binary = Self.binary(of: name) { binaries?.keep(binary, for: key) }
    }
    locations = Self.locations(in: name)
    GLLedger.add(.program)
  }

  deinit {
    glDeleteProgram(name)
    GLLedger.remove(.program)
  }

  borrowing func use() { glUseProgram(name) }

  /// Draws one triangle that covers the viewport. The vertex shader computes its corners from `gl_VertexID`,
  /// 0...2.
  borrowing func drawTriangle() { glDrawArrays(GLenum(GL_TRIANGLES), 0, 3) }

  /// Runs a compute shader in this many workgroups, across, down, and for each of some layers.
  borrowing func dispatch(_ groups: Size, layers: Int = 1) {
    glDispatchCompute(GLuint(groups.width), GLuint(groups.height), GLuint(layers))
  }

  borrowing func has(_ uniform: String) -> Bool { locations[uniform] != nil }

  /// Sets an integer, or a sampler's unit.
  borrowing func set(_ uniform: String, _ value: Int) { glUniform1i(location(uniform), GLint(value)) }

  borrowing func set(_ uniform: String, _ value: SIMD2<Int32>) {
    glUniform2i(location(uniform), value.x, value.y)
  }

  borrowing func set(_ uniform: String, _ value: SIMD3<Int32>) {
    glUniform3i(location(uniform), value.x, value.y, value.z)
  }

  borrowing func set(_ uniform: String, _ value: SIMD4<Int32>) {
    glUniform4i(location(uniform), value.x, value.y, value.z, value.w)
  }

  borrowing func set(_ uniform: String, _ value: Float) { glUniform1f(location(uniform), value) }

  borrowing func set(_ uniform: String, _ value: SIMD2<Float>) {
    glUniform2f(location(uniform), value.x, value.y)
  }

  borrowing func set(_ uniform: String, _ value: SIMD3<Float>) {
    glUniform3f(location(uniform), value.x, value.y, value.z)
  }

  borrowing func set(_ uniform: String, _ value: SIMD4<Float>) {
    glUniform4f(location(uniform), value.x, value.y, value.z, value.w)
  }

  /// Sets a `mat3` by rows, so that `matrix * vector` in the shader multiplies each row with the vector.
  borrowing func set(_ uniform: String, rows: (SIMD3<Float>, SIMD3<Float>, SIMD3<Float>)) {
    let values = [rows.0, rows.1, rows.2].flatMap { [$0.x, $0.y, $0.z] }
    unsafe glUniformMatrix3fv(location(uniform), 1, GLboolean(GL_TRUE), values)
  }

  /// OpenGL ignores location -1.
  private borrowing func location(_ uniform: String) -> GLint { locations[uniform] ?? -1 }

  private static func link(
    _ stages: [(stage: GLenum, text: ShaderText)], _ defines: [String], isKept: Bool
  ) throws(ShaderError) -> GLuint {
    let program = glCreateProgram()
    for (stage, text) in stages {
      do throws(ShaderError) {
        let shader = try compile(stage, text, defines)
        glAttachShader(program, shader)
        // It goes with the program.
        glDeleteShader(shader)
      } catch {
        glDeleteProgram(program)
        throw error
      }
    }
    if isKept { glProgramParameteri(program, GLenum(GL_PROGRAM_BINARY_RETRIEVABLE_HINT), GL_TRUE) }
    glLinkProgram(program)
    guard value(GL_LINK_STATUS, of: program) == GL_TRUE else {
      let log = log(of: program)
      glDeleteProgram(program)
      throw ShaderError(
        step: .linking, fileNames: stages.map(\.text.fileName), defines: defines, log: log,
        sourceLine: nil)
    }
    return program
  }

  /// Nil if the driver rejects the binary, which it may for any reason, such as its own update.
  private static func program(from binary: ProgramBinary) -> GLuint? {
    let program = glCreateProgram()
    unsafe glProgramBinary(program, binary.format, binary.bytes, GLsizei(binary.bytes.count))
    guard value(GL_LINK_STATUS, of: program) == GL_TRUE else {
      glDeleteProgram(program)
      // An error flag set here is expected.
      try? GLError.check("")
      return nil
    }
    return program
  }

  private static func binary(of program: GLuint) -> ProgramBinary? {
    let capacity = value(GL_PROGRAM_BINARY_LENGTH, of: program)
    guard capacity > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(capacity))
    var length: GLsizei = 0
    var format: GLenum = 0
    unsafe glGetProgramBinary(program, capacity, &length, &format, &bytes)
    guard (try? GLError.check("")) != nil, (1...capacity).contains(length) else { return nil }
    return ProgramBinary(format: format, bytes: Array(bytes.prefix(Int(length))))
  }

  private static func compile(
    _ stage: GLenum, _ shader: ShaderText, _ defines: [String]
  ) throws(ShaderError) -> GLuint {
    let name = glCreateShader(stage)
    let text = source(shader.text, defines)
    unsafe text.withCString { text in
      var text: UnsafePointer<CChar>? = unsafe text
      unsafe glShaderSource(name, 1, &text, nil)
    }
    glCompileShader(name)
    var status: GLint = 0
    unsafe glGetShaderiv(name, GLenum(GL_COMPILE_STATUS), &status)
    guard status == GL_TRUE else {
      let log = shaderLog(of: name)
      glDeleteShader(name)
      throw ShaderError(
        step: .compiling, fileNames: [shader.fileName], defines: defines, log: log,
        sourceLine: ShaderError.line(namedIn: log, of: shader.text))
    }
    return name
  }

  /// Inserts the defines after the first line, because GLSL ES requires `#version` to be first.
  static func source(_ text: String, _ defines: [String]) -> String {
    guard !defines.isEmpty, let end = text.firstIndex(where: \.isNewline) else { return text }
    let lines = defines.map { "#define \($0)\n" }.joined()
    return text[...end] + lines + "#line 2\n" + text[text.index(after: end)...]
  }

  private static func locations(in program: GLuint) -> [String: GLint] {
    var locations: [String: GLint] = [:]
    for index in 0..<GLuint(value(GL_ACTIVE_UNIFORMS, of: program)) {
      var length: GLsizei = 0
      var size: GLint = 0
      var type: GLenum = 0
      let name = unsafe text(capacity: value(GL_ACTIVE_UNIFORM_MAX_LENGTH, of: program)) { capacity, text in
        unsafe glGetActiveUniform(program, index, capacity, &length, &size, &type, text)
      }
      locations[String(name.prefix { $0 != "[" })] = unsafe glGetUniformLocation(program, name)
    }
    return locations
  }

  private static func value(_ parameter: Int32, of program: GLuint) -> GLint {
    var value: GLint = 0
    unsafe glGetProgramiv(program, GLenum(parameter), &value)
    return value
  }

  private static func log(of program: GLuint) -> String {
    unsafe text(capacity: value(GL_INFO_LOG_LENGTH, of: program)) { capacity, text in
      unsafe glGetProgramInfoLog(program, capacity, nil, text)
    }
  }

  private static func shaderLog(of shader: GLuint) -> String {
    var length: GLint = 0
    unsafe glGetShaderiv(shader, GLenum(GL_INFO_LOG_LENGTH), &length)
    return unsafe text(capacity: length) { capacity, text in
      unsafe glGetShaderInfoLog(shader, capacity, nil, text)
    }
  }

  /// The text that OpenGL writes into a buffer of at most `capacity` characters.
  private static func text(
    capacity: GLint, _ write: (GLsizei, UnsafeMutablePointer<CChar>?) -> Void
  ) -> String {
    var characters = [CChar](repeating: 0, count: Int(capacity) + 1)
    unsafe characters.withUnsafeMutableBufferPointer { unsafe write(capacity, $0.baseAddress) }
    return String(written: characters)
  }
}

@available(*, unavailable) extension ShaderProgram: Sendable {}

struct ShaderText: Sendable, Hashable {
  /// The name in errors: the path below Resources/shaders.
  let fileName: String
  /// GLSL ES; the first line is `#version`.
  let text: String
}

/// A program that the driver rejected.
struct ShaderError: Error, Equatable, CustomStringConvertible {
  enum Step: Sendable, Equatable { case compiling, linking }

  let step: Step
  /// One file for a compile error; all for a link error.
  let fileNames: [String]
  let defines: [String]
  let log: String
  /// The first source line named in the log, with its number: "7: color = vec3(1.0);".
  let sourceLine: String?

  var description: String {
    let words = defines.map { $0.replacing(" ", with: "=", maxReplacements: 1) }
    let variant = words.isEmpty ? "" : " with " + words.joined(separator: " ")
    let heading = "\(step) \(fileNames.joined(separator: " and "))\(variant)"
    let reason = log.isEmpty ? "the driver gives no reason" : log
    return [heading + ": " + reason, sourceLine].compactMap(\.self).joined(separator: "\n  line ")
  }

  /// The line of `text` that a log names first: `0:7(12)` in Mesa's, `0:7:` in others', `0(7)` in NVIDIA's.
  static func line(namedIn log: String, of text: String) -> String? {
    guard let match = log.firstMatch(of: /\b0[:(](\d+)/), let number = Int(match.output.1) else { return nil }
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    guard lines.indices.contains(number - 1) else { return nil }
    return "\(number): \(lines[number - 1].drop(while: \.isWhitespace))"
  }
}
