// Programs by key, compiled when a pass first needs them.
internal import Shaders

/// A linked program.
final class Program {
  let shader: ShaderProgram

  init(_ key: ProgramKey, _ binaries: ProgramBinaryCache? = nil) throws(ShaderError) {
    let fragment = key.fragment.withIncludes
    let vertex = ShaderSource.fullscreen.withVersion(of: fragment)
    shader = try ShaderProgram(
      vertex: ShaderText(fileName: vertex.fileName, text: vertex.text),
      fragment: ShaderText(fileName: fragment.fileName, text: fragment.text),
      defines: key.defines.map { define in
        let words = define.split(separator: " ", maxSplits: 1)
        return ShaderDefine(String(words[0]), words.count > 1 ? String(words[1]) : "1")
      }, binaries: binaries)
  }
}

/// Every program that was asked for: there are only as many as the catalogue has.
final class ProgramCache {
  private var programs: [ProgramKey: Program] = [:]
  private let binaries: ProgramBinaryCache?

  /// `binaries` is where programs of earlier runs are; nil where none are kept.
  init(_ binaries: ProgramBinaryCache?) { self.binaries = binaries }

  func program(_ key: ProgramKey) throws(ShaderError) -> Program {
    if let program = programs[key] { return program }
    let program = try Program(key, binaries)
    programs[key] = program
    return program
  }
}
