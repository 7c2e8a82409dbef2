// Programs by variant, compiled when a pass first needs them.
internal import Shaders

/// A linked variant.
final class Program {
  let shader: ShaderProgram

  init(_ variant: ShaderVariant) throws(ShaderError) {
    let (vertex, fragment) = (ShaderSource.fullscreen, variant.source)
    shader = try ShaderProgram(
      vertex: ShaderText(fileName: vertex.fileName, text: vertex.text),
      fragment: ShaderText(fileName: fragment.fileName, text: fragment.text),
      defines: variant.defines.map { ShaderDefine($0, "1") })
  }
}

/// Every variant that was asked for: there are only as many as the catalogue has.
final class ProgramCache {
  private var programs: [ShaderVariant: Program] = [:]

  func program(_ variant: ShaderVariant) throws(ShaderError) -> Program {
    if let program = programs[variant] { return program }
    let program = try Program(variant)
    programs[variant] = program
    return program
  }
}
