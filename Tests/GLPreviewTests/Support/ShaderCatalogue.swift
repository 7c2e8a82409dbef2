// Every program that the tests compile: all that draw in two passes, compose or warp, and a selection of the others.
import Shaders

extension ProgramKey {
  static let all: [ProgramKey] =
    PassVariant.programs + WordVariant.samples.map(\.program) + LayerVariant.programs
    + [
      PassVariant.turn(pixels: false), PassVariant.turn(pixels: true),
      PassVariant.turn(pixels: true, byTurns: true), WordVariant.turn,
      PassVariant.turn(pixels: false, in: .images), PassVariant.turn(pixels: true, in: .images),
      PassVariant.turn(pixels: false, in: .buffer), PassVariant.turn(pixels: true, in: .buffer),
    ] + PassVariant.computing + PassVariant.warps + JPEGStep.programs
}

extension PassVariant {
  /// Compute shaders of all inputs, outputs and places where they write.
  static let computing: [ProgramKey] = {
    let opaque = [
      Input.luma, .chroma(isApart: false), .chroma(isApart: true), .both(isApart: false),
      .both(isApart: true),
      .rgb(step: 3), .rgb(step: 4),
    ]
    let outputs = [Output.plane, .twoPlanes, .pixels]
    let places = [Place.textures, .imported, .external]
    let drawn = places.flatMap { place in
      opaque.flatMap { input in
        outputs.flatMap { output in
          let variant = PassVariant(input, to: output)
          return [ProgramKey.Stage.images, .buffer].flatMap { stage in
            [
              variant.bothPasses(Store(place), in: stage),
              variant.bothPasses(Store(place), takesHalves: true, in: stage),
            ] + variant.samples(Store(place)).map { variant.sample(Store(place), $0, in: stage) }
          }
        }
      }
    }
    let pixels = PassVariant(.rgb(step: 4), to: .pixels)
    let light = PassVariant(.light, to: .pixels)
    let blended = [false, true].flatMap { isWide in
      let store = Store(.textures, isWide: isWide, hasAlpha: true)
      return [ProgramKey.Stage.images, .buffer].flatMap { stage in
        [
          pixels.bothPasses(store, in: stage), pixels.sample(store, .neighbours, in: stage),
          light.bothPasses(store, light: .rgb(step: 4), in: stage),
        ]
      }
    }
    let lights = Light.all.flatMap { kind in
      [ProgramKey.Stage.images, .buffer].map { light.bothPasses(Store(.textures), light: kind, in: $0) }
    }
    return drawn + blended + lights
  }()

  /// Every program that draws warped views.
  static let warps: [ProgramKey] = {
    let opaque = [
      PassVariant(.luma, to: .plane), PassVariant(.luma, to: .twoPlanes), PassVariant(.luma, to: .pixels),
      PassVariant(.chroma(isApart: true), to: .twoPlanes), PassVariant(.both(isApart: true), to: .plane),
      PassVariant(.both(isApart: true), to: .twoPlanes), PassVariant(.both(isApart: true), to: .pixels),
      PassVariant(.rgb(step: 3), to: .pixels), PassVariant(.rgb(step: 4), to: .pixels),
    ]
    let stores = [
      Store(.textures), Store(.buffer), Store(.textures, hasBufferTables: true), Store(.imported),
      Store(.external),
    ]
    let blended = [Place.textures, .buffer].flatMap { place in
      [false, true].map { isWide in
        PassVariant(.rgb(step: 4), to: .pixels).warp(Store(place, isWide: isWide, hasAlpha: true))
      }
    }
    return stores.flatMap { store in opaque.map { $0.warp(store) } } + blended
  }()

  /// Every program that draws in two passes, or picks samples.
  static let programs: [ProgramKey] = {
    let luma = [PassVariant(.luma, to: .plane)]
    let chroma = [false, true].map { PassVariant(.chroma(isApart: $0), to: .twoPlanes) }
    let both = [false, true].flatMap { isApart in
      [Output.plane, .pixels].map { PassVariant(.both(isApart: isApart), to: $0) }
    }
    let pixels =
      [PassVariant(.luma, to: .pixels)] + [3, 4].map { PassVariant(.rgb(step: $0), to: .pixels) }
    let light = PassVariant(.light, to: .pixels)
    let stores = [Place.textures, .buffer].flatMap { place in
      [
        Store(place), Store(place, hasBufferTables: true), Store(place, hasAlpha: true),
        Store(place, isWide: true, hasAlpha: true),
      ]
    }
    let drawn = [Place.drawnWords, .drawnTexels].map { Store($0, hasBufferTables: true) }
    let all = luma + chroma + both + pixels
    let samples = stores.flatMap { store in
      (store.hasAlpha ? [pixels[2]] : all).flatMap { variant in
        variant.samples(store).map { variant.sample(store, $0) }
      }
    }
    let lights = stores.flatMap { store in
      (store.hasAlpha ? [.rgb(step: 4)] : Light.all).map { PassVariant.light($0, store) }
    }
    let columns = [Place.textures, .buffer].flatMap { place in
      (all + [light]).map { $0.columns(Store(place)) }
    }
    let halves = [Place.textures, .buffer].map { rows(Store($0), takesHalves: true) }
    return columns + (stores + drawn).map { rows($0) } + halves + lights + Array(Set(samples))
  }()
}

extension PassVariant {
  /// Windows are of bytes of components.
  fileprivate func samples(_ store: Store) -> [Samples] {
    if case .rgb = input { return [.one, .neighbours] }
    return store.isWide ? [.one, .neighbours] : Samples.allCases
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
          luma: nil, chroma: planes, isChromaApart: true, reachesOver: reachesOver,
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
