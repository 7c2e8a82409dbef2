// Programs by key, compiled at first use.
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

/// Caches the programs of plans in use.
final class ProgramCache {
  private var programs = LRUCache<ProgramKey, Program>(capacity: ProgramCache.capacity)
  /// The same programs by variant, because building the defines for each draw costs more than a lookup.
  private var ofWords = LRUCache<WordVariant, Program>(capacity: ProgramCache.capacity)
  private var ofTexels = LRUCache<BoxVariant, Program>(capacity: ProgramCache.capacity)
  private let binaries: ProgramBinaryCache?

  /// The most programs of each kind.
  private static let capacity = 128

  /// `binaries` caches programs across runs; nil for none.
  init(_ binaries: ProgramBinaryCache?) { self.binaries = binaries }

  /// Called between frames, when no pass holds a program.
  func trim() {
    programs.trim()
    ofWords.trim()
    ofTexels.trim()
  }

  func program(_ key: ProgramKey) throws(ShaderError) -> Program {
    if let program = programs[key] { return program }
    let program = try Program(key, binaries)
    programs.hold(program, for: key)
    return program
  }

  func program(_ variant: WordVariant) throws(ShaderError) -> Program {
    if let program = ofWords[variant] { return program }
    let program = try program(variant.program)
    ofWords.hold(program, for: variant)
    return program
  }

  func program(_ variant: BoxVariant) throws(ShaderError) -> Program {
    if let program = ofTexels[variant] { return program }
    let program = try program(variant.program)
    ofTexels.hold(program, for: variant)
    return program
  }
}
