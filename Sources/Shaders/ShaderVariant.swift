// Variants of the shaders that draw tap by tap.

/// A specialisation of the shaders that draw tap by tap.
package struct ShaderVariant: Sendable, Hashable {
  /// Where a signal's samples come from.
  package enum Origin: Sendable, Hashable, CaseIterable {
    /// The frame's planes.
    case frame
    /// An intermediate reduced along one axis.
    case reduced
  }

  /// What R, G and B are read from.
  package enum RGBOrigin: Sendable, Hashable, CaseIterable {
    /// A plane of R, G, B.
    case opaque
    /// A plane of R, G, B, A.
    case transparent
    /// Planes of Y', Cb and Cr.
    case ycbcr
    /// A plane of Y'.
    case luma
    /// An intermediate reduced along one axis.
    case reduced
  }

  /// The signals that the shader reads.
  package enum Inputs: Sendable, Hashable {
    /// R, G and B.
    case rgb(RGBOrigin)
    /// Y'.
    case luma(Origin)
    /// Cb and Cr.
    case chroma(Origin)
    /// All three.
    case lumaAndChroma(luma: Origin, chroma: Origin)
  }

  /// What the shader writes.
  package enum Output: Sendable, Hashable, CaseIterable {
    /// R, G, B, A.
    case rgba
    /// Four neighbouring samples of one component.
    case packed
    /// The bits of floats: a signal reduced along one axis.
    case floatBits
  }

  package let inputs: Inputs
  package let output: Output
  /// Whether samples are interpolated in linear light; only R, G, B can be.
  package let isInLinearLight: Bool
  /// Whether planes are stored in bands, because they exceed the texture size limit.
  package let isInBands: Bool

  package init(_ inputs: Inputs, to output: Output, isInLinearLight: Bool = false, isInBands: Bool = false) {
    self.inputs = inputs
    self.output = output
    self.isInLinearLight = isInLinearLight
    self.isInBands = isInBands
  }

  package var program: ProgramKey {
    ProgramKey(output == .floatBits ? .reduce : .compose, defines.map { "\($0) 1" })
  }

  private var defines: [String] {
    var names: [String] = []
    func add(_ name: String, if condition: Bool) { if condition { names.append(name) } }
    switch inputs {
    case .rgb(let origin):
      names.append("READS_RGB")
      add("HAS_ALPHA", if: origin == .transparent)
      add("RGB_IS_YCBCR", if: origin == .ycbcr || origin == .luma)
      add("HAS_CHROMA", if: origin == .ycbcr)
      add("RGB_IS_REDUCED", if: origin == .reduced)
    case .luma(let origin):
      names.append("READS_LUMA")
      add("LUMA_IS_REDUCED", if: origin == .reduced)
    case .chroma(let origin):
      names.append("READS_CHROMA")
      add("CHROMA_IS_REDUCED", if: origin == .reduced)
    case .lumaAndChroma(let luma, let chroma):
      names += ["READS_LUMA", "READS_CHROMA"]
      add("LUMA_IS_REDUCED", if: luma == .reduced)
      add("CHROMA_IS_REDUCED", if: chroma == .reduced)
    }
    add("IN_LINEAR_LIGHT", if: isInLinearLight)
    add("IN_BANDS", if: isInBands)
    add("PACKS_FOUR", if: output == .packed)
    return names
  }
}
