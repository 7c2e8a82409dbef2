// Every program that the tests compile: all that draw tap by tap or compose, and a selection of the others.
import Shaders

extension ProgramKey {
  static let all: [ProgramKey] =
    ShaderVariant.all.map(\.program) + BoxVariant.samples.map(\.program)
    + WordVariant.samples.map(\.program) + LayerVariant.programs
    + [
      BoxVariant.turn(pixels: false), BoxVariant.turn(pixels: true),
      BoxVariant.turn(pixels: true, byTurns: true), WordVariant.turn,
    ]
}

extension ShaderVariant {
  /// Every variant that a plan may need.
  static let all: [ShaderVariant] = {
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
  /// Only one signal is reduced at a time, and only once.
  fileprivate func takes(_ inputs: ShaderVariant.Inputs) -> Bool {
    switch (self, inputs) {
    case (.floatBits, .rgb(.reduced)), (.floatBits, .luma(.reduced)), (.floatBits, .chroma(.reduced)): false
    case (.floatBits, .lumaAndChroma): false
    default: true
    }
  }
}

extension ShaderVariant.Inputs {
  /// Only R, G, B can be linear; R, G, B converted from Y'CbCr always is.
  fileprivate func can(beInLinearLight isLinear: Bool) -> Bool {
    switch self {
    case .rgb(.ycbcr), .rgb(.luma): isLinear
    case .rgb: true
    case .luma, .chroma, .lumaAndChroma: !isLinear
    }
  }
}

extension BoxVariant {
  /// A selection of variants that covers each shader text and each texel count.
  static let samples: [BoxVariant] = counts.flatMap { texels in
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

extension WordVariant {
  /// A selection of variants that covers each shader text.
  static let samples: [WordVariant] = {
    let thirds = Packing(
      texels: 3, shifts: 0, samples: 48, step: 1, firstBytes: [0], columns: [0, 48], rows: [3, 1, 3])
    let pairs = Packing(
      texels: 7, shifts: 0, samples: 49, step: 2, firstBytes: [0, 1], columns: [4, 48], rows: [3, 1, 3])
    let uneven = Packing(
      texels: 5, shifts: 14, samples: 54, step: 1, firstBytes: [1], columns: [0, 54], rows: [5, 8, 27])
    let planes = Packing(
      texels: 2, shifts: 15, samples: 17, step: 1, firstBytes: [0, 0], columns: [8, 16], rows: [2, 2, 2])
    let pixelLuma = Packing(
      texels: 3, shifts: 0, samples: 48, step: 1, firstBytes: [0], columns: [0, 96], rows: [6, 1, 6])
    let pixelChroma = Packing(
      texels: 4, shifts: 0, samples: 25, step: 2, firstBytes: [0, 1], columns: [4, 48], rows: [3, 1, 3])
    return [false, true].flatMap { reachesOver in
      [
        WordVariant(
          luma: thirds, chroma: nil, isChromaApart: false, reachesOver: reachesOver, output: .plane),
        WordVariant(
          luma: uneven, chroma: nil, isChromaApart: false, reversesColumns: true, reachesOver: reachesOver,
          output: .plane, writesCodes: true),
        WordVariant(
          luma: nil, chroma: pairs, isChromaApart: false, reachesOver: reachesOver, output: .twoPlanes,
          writesCodes: true),
        WordVariant(
          luma: nil, chroma: planes, isChromaApart: true, readsPicture: true, reachesOver: reachesOver,
          output: .twoPlanes),
        WordVariant(
          luma: thirds, chroma: planes, isChromaApart: true, reachesOver: reachesOver, output: .plane),
        WordVariant(
          luma: pixelLuma, chroma: pixelChroma, isChromaApart: false, reversesColumns: reachesOver,
          reachesOver: reachesOver, output: .pixels),
      ]
    }
  }()
}

extension LayerVariant {
  /// Every program that a composition may need.
  static let programs: [ProgramKey] = {
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
