// Programs by key, compiled when a pass first needs them.
internal import Shaders

/// A linked program.
final class Program {
  let shader: ShaderProgram

  init(_ key: ProgramKey) throws(ShaderError) {
    let fragment = key.fragment.withIncludes
    let vertex = ShaderSource.fullscreen.withVersion(of: fragment)
    shader = try ShaderProgram(
      vertex: ShaderText(fileName: vertex.fileName, text: vertex.text),
      fragment: ShaderText(fileName: fragment.fileName, text: fragment.text),
      defines: key.defines.map { define in
        let words = define.split(separator: " ", maxSplits: 1)
        return ShaderDefine(String(words[0]), words.count > 1 ? String(words[1]) : "1")
      })
  }
}

/// Every program that was asked for: there are only as many as the catalogue has.
final class ProgramCache {
  private var programs: [ProgramKey: Program] = [:]

  func program(_ key: ProgramKey) throws(ShaderError) -> Program {
    if let program = programs[key] { return program }
    let program = try Program(key)
    programs[key] = program
    return program
  }
}
