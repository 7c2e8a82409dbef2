// Synthetic scenes of a fixed camera, made cell by cell, with what truly moves. No sine, so that they are the same on all machines.
import TestSupport

@testable import PreviewCore

/// A scene: five pictures a second, and when something truly moves.
struct MotionScene: Sendable {
  let name: String
  /// In pictures; the first ones are of nothing but the background.
  var movements: [Range<Int>] = []
  var length = 400
  /// How often the whole picture becomes another one.
  var changes = 0
  /// Events that are told although nothing moves: what is known to be wrong.
  var mostWrong = 0
  /// The standard deviation of a cell's noise, in codes. Of a 1080p camera with noise of 10 a pixel it is 0.3.
  var noise: Float = 0.6
  /// What the light is at a picture: a gain and an offset.
  var light: @Sendable (Int) -> (gain: Float, offset: Float) = { _ in (1, 0) }
  /// By how many cells the camera is off, at a picture.
  var shift: @Sendable (Int) -> SIMD2<Float> = { _ in .zero }
  /// Changes the cells of a picture.
  var draw: @Sendable (Int, inout Canvas) -> Void = { _, _ in }

  static let rate = 5

  static func time(of picture: Int) -> CaptureInstant {
    CaptureInstant(sinceStart: .milliseconds(picture * 1000 / rate))
  }

  func pictures(seed: UInt64) -> [MotionCells] {
    var random = SeededGenerator(seed: seed)
    let texture = Texture(seed: seed &* 77 &+ 5)
    var (background, seen) = (texture.cells(at: .zero), SIMD2<Float>.zero)
    return (0..<length).compactMap { picture in
      if shift(picture) != seen {
        seen = shift(picture)
        background = texture.cells(at: seen)
      }
      var canvas = Canvas(cells: background, random: SeededGenerator(seed: seed &+ UInt64(picture) &* 7919))
      draw(picture, &canvas)
      let light = light(picture)
      let luma = canvas.cells.map { cell in
        let code = (cell * light.gain + light.offset) + noise * random.bell()
        return UInt8(min(max(code.rounded(), 0), 255))
      }
      return MotionCells(luma, at: Self.time(of: picture))
    }
  }
}

/// A picture that is drawn on.
struct Canvas {
  var cells: [Float]
  var random: SeededGenerator

  /// A rectangle, in cells, that differs from the background by `contrast`; partly covered cells differ less.
  mutating func box(_ x: Float, _ y: Float, _ width: Float, _ height: Float, contrast: Float) {
    func part(_ cell: Int, _ low: Float, _ high: Float) -> Float {
      max(0, min(Float(cell + 1), high) - max(Float(cell), low))
    }
    let (left, right) = (max(Int(x), 0), min(Int(x + width) + 1, MotionCells.columns))
    guard left < right else { return }
    for row in max(Int(y), 0)..<max(min(Int(y + height) + 1, MotionCells.rows), max(Int(y), 0)) {
      for column in left..<right {
        let cell = row * MotionCells.columns + column
        cells[cell] += contrast * part(column, x, x + width) * part(row, y, y + height)
      }
    }
  }

  /// Something that hides the background: `texture` seen from its own corner, brighter by `contrast`.
  mutating func thing(
    _ x: Float, _ y: Float, _ width: Float, _ height: Float, contrast: Float, _ texture: Texture
  ) {
    let before = cells
    var covered = Canvas(cells: [Float](repeating: 0, count: cells.count), random: random)
    covered.box(x, y, width, height, contrast: 1)
    for (cell, part) in covered.cells.enumerated() where part > 0 {
      let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
      let own = texture.value(Float(column) - x, 20 + Float(row) - y) + contrast
      cells[cell] = before[cell] * (1 - part) + own * part
    }
  }

  /// A lamp that lights its surroundings, at most by `gain`, up to `reach` cells around its middle.
  mutating func lamp(_ x: Float, _ y: Float, reach: Float, gain: Float) {
    for cell in cells.indices {
      let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
      let (across, down) = ((Float(column) - x) / reach, (Float(row) - y) / reach)
      cells[cell] *= 1 + gain * max(0, 1 - across * across - down * down)
    }
  }
}

/// What a street looks like from afar: a bright sky, large areas, small details.
struct Texture {
  let seed: UInt64

  /// What a camera sees that is off by `shift`.
  func cells(at shift: SIMD2<Float>) -> [Float] {
    (0..<MotionCells.count).map { cell in
      let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
      return value(Float(column) + shift.x, Float(row) + shift.y)
    }
  }

  func value(_ x: Float, _ y: Float) -> Float {
    let ground = 100 + 70 * lattice(x / 7, y / 5, 1) + 36 * lattice(x / 1.7, y / 1.7, 2)
    let sky = 190 + 8 * lattice(x / 20, y / 8, 3)
    let isSky = min(max(7.5 + 4 * lattice(x / 6, 0, 4) - y, 0), 1)
    return ground + isSky * (sky - ground)
  }

  /// Values of -0.5...0.5 at whole numbers, and what lies between.
  private func lattice(_ x: Float, _ y: Float, _ layer: UInt64) -> Float {
    let (column, row) = (x.rounded(.down), y.rounded(.down))
    func corner(_ right: Float, _ below: Float) -> Float {
      var random = SeededGenerator(
        seed: seed &+ layer &* 1_000_003 &+ UInt64(bitPattern: Int64(column + right)) &* 6_364_136
          &+ UInt64(bitPattern: Int64(row + below)) &* 1_442_695_041)
      return random.uniform() - 0.5
    }
    let (u, v) = (x - column, y - row)
    let top = corner(0, 0) * (1 - u) + corner(1, 0) * u
    return top * (1 - v) + (corner(0, 1) * (1 - u) + corner(1, 1) * u) * v
  }
}

extension SeededGenerator {
  /// 0..<1.
  mutating func uniform() -> Float { Float(next() >> 40) / Float(1 << 24) }

  /// Nearly normal, of deviation 1: the sum of four.
  mutating func bell() -> Float { (uniform() + uniform() + uniform() + uniform() - 2) * 1.732 }
}

/// Between -1 and 1 and back, in a triangle.
func swing(_ phase: Float) -> Float {
  let place = phase - phase.rounded(.down)
  return 4 * abs(place - 0.5) - 1
}
