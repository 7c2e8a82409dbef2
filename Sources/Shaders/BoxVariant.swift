// Variants of the shader that resamples four outputs at a time.

/// A specialisation of the box shader.
package struct BoxVariant: Sendable, Hashable {
  /// The layout of a signal's samples in four-byte texels.
  package struct Packing: Sendable, Hashable {
    /// Texels of a row that hold the boxes of four outputs: one of `BoxVariant.counts`.
    package let texels: Int
    /// Rows per box if they are few, because a constant makes a faster program; otherwise nil.
    package let rows: Int?
    /// Samples of a component per texel: 4, 2 or 1.
    package let samples: Int
    /// For each component, the byte of a texel that holds its first sample, 0...3.
    package let firstBytes: [Int]

    package let columnWeights: Weights
    package let rowWeights: Weights
    /// The boxes' offset and width if they are the same for all groups of four, which makes their weights constants.
    package let boxes: Boxes?

    /// The weight of a sample.
    package enum Weights: Sendable, Hashable {
      /// The part of it that the box covers.
      case coverage
      /// Its nearness to the box's centre.
      case nearness
    }

    /// Repeating boxes, in samples.
    package struct Boxes: Sendable, Hashable {
      /// The offset from a group's first column to its first box, and a box's width.
      package let columns: SIMD2<Double>
      /// The offset and height along rows.
      package let rows: SIMD2<Double>

      package init(columns: SIMD2<Double>, rows: SIMD2<Double>) {
        self.columns = columns
        self.rows = rows
      }
    }

    /// `texels` is rounded up to the next value of `counts`.
    package init(
      texels: Int, rows: Int, samples: Int, firstBytes: [Int], columnWeights: Weights = .coverage,
      rowWeights: Weights = .coverage, boxes: Boxes? = nil
    ) {
      let rounded = BoxVariant.counts.first { $0 >= texels } ?? texels
      self.texels = rounded
      self.rows = rows <= 8 && rows * rounded <= 64 ? rows : nil
      self.samples = samples
      self.firstBytes = firstBytes
      self.columnWeights = columnWeights
      self.rowWeights = rowWeights
      self.boxes = boxes
    }

    fileprivate func defines(_ signal: String, _ components: [String]) -> [String] {
      ["\(signal)_TEXELS \(texels)", "\(signal)_SAMPLES \(samples)"]
        + [
          "\(signal)_WEIGHTS \(columnWeights == .coverage ? "coverages" : "nearnesses")",
          "\(signal)_WIDTH \(columnWeights == .coverage ? "box.y" : "1.0")",
          "\(signal)_ROW_WEIGHT \(rowWeights == .coverage ? "coverage" : "nearness")",
        ] + zip(components, firstBytes).map { "\($0)_BYTE \($1)" }
        + (rows.map { ["\(signal)_ROWS \($0)"] } ?? [])
        + (boxes.map {
          [
            "\(signal)_BOX vec2(\($0.columns.x), \($0.columns.y))",
            "\(signal)_ROW_BOX vec2(\($0.rows.x), \($0.rows.y))",
          ]
        } ?? [])
    }
  }

  /// What the shader writes.
  package enum Output: Sendable, Hashable, CaseIterable {
    /// One component, four samples per texel.
    case plane
    /// Two components, each to its own target.
    case twoPlanes
    /// R, G, B, A; four pixels per texel.
    case pixels

    var defines: [String] {
      switch self {
      case .plane: []
      case .twoPlanes: ["WRITES_TWO_PLANES 1"]
      case .pixels: ["WRITES_PIXELS 1"]
      }
    }
  }

  /// The texel counts that have shaders: a fixed list, so that arbitrary request sizes cannot create programs without
  /// limit.
  package static let counts = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17]

  /// The layout of Y'; nil if it is not read.
  package let luma: Packing?
  /// The layout of Cb and Cr; nil if they are not read.
  package let chroma: Packing?
  /// Whether Cb and Cr have separate textures.
  package let isChromaApart: Bool
  /// Whether boxes may reach over the crop's edges.
  package let reachesOver: Bool
  package let output: Output

  package init(
    luma: Packing?, chroma: Packing?, isChromaApart: Bool, reachesOver: Bool = false, output: Output
  ) {
    self.luma = luma
    self.chroma = chroma
    self.isChromaApart = isChromaApart
    self.reachesOver = reachesOver
    self.output = output
  }

  package var program: ProgramKey {
    var defines: [String] = []
    if let luma { defines += luma.defines("LUMA", ["LUMA"]) }
    if let chroma { defines += chroma.defines("CHROMA", ["CB", "CR"]) }
    if reachesOver { defines.append("REACHES_OVER 1") }
    if isChromaApart { defines.append("CHROMA_IS_APART 1") }
    return ProgramKey(.box, defines + output.defines)
  }

  /// The shader that rotates planes or pixels, which may alternate between two textures.
  package static func turn(pixels: Bool, byTurns: Bool = false) -> ProgramKey {
    ProgramKey(.turn, (pixels ? ["WRITES_PIXELS 1"] : []) + (byTurns ? ["READS_BY_TURNS 1"] : []))
  }
}
