// A shader and what it is specialised for: the typed catalogue of all that may be compiled.

/// A specialisation of the shaders that draw tap by tap.
package struct ShaderVariant: Sendable, Hashable {
  /// Where the numbers of a signal come from.
  package enum Origin: Sendable, Hashable, CaseIterable {
    /// The frame's planes.
    case frame
    /// An intermediate that was summed up along one axis.
    case reduced
  }

  /// What R, G and B are made of.
  package enum RGBOrigin: Sendable, Hashable, CaseIterable {
    /// A plane of R, G, B.
    case opaque
    /// A plane of R, G, B, A.
    case transparent
    /// Planes of Y', Cb and Cr.
    case ycbcr
    /// A plane of Y'.
    case luma
    /// An intermediate that was summed up along one axis.
    case reduced
  }

  /// The signals that are read.
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

  /// What is written.
  package enum Output: Sendable, Hashable, CaseIterable {
    /// R, G, B, A.
    case rgba
    /// Four neighbouring samples of one component.
    case packed
    /// The bits of floats: a signal summed up along one axis.
    case floatBits
  }

  /// What is read.
  package let inputs: Inputs
  /// What is written.
  package let output: Output
  /// Samples are mixed in linear light; only R, G, B can be.
  package let isInLinearLight: Bool
  /// Planes are stored in bands, because a texture cannot be as wide or as high.
  package let isInBands: Bool

  /// A variant.
  package init(_ inputs: Inputs, to output: Output, isInLinearLight: Bool = false, isInBands: Bool = false) {
    self.inputs = inputs
    self.output = output
    self.isInLinearLight = isInLinearLight
    self.isInBands = isInBands
  }

  /// The program.
  package var program: ProgramKey {
    ProgramKey(output == .floatBits ? .reduce : .compose, defines.map { "\($0) 1" })
  }

  /// The names that are defined for it.
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

  /// Every variant that a plan may ask for.
  package static let all: [ShaderVariant] = {
    let rgb = RGBOrigin.allCases.map { Inputs.rgb($0) }
    let single = Origin.allCases.flatMap { [Inputs.luma($0), .chroma($0)] }
    let both = Origin.allCases.flatMap { luma in
      Origin.allCases.map { Inputs.lumaAndChroma(luma: luma, chroma: $0) }
    }
    return (rgb + single + both).flatMap { inputs in
      Output.allCases.filter { $0.takes(inputs) }.flatMap { output in
        [false, true].filter { inputs.can(beInLinearLight: $0) }.flatMap { isLinear in
          [false, true].map {
            ShaderVariant(inputs, to: output, isInLinearLight: isLinear, isInBands: $0)
          }
        }
      }
    }
  }()
}

extension ShaderVariant.Output {
  /// Only one signal at a time is summed up, and only once.
  fileprivate func takes(_ inputs: ShaderVariant.Inputs) -> Bool {
    switch (self, inputs) {
    case (.floatBits, .rgb(.reduced)), (.floatBits, .luma(.reduced)), (.floatBits, .chroma(.reduced)): false
    case (.floatBits, .lumaAndChroma): false
    default: true
    }
  }
}

extension ShaderVariant.Inputs {
  /// R, G, B alone can be light, and R, G, B out of Y'CbCr always are.
  fileprivate func can(beInLinearLight isLinear: Bool) -> Bool {
    switch self {
    case .rgb(.ycbcr), .rgb(.luma): isLinear
    case .rgb: true
    case .luma, .chroma, .lumaAndChroma: !isLinear
    }
  }
}
