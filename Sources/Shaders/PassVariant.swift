// Variants of the shaders that draw any kernel of any format: in two passes, by picking samples, or warped.

/// A specialisation of the shaders that draw packed samples. None depends on a size or a ratio.
package struct PassVariant: Sendable, Hashable {
  /// The samples that are read.
  package enum Input: Sendable, Hashable {
    /// Components. Cb and Cr alternate in one plane, or are in two planes.
    case luma, chroma(isApart: Bool), both(isApart: Bool)
    /// Interleaved R, G and B, with a fourth channel if `step` is 4.
    case rgb(step: Int)
    /// Sums of the light of R, G and B.
    case light
  }

  /// The samples that are written.
  package enum Output: Sendable, Hashable {
    /// Four samples of one component.
    case plane
    /// Four samples of two components, each to its own target.
    case twoPlanes
    /// Four pixels.
    case pixels

    package var defines: [String] {
      switch self {
      case .plane: []
      case .twoPlanes: ["WRITES_TWO_PLANES 1"]
      case .pixels: ["WRITES_PIXELS 1"]
      }
    }
  }

  package let input: Input
  package let output: Output

  package init(_ input: Input, to output: Output) {
    self.input = input
    self.output = output
  }

  /// Where the planes are that are read.
  package enum Place: Sendable, Hashable, CaseIterable {
    case textures, buffer
    /// Memory of another device, such as a camera's; `external` where only that kind of sampler reads it.
    case imported, external
    /// Drawn planes, with sixteen or four samples a texel. Only their rows are summed.
    case drawnWords, drawnTexels

    fileprivate var defines: [String] {
      switch self {
      case .textures: []
      case .buffer: ["READS_BUFFER 1"]
      case .imported: ["READS_IMPORTED 1"]
      case .external: ["READS_IMPORTED 1", "IS_EXTERNAL 1"]
      case .drawnWords: ["READS_DRAWN_WORDS 1"]
      case .drawnTexels: ["READS_DRAWN_TEXELS 1"]
      }
    }
  }

  /// How planes are stored.
  package struct Store: Sendable, Hashable {
    package let place: Place
    /// Whether tables are in buffers. For software renderers they are, even if a frame is too large for a
    /// buffer.
    package let hasBufferTables: Bool
    /// Whether samples have sixteen bits.
    package let isWide: Bool
    package let hasAlpha: Bool

    /// Whether rows are summed sixteen samples at a time, into two targets, as software does. Elsewhere, two targets of
    /// 128 bits would take half of a tile's memory away.
    package let takesSixteen: Bool

    package init(
      _ place: Place, hasBufferTables: Bool? = nil, takesSixteen: Bool? = nil, isWide: Bool = false,
      hasAlpha: Bool = false
    ) {
      self.place = place
      self.takesSixteen = takesSixteen ?? hasBufferTables ?? (place == .buffer)
      self.hasBufferTables = hasBufferTables ?? (place == .buffer)
      self.isWide = isWide
      self.hasAlpha = hasAlpha
    }

    fileprivate var defines: [String] {
      place.defines + tableDefines + (isWide ? ["IS_WIDE 1"] : [])
        + (hasAlpha ? ["HAS_ALPHA 1"] : [])
    }

    fileprivate var tableDefines: [String] { hasBufferTables ? ["TABLES_IN_BUFFERS 1"] : [] }

    fileprivate var sumDefines: [String] { takesSixteen ? ["TAKES_SIXTEEN 1"] : [] }

    /// Returns the shader with the GLSL version that buffers need.
    fileprivate func version(of source: ShaderSource) -> ShaderSource {
      place == .buffer || hasBufferTables ? source.withVersion(of: .words) : source
    }
  }

  /// Returns the first of two passes, over all bytes of a row, or every other one.
  package static func rows(_ store: Store, takesHalves: Bool = false) -> ProgramKey {
    ProgramKey(
      store.version(of: .rows), store.defines + store.sumDefines + (takesHalves ? ["TAKES_HALVES 1"] : []))
  }

  /// The components that light is computed from.
  package enum Light: Sendable, Hashable {
    /// Interleaved R, G and B, with a fourth channel if `step` is 4.
    case rgb(step: Int)
    case luma, ycbcr

    package static let all: [Light] = [.rgb(step: 3), .rgb(step: 4), .luma, .ycbcr]

    fileprivate var defines: [String] {
      switch self {
      case .rgb(let step): ["READS_RGB \(step)"]
      case .luma: []
      case .ycbcr: ["HAS_CHROMA 1"]
      }
    }
  }

  /// Returns the first of two passes in linear light.
  package static func light(_ light: Light, _ store: Store) -> ProgramKey {
    ProgramKey(store.version(of: .light), light.defines + store.defines)
  }

  /// Returns the second of two passes, whose tables are stored like the frame.
  package func columns(_ store: Store) -> ProgramKey {
    ProgramKey(
      store.version(of: .columns), store.tableDefines + store.sumDefines + sumDefines + output.defines)
  }

  private var sumDefines: [String] {
    switch input {
    case .luma: ["READS_LUMA 1"]
    case .chroma(let isApart): ["READS_CHROMA 1"] + (isApart ? ["CHROMA_IS_APART 1"] : [])
    case .both(let isApart): ["READS_LUMA 1", "READS_CHROMA 1"] + (isApart ? ["CHROMA_IS_APART 1"] : [])
    case .rgb(let step): ["RGB_BYTES \(step)"]
    case .light: ["SUMS_LIGHT 1"]
    }
  }

  /// The texels of sixteen bytes that invocations of a compute shader share: nearly the 16 KiB that every device of
  /// OpenGL ES 3.1 has.
  package static let sharedTexels = 1000

  /// Returns the compute shader that does both passes: over all bytes of a row, or every other one, or over the light
  /// of `light`. The frame and the tables must be in textures.
  package func bothPasses(
    _ store: Store, takesHalves: Bool = false, light: Light? = nil, in stage: ProgramKey.Stage = .images
  ) -> ProgramKey {
    ProgramKey(
      stage, .passes,
      ["SHARED_TEXELS \(Self.sharedTexels)"] + store.defines + sumDefines + (light?.defines ?? [])
        + output.defines + (takesHalves ? ["TAKES_HALVES 1"] : []))
  }

  /// The samples per output in a single pass.
  package enum Samples: Sendable, Hashable, CaseIterable {
    /// One; two by two; or two by two where four outputs read at most sixteen bytes of a row.
    case one, neighbours, neighboursInWindows
  }

  /// Returns the single pass for outputs of one sample, or of two by two. The program does not depend on the
  /// positions of samples.
  package func sample(
    _ store: Store, _ samples: Samples, in stage: ProgramKey.Stage = .fragment
  ) -> ProgramKey {
    let defines = sampleDefines + store.defines + output.defines + samples.defines(for: input)
    return ProgramKey(stage, store.version(of: .sample), defines)
  }

  /// Returns the single pass of a warped view. The program depends neither on positions nor on the filter.
  package func warp(_ store: Store) -> ProgramKey {
    ProgramKey(store.version(of: .warp), sampleDefines + store.defines + output.defines)
  }

  private var sampleDefines: [String] {
    switch input {
    case .luma: ["READS_LUMA 1"]
    case .chroma: ["READS_CHROMA 1"]
    case .both: ["READS_LUMA 1", "READS_CHROMA 1"]
    case .rgb(let step): ["READS_RGB \(step)"]
    // Does not happen, because light is drawn in two passes.
    case .light: []
    }
  }

  /// Returns the shader that rotates planes or pixels, which may alternate between two textures.
  package static func turn(
    pixels: Bool, byTurns: Bool = false, in stage: ProgramKey.Stage = .fragment
  ) -> ProgramKey {
    let defines = (pixels ? ["WRITES_PIXELS 1"] : []) + (byTurns ? ["READS_BY_TURNS 1"] : [])
    return ProgramKey(stage, .turn, defines)
  }
}

extension PassVariant.Samples {
  fileprivate func defines(for input: PassVariant.Input) -> [String] {
    switch self {
    case .one: return []
    case .neighbours: return ["HAS_NEIGHBOURS 1"]
    case .neighboursInWindows:
      let isApart =
        switch input {
        case .chroma(let isApart), .both(let isApart): isApart
        case .luma, .rgb, .light: false
        }
      return ["HAS_NEIGHBOURS 1", "HAS_WINDOWS 1"] + (isApart ? ["CHROMA_IS_APART 1"] : [])
    }
  }
}
