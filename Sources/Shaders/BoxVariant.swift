// The shaders that shrink four outputs at a time, and what they are specialised for.

/// A specialisation of the box shader.
public struct BoxVariant: Sendable, Hashable {
  /// How a signal's samples stand in texels of four bytes.
  public struct Packing: Sendable, Hashable {
    /// Texels that hold the boxes of four outputs: one of `BoxVariant.texelCounts`.
    public let texels: Int
    /// Samples of a component in a texel: 4, 2 or 1.
    public let samples: Int

    /// `texels` is rounded up to the next count that there is a shader for.
    public init(texels: Int, samples: Int) {
      self.texels = BoxVariant.texelCounts.first { $0 >= texels } ?? texels
      self.samples = samples
    }
  }

  /// What is written.
  public enum Output: Sendable, Hashable, CaseIterable {
    /// One component, four samples in a texel.
    case plane
    /// Two components, each to a target of its own.
    case twoPlanes
    /// R, G, B, A, four pixels in a texel.
    case pixels
  }

  /// The counts of texels that there are shaders for: sizes that clients ask for must not make new ones without end.
  public static let texelCounts = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]

  /// How Y' is read; nil where it is not.
  public let luma: Packing?
  /// How Cb and Cr are read; nil where they are not.
  public let chroma: Packing?
  /// Cb and Cr stand in textures of their own.
  public let isChromaApart: Bool
  /// What is written.
  public let output: Output

  /// A variant.
  public init(luma: Packing?, chroma: Packing?, isChromaApart: Bool, output: Output) {
    self.luma = luma
    self.chroma = chroma
    self.isChromaApart = isChromaApart
    self.output = output
  }

  /// The program.
  public var program: ProgramKey {
    var defines: [String] = []
    if let luma { defines += ["LUMA_TEXELS \(luma.texels)", "LUMA_SAMPLES \(luma.samples)"] }
    if let chroma { defines += ["CHROMA_TEXELS \(chroma.texels)", "CHROMA_SAMPLES \(chroma.samples)"] }
    if isChromaApart { defines.append("CHROMA_IS_APART 1") }
    switch output {
    case .plane: break
    case .twoPlanes: defines.append("WRITES_TWO_PLANES 1")
    case .pixels: defines.append("WRITES_PIXELS 1")
    }
    return ProgramKey(.box, defines)
  }

  /// The copy that turns planes, or pixels.
  public static func turn(pixels: Bool) -> ProgramKey { ProgramKey(.turn, pixels ? ["WRITES_PIXELS 1"] : []) }

  /// A part of all variants that holds each shader text and each count at least once.
  public static let samples: [BoxVariant] = texelCounts.flatMap { texels in
    [4, 2, 1].flatMap { samples -> [BoxVariant] in
      let packing = Packing(texels: texels, samples: samples)
      let other = Packing(texels: max(1, texels / 2), samples: samples)
      return [
        BoxVariant(luma: packing, chroma: nil, isChromaApart: false, output: .plane),
        BoxVariant(luma: nil, chroma: packing, isChromaApart: samples == 4, output: .twoPlanes),
        BoxVariant(luma: packing, chroma: other, isChromaApart: samples == 4, output: .pixels),
        BoxVariant(luma: packing, chroma: other, isChromaApart: samples == 4, output: .plane),
      ]
    }
  }
}
