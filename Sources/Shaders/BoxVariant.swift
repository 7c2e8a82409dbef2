// The shaders that shrink four outputs at a time, and what they are specialised for.

/// A specialisation of the box shader.
package struct BoxVariant: Sendable, Hashable {
  /// How a signal's samples stand in texels of four bytes.
  package struct Packing: Sendable, Hashable {
    /// Texels of a row that hold the boxes of four outputs: one of `BoxVariant.counts`.
    package let texels: Int
    /// Rows that a box stands on, where they are few: constants make faster programs. Else nil.
    package let rows: Int?
    /// Samples of a component in a texel: 4, 2 or 1.
    package let samples: Int
    /// For each component of the signal the byte of a texel that holds its first sample, 0...3.
    package let firstBytes: [Int]

    /// How samples are weighted along rows.
    package let columnWeights: Weights
    /// How samples are weighted along columns.
    package let rowWeights: Weights
    /// Where boxes begin and how wide they are, where that is the same for all groups of four: then their weights are
    /// constants.
    package let boxes: Boxes?

    /// What a sample counts by.
    package enum Weights: Sendable, Hashable {
      /// By how much of it a box covers.
      case coverage
      /// By how near it is to the middle of a box.
      case nearness
    }

    /// Boxes that repeat, in samples.
    package struct Boxes: Sendable, Hashable {
      /// From a group's first column to its first box; the width of a box.
      package let columns: SIMD2<Double>
      /// The same of rows.
      package let rows: SIMD2<Double>

      /// Boxes along both axes.
      package init(columns: SIMD2<Double>, rows: SIMD2<Double>) {
        self.columns = columns
        self.rows = rows
      }
    }

    /// `texels` is rounded up to the next count that there is a shader for.
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

  /// What is written.
  package enum Output: Sendable, Hashable, CaseIterable {
    /// One component, four samples in a texel.
    case plane
    /// Two components, each to a target of its own.
    case twoPlanes
    /// R, G, B, A, four pixels in a texel.
    case pixels
  }

  /// The counts of texels that there are shaders for: sizes that clients ask for must not make new ones without end.
  package static let counts = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17]

  /// How Y' is read; nil where it is not.
  package let luma: Packing?
  /// How Cb and Cr are read; nil where they are not.
  package let chroma: Packing?
  /// Cb and Cr stand in textures of their own.
  package let isChromaApart: Bool
  /// Boxes may reach over the crop's edges.
  package let reachesOver: Bool
  /// What is written.
  package let output: Output

  /// A variant.
  package init(
    luma: Packing?, chroma: Packing?, isChromaApart: Bool, reachesOver: Bool = false, output: Output
  ) {
    self.luma = luma
    self.chroma = chroma
    self.isChromaApart = isChromaApart
    self.reachesOver = reachesOver
    self.output = output
  }

  /// The program.
  package var program: ProgramKey {
    var defines: [String] = []
    if let luma { defines += luma.defines("LUMA", ["LUMA"]) }
    if let chroma { defines += chroma.defines("CHROMA", ["CB", "CR"]) }
    if reachesOver { defines.append("REACHES_OVER 1") }
    if isChromaApart { defines.append("CHROMA_IS_APART 1") }
    switch output {
    case .plane: break
    case .twoPlanes: defines.append("WRITES_TWO_PLANES 1")
    case .pixels: defines.append("WRITES_PIXELS 1")
    }
    return ProgramKey(.box, defines)
  }

  /// The copy that turns planes, or pixels, which may stand in two textures by turns.
  package static func turn(pixels: Bool, byTurns: Bool = false) -> ProgramKey {
    ProgramKey(.turn, (pixels ? ["WRITES_PIXELS 1"] : []) + (byTurns ? ["READS_BY_TURNS 1"] : []))
  }

  /// A part of all variants that holds each shader text and each count of texels at least once.
  package static let samples: [BoxVariant] = counts.flatMap { texels in
    [4, 2, 1].flatMap { samples -> [BoxVariant] in
      let firstBytes = samples == 4 ? [0, 0] : samples == 2 ? [0, 1] : [1, 3]
      let packing = Packing(texels: texels, rows: texels, samples: samples, firstBytes: firstBytes)
      let repeated = Packing(
        texels: texels, rows: min(texels, 8), samples: samples, firstBytes: firstBytes,
        boxes: Packing.Boxes(columns: [0.25, Double(texels)], rows: [0, 1.5]))
      let other = Packing(
        texels: max(1, texels / 2), rows: 2, samples: samples, firstBytes: firstBytes,
        columnWeights: .nearness, rowWeights: texels % 2 == 0 ? .nearness : .coverage)
      let (isApart, reachesOver) = (samples == 4, texels % 2 == 0)
      return [
        BoxVariant(
          luma: packing, chroma: nil, isChromaApart: false, reachesOver: reachesOver, output: .plane),
        BoxVariant(luma: repeated, chroma: nil, isChromaApart: false, output: .plane),
        BoxVariant(
          luma: nil, chroma: packing, isChromaApart: isApart, reachesOver: reachesOver, output: .twoPlanes),
        BoxVariant(
          luma: packing, chroma: other, isChromaApart: isApart, reachesOver: reachesOver,
          output: texels % 3 == 0 ? .plane : .pixels),
      ]
    }
  }
}
