// The moves of positions in a picture that errors of a lens's numbers cause.
internal import Glibc

/// How far positions in the picture move with the numbers of a lens, less the part that a rotation of the camera does.
struct PictureMoves {
  private let rays: [SIMD3<Double>]
  private let positions: [Double]
  /// The moves by rotations of the camera, of length 1 and orthogonal to each other.
  private let turns: [[Double]]
  /// For each number, both coordinates of all moves by a change of its scale.
  private let columns: [[Double]]

  private static let parts = (x: 16, y: 12)
  private static let step = 1e-5

  /// Creates the moves of directions to the front, or up to the angle `reach` from the axis; nil if the lens can't be
  /// used, or the picture has no such directions.
  init?(of lens: Lens, in size: Size, _ numbers: [LensNumber], _ scales: [Double], _ reach: Double) {
    guard let map = try? LensMap(lens, in: size) else { return nil }
    let step = PictureMoves.step
    let rays = PictureMoves.rays(of: map, reach)
    guard !rays.isEmpty else { return nil }
    let here = PictureMoves.positions(of: rays, map)
    var turns: [[Double]] = []
    for axis in 0..<3 {
      let (next, last) = ((axis + 1) % 3, (axis + 2) % 3)
      let turned = rays.map { ray in
        var turned = ray
        turned[next] -= step * ray[last]
        turned[last] += step * ray[next]
        return turned
      }
      let there = PictureMoves.positions(of: turned, map)
      let move = PictureMoves.move(from: here, to: there, step, without: turns)
      let length = move.reduce(0) { $0 + $1 * $1 }.squareRoot()
      if length > 0 { turns.append(move.map { $0 / length }) }
    }
    columns = zip(numbers, scales).map { number, scale in
      let high = try? LensMap(lens.changed([number], by: [step * scale]), in: size)
      let low = try? LensMap(lens.changed([number], by: [-step * scale]), in: size)
      return PictureMoves.move(
        from: low.map { PictureMoves.positions(of: rays, $0) } ?? here,
        to: high.map { PictureMoves.positions(of: rays, $0) } ?? here,
        high == nil || low == nil ? step : 2 * step, without: turns)
    }
    (self.rays, positions, self.turns) = (rays, here, turns)
  }

  private static func rays(of map: LensMap, _ reach: Double) -> [SIMD3<Double>] {
    var rays: [SIMD3<Double>] = []
    for row in 0...parts.y {
      for column in 0...parts.x {
        let part = SIMD2(Double(column) / Double(parts.x), Double(row) / Double(parts.y))
        let position = part * SIMD2(Double(map.size.width), Double(map.size.height))
        guard let ray = map.ray(at: position) else { continue }
        if map.isRectilinear || atan2(hypot(ray.x, ray.y), ray.z) <= max(reach, .pi / 2) { rays.append(ray) }
      }
    }
    return rays
  }

  private static func positions(of rays: [SIMD3<Double>], _ map: LensMap) -> [Double] {
    rays.flatMap { ray in map.position(of: ray).map { [$0.x, $0.y] } ?? [.nan, .nan] }
  }

  /// Returns the differences, per `width`, less their shares of other moves of length 1.
  private static func move(
    from one: [Double], to other: [Double], _ width: Double, without moves: [[Double]]
  ) -> [Double] {
    let differences = zip(one, other).map { ($1 - $0).isFinite ? ($1 - $0) / width : 0 }
    return moves.reduce(differences) { rest, move in
      let share = zip(rest, move).reduce(0) { $0 + $1.0 * $1.1 }
      return zip(rest, move).map { $0 - share * $1 }
    }
  }

  /// Returns the root mean square move, in pixels, from the lens to another one.
  func size(to map: LensMap) -> Double {
    let there = PictureMoves.positions(of: rays, map)
    return PictureMoves.move(from: positions, to: there, 1, without: turns).rms * 2.0.squareRoot()
  }

  /// Returns the root mean square move, in pixels, with changes of all numbers.
  func size(of changes: [Double]) -> Double {
    var sum = [Double](repeating: 0, count: columns.first?.count ?? 0)
    for (column, change) in zip(columns, changes) {
      for (index, move) in column.enumerated() { sum[index] += move * change }
    }
    return sum.rms * 2.0.squareRoot()
  }

  /// Returns the root mean square move, in pixels, with a change of one number.
  func size(of change: Double, at index: Int) -> Double {
    abs(change) * columns[index].rms * 2.0.squareRoot()
  }
}
