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

/// The programs that plans in use ask for again and again.
final class ProgramCache {
  private var programs = LRUCache<ProgramKey, Program>(capacity: ProgramCache.capacity)
  /// The same by what they are specialised for: to spell that out for each draw would cost more than to look it up.
  private var ofWords = LRUCache<WordVariant, Program>(capacity: ProgramCache.capacity)
  private var ofTexels = LRUCache<BoxVariant, Program>(capacity: ProgramCache.capacity)
  private let binaries: ProgramBinaryCache?

  /// Of each kind.
  private static let capacity = 128

  /// `binaries` is where programs of earlier runs are; nil where none are kept.
  init(_ binaries: ProgramBinaryCache?) { self.binaries = binaries }

  /// Between frames, when no pass holds a program.
  func trim() {
    programs.trim()
    ofWords.trim()
    ofTexels.trim()
  }

  func program(_ key: ProgramKey) throws(ShaderError) -> Program {
    if let program = programs[key] { return program }
    let program = try Program(key, binaries)
    programs.insert(program, for: key, trims: false)
    return program
  }

  func program(_ variant: WordVariant) throws(ShaderError) -> Program {
    if let program = ofWords[variant] { return program }
    let program = try program(variant.program)
    ofWords.insert(program, for: variant, trims: false)
    return program
  }

  func program(_ variant: BoxVariant) throws(ShaderError) -> Program {
    if let program = ofTexels[variant] { return program }
    let program = try program(variant.program)
    ofTexels.insert(program, for: variant, trims: false)
    return program
  }
}
