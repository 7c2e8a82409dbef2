// The shaders that put compositions together, and what they are specialised for.

/// How pixels of R, G, B, A stand in textures.
package enum PixelStore: Sendable, Hashable, CaseIterable {
  /// One to a texel, bytes.
  case texels
  /// Four to a texel, words.
  case quads
  /// Four to a texel, every other texel in a second texture.
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
  /// What is drawn.
  package enum Content: Sendable, Hashable {
    /// One colour.
    case color
    /// A gradient.
    case gradient
    /// Pixels, which may be transparent.
    case pixels(PixelStore, hasAlpha: Bool)
    /// Samples to be drawn larger, which were drawn larger along the columns before.
    case spreadSamples
    /// Samples to be drawn larger along both axes at once.
    case samples(PixelStore)
  }

  /// What becomes of it.
  package enum Drawing: Sendable, Hashable {
    /// Pixels go where they go as they are; where they begin at a texel of their own, each of them is one.
    case copy(onQuads: Bool)
    /// Whatever lay below is gone.
    case opaque
    /// Mixed with what lies below.
    case mixed
  }

  /// What is drawn.
  package let content: Content
  /// How.
  package let drawing: Drawing
  /// Not pixel on pixel.
  package let isTransformed: Bool

  /// A variant.
  package init(_ content: Content, _ drawing: Drawing, isTransformed: Bool = false) {
    self.content = content
    self.drawing = drawing
    self.isTransformed = isTransformed
  }

  /// The program.
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

  /// Samples drawn larger along the columns.
  package static func spread(_ store: PixelStore) -> ProgramKey { ProgramKey(.spread, store.defines) }

  /// A plane, or two at once, of a composed picture, each sample of which stands for `x` by `y` pixels.
  package static func planes(x: Int, y: Int, writesTwo: Bool) -> ProgramKey {
    ProgramKey(
      .planes, ["STEP_X \(x)", "STEP_Y \(y)"] + (writesTwo ? ["WRITES_TWO_PLANES 1"] : []))
  }

  /// Every variant that a composition may ask for, and what belongs to it.
  package static let programs: [ProgramKey] = {
    let opaque = PixelStore.allCases.map { Content.pixels($0, hasAlpha: false) }
    let contents = [.color, .gradient, .pixels(.texels, hasAlpha: true)] + opaque
    let layers =
      (contents + [.spreadSamples]).flatMap { content in
        [LayerVariant(content, .opaque), LayerVariant(content, .mixed)]
      }
      + (contents + PixelStore.allCases.map { .samples($0) }).map {
        LayerVariant($0, .mixed, isTransformed: true)
      }
      + opaque.flatMap { content in [false, true].map { LayerVariant(content, .copy(onQuads: $0)) } }
    return layers.map(\.program) + PixelStore.allCases.map { spread($0) }
      + [
        planes(x: 1, y: 1, writesTwo: false), planes(x: 1, y: 1, writesTwo: true),
        planes(x: 2, y: 1, writesTwo: true), planes(x: 2, y: 2, writesTwo: true),
      ]
  }()
}
