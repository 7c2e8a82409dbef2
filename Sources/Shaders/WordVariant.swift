// Variants of the shader that sums sixteen bytes at a time.

/// A specialisation of the words shader.
package struct WordVariant: Sendable, Hashable {
  /// The layout of a signal's samples in sixteen-byte texels, and the boxes' positions.
  package struct Packing: Sendable, Hashable {
    /// Texels of a row that hold the boxes of a group of outputs.
    package let texels: Int
    /// The bits of a byte's position in its texel that differ from group to group.
    package let shifts: Int
    /// Samples that a group reads.
    package let samples: Int
    /// Bytes from one sample of a component to the next.
    package let step: Int
    /// For each component, the byte that holds the group's first sample.
    package let firstBytes: [Int]
    /// The offset of a group's first box and the width of a box, in sixteenths of a sample.
    package let columns: SIMD2<Int>
    /// Rows per box, parts per row, and the box's height in parts.
    package let rows: SIMD3<Int>

    package init(
      texels: Int, shifts: Int, samples: Int, step: Int, firstBytes: [Int], columns: SIMD2<Int>,
      rows: SIMD3<Int>
    ) {
      self.texels = texels
      self.shifts = shifts
      self.samples = samples
      self.step = step
      self.firstBytes = firstBytes
      self.columns = columns
      self.rows = rows
    }

    fileprivate func defines(_ signal: String, _ components: [String]) -> [String] {
      [
        "\(signal)_TEXELS \(texels)", "\(signal)_SHIFTS \(shifts)", "\(signal)_SAMPLES \(samples)",
        "\(signal)_STEP \(step)", "\(signal)_START \(columns.x)", "\(signal)_WIDTH \(columns.y)",
        "\(signal)_ROWS \(rows.x)", "\(signal)_UNIT \(rows.y)", "\(signal)_HEIGHT \(rows.z)",
      ] + zip(components, firstBytes).map { "\($0)_BYTE \($1)" }
    }
  }

  /// The layout of Y'; nil if it is not read.
  package let luma: Packing?
  /// The layout of Cb and Cr; nil if they are not read.
  package let chroma: Packing?
  /// Whether Cb and Cr have separate buffers or textures, or separate places in one buffer.
  package let isChromaApart: Bool
  /// Whether outputs run in reverse to the samples.
  package let reversesColumns: Bool
  /// Whether boxes may reach over the crop's edges.
  package let reachesOver: Bool
  package let output: PassVariant.Output
  /// Whether it also writes the codes before their conversion.
  package let writesCodes: Bool

  package init(
    luma: Packing?, chroma: Packing?, isChromaApart: Bool,
    reversesColumns: Bool = false, reachesOver: Bool = false, output: PassVariant.Output,
    writesCodes: Bool = false
  ) {
    self.luma = luma
    self.chroma = chroma
    self.isChromaApart = isChromaApart
    self.reversesColumns = reversesColumns
    self.reachesOver = reachesOver
    self.output = output
    self.writesCodes = writesCodes
  }

  package var program: ProgramKey {
    var defines: [String] = []
    if let luma { defines += luma.defines("LUMA", ["LUMA"]) }
    if let chroma { defines += chroma.defines("CHROMA", ["CB", "CR"]) }
    if isChromaApart { defines.append("CHROMA_IS_APART 1") }
    if reversesColumns { defines.append("REVERSES_COLUMNS 1") }
    if reachesOver { defines.append("REACHES_OVER 1") }
    if writesCodes { defines.append("WRITES_CODES 1") }
    return ProgramKey(.words, defines + output.defines)
  }

  /// The shader that copies planes rotated.
  package static let turn = ProgramKey(.turnWords, [])
}
