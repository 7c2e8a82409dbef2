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
  /// Each is for one ratio and alignment, of which there is no end.
  private let ofWords: DrawingCache<WordVariant, Program, ShaderError>
  /// How often programs of words would have drawn before they are compiled.
  private var wanted = LRUCache<WordVariant, Int>(capacity: 128)
  private let specialisesAfter: Int

  /// llvmpipe needs some megabytes for each, and a tenth of a second to compile it.
  private static let mostOfWords = 24

  /// - Parameters:
  ///   - binaries: caches programs across runs; nil for none.
  ///   - specialisesAfter: as in `RenderTuning`.
  init(_ binaries: ProgramBinaryCache?, specialisesAfter: Int) {
    self.specialisesAfter = specialisesAfter
    programs = DrawingCache(capacity: .max) { key throws(ShaderError) in try Program(key, binaries) }
    ofWords = DrawingCache(capacity: ProgramCache.mostOfWords) { variant throws(ShaderError) in
      try Program(variant.program, binaries)
    }
  }

  /// The programs compiled by now.
  var count: Int { programs.count + ofWords.count }

  func trim() { ofWords.trim() }

  func program(_ key: ProgramKey) throws(ShaderError) -> Program { try programs.value(of: key) }

  /// Nil until drawings have come often enough to pay for compiling it.
  func program(_ variant: WordVariant) throws(ShaderError) -> Program? {
    if let program = ofWords.kept(variant) { return program }
    let count = wanted[variant] ?? 0
    guard count >= specialisesAfter else {
      wanted.insert(count + 1, for: variant)
      return nil
    }
    wanted.removeValue(for: variant)
    return try ofWords.value(of: variant)
  }
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
