// Programs by key, compiled at first use.
internal import Shaders

final class Program {
  let shader: ShaderProgram

  init(_ key: ProgramKey, _ binaries: ProgramBinaryCache? = nil) throws(ShaderError) {
    let fragment = key.fragment.withIncludes
    let vertex = ShaderSource.fullscreen.withVersion(of: fragment)
    shader = try ShaderProgram(
      vertex: ShaderText(fileName: vertex.fileName, text: vertex.text),
      fragment: ShaderText(fileName: fragment.fileName, text: fragment.text),
      defines: key.defines, binaries: binaries)
  }
}

final class ProgramCache {
  private let programs: DrawingCache<ProgramKey, Program, ShaderError>
  /// The same programs by variant, because building the defines for each draw costs more than a lookup.
  private let ofWords: DrawingCache<WordVariant, Program, ShaderError>

  private static let capacity = 128

  /// `binaries` caches programs across runs; nil for none.
  init(_ binaries: ProgramBinaryCache?) {
    let capacity = ProgramCache.capacity
    let programs = DrawingCache<ProgramKey, Program, ShaderError>(capacity: capacity) {
      key throws(ShaderError) in try Program(key, binaries)
    }
    self.programs = programs
    ofWords = DrawingCache(capacity: capacity) { variant throws(ShaderError) in
      try programs.value(of: variant.program)
    }
  }

  func trim() {
    programs.trim()
    ofWords.trim()
  }

  func program(_ key: ProgramKey) throws(ShaderError) -> Program { try programs.value(of: key) }

  func program(_ variant: WordVariant) throws(ShaderError) -> Program { try ofWords.value(of: variant) }
}

/// Hands out each texture unit once per pass.
struct UnitCounter {
  private var count = 0

  mutating func next(for sampler: String, in program: borrowing Program) -> Int {
    defer { count += 1 }
    program.shader.set(sampler, count)
    return count
  }
}
