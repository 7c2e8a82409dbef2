// Variants of the shaders that draw compositions.

/// How R, G, B, A pixels are stored in textures.
package enum PixelStore: Sendable, Hashable, CaseIterable {
  /// One per texel, as bytes.
  case texels
  /// Four per texel, as words.
  case quads
  /// Four per texel; alternate texels are in a second texture.
  case quadsByTurns

  fileprivate var defines: [String] {
    switch self {
    case .texels: []
    case .quads: ["IN_QUADS 1"]
    case .quadsByTurns: ["IN_QUADS 1", "BY_TURNS 1"]
    }
  }
}

/// A specialisation of the layer shader.
package struct LayerVariant: Sendable, Hashable {
  /// The content of the layer.
  package enum Content: Sendable, Hashable {
    case color
    case gradient
    /// Pixels, possibly transparent.
    case pixels(PixelStore, hasAlpha: Bool)
    /// Blur samples already enlarged along the columns.
    case spreadSamples
    /// Blur samples to enlarge along both axes at once.
    case samples(PixelStore)
  }

  /// How the layer is combined with those below.
  package enum Drawing: Sendable, Hashable {
    /// Copies pixels unchanged; with `onQuads`, whole texels of four pixels.
    case copy(onQuads: Bool)
    /// Replaces the layers below.
    case opaque
    /// Blends over the layers below.
    case mixed
  }

  package let content: Content
  package let drawing: Drawing
  /// Whether it is placed by a transform instead of pixel on pixel.
  package let isTransformed: Bool

  package init(_ content: Content, _ drawing: Drawing, isTransformed: Bool = false) {
    self.content = content
    self.drawing = drawing
    self.isTransformed = isTransformed
  }

  package var program: ProgramKey {
    var defines: [String]
    switch content {
    case .color: defines = ["SHOWS_COLOR 1"]
    case .gradient: defines = ["SHOWS_GRADIENT 1"]
    case .pixels(let store, let hasAlpha):
      defines = ["SHOWS_PIXELS 1"] + store.defines + (hasAlpha ? ["HAS_ALPHA 1"] : [])
    case .spreadSamples: defines = ["SHOWS_SAMPLES 1"]
    case .samples(let store): defines = ["SHOWS_SAMPLES 1"] + store.defines
    }
    if isTransformed { defines.append("IS_TRANSFORMED 1") }
    switch drawing {
    case .copy(let onQuads): defines += ["COPIES 1"] + (onQuads ? ["ON_QUADS 1"] : [])
    case .opaque: break
    case .mixed: defines.append("MIXES 1")
    }
    return ProgramKey(.layer, defines)
  }

  /// Returns the shader that enlarges blur samples along the columns.
  package static func spread(_ store: PixelStore) -> ProgramKey { ProgramKey(.spread, store.defines) }

  /// Returns the shader that makes one or two planes of a composed picture; each sample stands for `x` by `y`
  /// pixels.
  package static func planes(x: Int, y: Int, writesTwo: Bool) -> ProgramKey {
    ProgramKey(
      .planes, ["STEP_X \(x)", "STEP_Y \(y)"] + (writesTwo ? ["WRITES_TWO_PLANES 1"] : []))
  }
}
