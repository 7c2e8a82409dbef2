// Programs by key, compiled at first use.
internal import Shaders

final class Program {
  let shader: ShaderProgram

  init(
    _ key: ProgramKey, _ binaries: ProgramBinaryCache? = nil, hasFlatUniforms: Bool
  ) throws(ShaderError) {
    let source = key.source.withIncludes
    guard key.stage == .fragment else {
      shader = try ShaderProgram(
        compute: ShaderText(fileName: source.fileName, text: source.text), defines: key.defines,
        binaries: binaries)
      return
    }
    var fragment = source
    var vertex = ShaderSource.fullscreen.withVersion(of: fragment)
    if hasFlatUniforms { (vertex, fragment) = vertex.passing(uniformsOf: fragment) }
    shader = try ShaderProgram(
      vertex: ShaderText(fileName: vertex.fileName, text: vertex.text),
      fragment: ShaderText(fileName: fragment.fileName, text: fragment.text),
      defines: key.defines, binaries: binaries)
  }
}

final class ProgramCache {
  private let programs: DrawingCache<ProgramKey, Program, ShaderError>
  /// The programs for word buffers. Each is for one ratio and alignment, of which there is no end.
  private var ofWords: FrequentCache<WordVariant, Program>
  private let binaries: ProgramBinaryCache?
  private let hasFlatUniforms: Bool
  private let clock: PassClock

  /// llvmpipe needs some megabytes for each, and a tenth of a second to compile it.
  private static let mostOfWords = 24

  /// - Parameters:
  ///   - binaries: caches programs across runs; nil for none.
  ///   - specialisesAfter: as in `RenderTuning`.
  ///   - hasFlatUniforms: whether fragment shaders read uniforms as flat inputs.
  ///   - clock: does not measure compiling.
  init(
    _ binaries: ProgramBinaryCache?, specialisesAfter: Int, hasFlatUniforms: Bool, _ clock: PassClock
  ) {
    self.binaries = binaries
    self.hasFlatUniforms = hasFlatUniforms
    self.clock = clock
    programs = DrawingCache(capacity: .max) { key throws(ShaderError) in
      try clock.compile { () throws(ShaderError) in
        try Program(key, binaries, hasFlatUniforms: hasFlatUniforms)
      }
    }
    ofWords = FrequentCache(capacity: ProgramCache.mostOfWords, after: specialisesAfter)
  }

  /// The compiled programs.
  var count: Int { programs.count + ofWords.count }

  func beginDrawing() { ofWords.beginDrawing() }

  /// The number of programs that are kept while nothing is drawn: enough for the views of one or two cameras.
  static let mostAtRest = 8

  /// Removes the programs not used lately, which are loaded from the caches on disk if they are needed again:
  /// 10 to 20 ms each on llvmpipe, where they take megabytes.
  func removeUnused() { if binaries != nil { programs.trim(to: Self.mostAtRest) } }

  /// Removes all programs, unless there are no caches on disk.
  func removeAll() {
    guard binaries != nil else { return }
    programs.removeAll()
    ofWords.removeAll()
  }

  /// The passes so far, by their kind of shader, except for those of word buffers.
  private(set) var passes: [ProgramKey.Stage: Int] = [:]

  func program(_ key: ProgramKey) throws(ShaderError) -> Program {
    let program = try programs.value(of: key)
    passes[key.stage, default: 0] += 1
    return program
  }

  /// The compute shaders that the driver refused.
  private var refused: Set<ProgramKey> = []

  var refusedCount: Int { refused.count }

  func hasRefused(_ stage: ProgramKey.Stage) -> Bool { refused.contains { $0.stage == stage } }

  /// For tests: the compute shaders that count as refused.
  var refuses: (ProgramKey) -> Bool = { _ in false }

  /// Returns the program of a compute shader; nil if the driver refuses it, so that fragment shaders draw instead.
  func computeProgram(_ key: ProgramKey) -> Program? {
    guard !refused.contains(key), !refuses(key) else { return nil }
    do throws(ShaderError) { return try program(key) } catch {
      refused.insert(key)
      return nil
    }
  }

  /// Compiles a compute shader that its user keeps; nil if the driver refuses it.
  func keptProgram(_ key: ProgramKey) -> Program? {
    if refuses(key) { refused.insert(key) }
    guard !refused.contains(key) else { return nil }
    do throws(ShaderError) {
      return try clock.compile { () throws(ShaderError) in
        try Program(key, binaries, hasFlatUniforms: hasFlatUniforms)
      }
    } catch {
      refused.insert(key)
      return nil
    }
  }

  /// Returns nil unless drawings come often enough to pay for compiling the program.
  func program(_ variant: WordVariant) throws(ShaderError) -> Program? {
    if let program = ofWords[variant] { return program }
    guard ofWords.isWanted(variant) else { return nil }
    let program = try clock.compile { () throws(ShaderError) in
      try Program(variant.program, binaries, hasFlatUniforms: hasFlatUniforms)
    }
    ofWords.insert(program, for: variant)
    return program
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
