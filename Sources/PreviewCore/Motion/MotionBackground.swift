// The background of a camera: the mean and deviation of each cell, learned from its pictures.

/// A learned background. Global changes of brightness are removed before cells are compared.
struct MotionBackground: Sendable {
  /// The mean code of each cell. It may exceed a byte's range after the light has become brighter or darker.
  private var mean: [Float] = []
  /// The variance of each cell about its mean.
  private var variance: [Float] = []
  /// The code that each cell has lately held, and for how many seconds.
  private var held: [Float] = []
  private var heldFor: [Float] = []
  /// The number of recent changes of each cell between brighter and darker than the mean, and its last side:
  /// 1 or -1. Both decay to 0.
  private var swings: [Float] = []
  private var side: [Float] = []
  /// The number of pictures that the background was learned from, and their duration in seconds, counted up
  /// to `settles`.
  private var pictures = 0
  private var seconds: Float = 0
  private var last: CaptureInstant?

  /// The result of comparing a picture with the background.
  enum Difference: Sendable {
    /// The background is not known well enough yet.
    case unsettled
    /// The picture as a whole differs from the background.
    case another
    /// The distance of each cell from the background, in units of the threshold for motion; 0 where motion
    /// does not count.
    case cells([Float])
  }

  /// The time until the background is known, and the time constants of its mean and its variance, in seconds.
  private static let (settles, follows, getsUsedTo): (Float, Float, Float) = (2, 8, 10)
  private static let (staysFor, absorbs): (Float, Float) = (2, 1)
  /// The variance of swaying cells adapts faster by this factor, after this many changes of side. The last
  /// number is the time constant by which changes decay, in seconds.
  private static let (swingsFaster, manySwings, swingLasts): (Float, Float, Float) = (5, 1.5, 3)
  /// The share of a region's cells that must have changed sides for the region to be swaying.
  private static let swayingShare = 0.4
  private static let fewestPictures = 6
  private static let (leastVariance, mostVariance): (Float, Float) = (0.2, 100)
  /// The largest distance that enters the variance, in thresholds, so that passing objects hardly raise it.
  private static let farthest: Float = 1.5
  /// Longer gaps count as this long, in seconds.
  private static let longestGap: Float = 1
  /// The smallest difference, in codes, that counts as a change of the whole picture, and as a change of a
  /// cell outside all zones.
  private static let usualLeast: Float = 8

  private(set) var light = LightChange.none

  /// Whether the background is known well enough to detect motion.
  var isSettled: Bool { pictures >= Self.fewestPictures && seconds >= Self.settles }

  /// Forgets the background.
  mutating func reset() { self = MotionBackground() }

  /// Compares a picture with the background, and updates the background.
  mutating func compare(_ cells: MotionCells, in field: MotionField) -> Difference {
    let passed = last.map { Float(($0.duration(to: cells.time)) / .seconds(1)) } ?? 0
    last = cells.time
    let elapsed = min(max(passed, 0), Self.longestGap)
    guard !mean.isEmpty else {
      begin(cells.luma)
      return .unsettled
    }
    light = LightChange(from: mean, to: cells.luma, in: field.seen)
    let wasSettled = isSettled
    var differences = [Float](repeating: 0, count: MotionCells.count)
    var blocks = [(seen: Int, other: Int)](repeating: (0, 0), count: Self.blockCount)
    var residuals = [Float](repeating: 0, count: MotionCells.count)
    var limits = residuals
    // The variance of a single cell may be too low if it was learned in a short time.
    let typical = field.typical(variance)
    for cell in field.seen {
      let code = Float(cells.luma[cell])
      let expected = expected(cell)
      let residual = code - expected
      let usual = field.multiple[cell] * max(variance[cell], typical).squareRoot()
      let limit = max(field.least[cell] ?? Self.usualLeast, usual)
      (residuals[cell], limits[cell]) = (residual, limit)
      if field.least[cell] != nil { differences[cell] = abs(residual) / limit }
      let block = Self.block(of: cell)
      blocks[block].seen += 1
      if abs(residual) > max(Self.usualLeast, usual) { blocks[block].other += 1 }
    }
    if isAnother(blocks) || !light.isPlausible {
      begin(cells.luma)
      return wasSettled ? .another : .unsettled
    }
    learn(cells.luma, residuals, limits, elapsed, field)
    return wasSettled ? .cells(differences) : .unsettled
  }

  /// Returns the code that a cell is expected to have in the light of the last picture.
  private func expected(_ cell: Int) -> Float { min(max(light.applied(to: mean[cell]), 0), 255) }

  private mutating func begin(_ luma: [UInt8]) {
    mean = luma.map(Float.init)
    held = mean
    variance = [Float](repeating: 1, count: MotionCells.count)
    heldFor = [Float](repeating: 0, count: MotionCells.count)
    (swings, side) = (heldFor, heldFor)
    (pictures, seconds, light) = (1, 0, .none)
  }

  // MARK: Learning

  private mutating func learn(
    _ luma: [UInt8], _ residuals: [Float], _ limits: [Float], _ elapsed: Float, _ field: MotionField
  ) {
    let isNew = !isSettled
    pictures += 1
    seconds = min(seconds + elapsed, Self.settles)
    let share = 1 / Float(pictures)
    let follow = isNew ? share : elapsed / (Self.follows + elapsed)
    let absorb = elapsed / (Self.absorbs + elapsed)
    let adapt = isNew ? share : elapsed / (Self.getsUsedTo + elapsed)
    for cell in field.seen {
      let (code, residual, limit) = (Float(luma[cell]), residuals[cell], limits[cell])
      let isOther = abs(residual) > limit
      // Applies the change of light to the background, because the next picture is compared with this one's
      // light. Means may exceed a byte's range, so that clipped cells can recover, but within limits.
      mean[cell] = min(max(light.applied(to: mean[cell]), -256), 511)
      held[cell] = min(max(light.applied(to: held[cell]), -256), 511)
      if abs(code - held[cell]) <= max(Self.leastHeld, 2 * variance[cell].squareRoot()) {
        heldFor[cell] += elapsed
        held[cell] += 0.3 * (code - held[cell])
      } else {
        (heldFor[cell], held[cell]) = (0, code)
      }
      swing(cell, residual, limit, elapsed)
      if !isOther {
        mean[cell] += follow * residual
      } else if heldFor[cell] >= Self.staysFor {
        // An object that came and stays, such as a parked car, becomes background.
        mean[cell] += absorb * residual
        continue
      }
      let distance = min(abs(residual), Self.farthest * limit)
      let share = swings[cell] >= Self.manySwings ? min(Self.swingsFaster * adapt, 0.5) : adapt
      variance[cell] += share * (distance * distance - variance[cell])
      variance[cell] = min(max(variance[cell], Self.leastVariance), Self.mostVariance)
    }
  }

  private static let leastHeld: Float = 3
  /// A side that has decayed below this is ignored: a change of side takes at most about 1.5 seconds.
  private static let leastSide: Float = 0.6

  private mutating func swing(_ cell: Int, _ residual: Float, _ limit: Float, _ elapsed: Float) {
    let fading = Self.swingLasts / (Self.swingLasts + elapsed)
    swings[cell] *= fading
    side[cell] *= fading
    guard 2 * abs(residual) > limit else { return }
    let now: Float = residual > 0 ? 1 : -1
    if side[cell] * now < -Self.leastSide { swings[cell] += 1 }
    side[cell] = now
  }

  /// Returns whether the cells sway in place, as leaves do.
  func sways(_ cells: [Int]) -> Bool {
    Double(cells.count { swings[$0] >= 0.5 }) >= Self.swayingShare * Double(cells.count)
  }

  // MARK: Light

  /// Returns whether only the light has changed in a part of the last picture, whose cells are `cells`. If
  /// so, the part becomes background.
  mutating func accepts(_ part: [Int], of cells: MotionCells, in field: MotionField) -> Bool {
    guard LocalLight.explains(part, mean, cells.luma, noise: field.typical(variance)) else { return false }
    for cell in part {
      mean[cell] = Float(cells.luma[cell])
      (held[cell], heldFor[cell], side[cell]) = (mean[cell], 0, 0)
    }
    return true
  }

  // MARK: Another picture

  /// Blocks of 16 x 9 cells.
  private static let (blockColumns, blockRows) = (4, 4)
  private static let blockCount = blockColumns * blockRows

  private static func block(of cell: Int) -> Int {
    let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
    return row * blockRows / MotionCells.rows * blockColumns + column * blockColumns / MotionCells.columns
  }

  /// Returns whether at least a fifth of the cells differs in at least 70 % of the blocks. A person in front
  /// of the camera leaves some corners unchanged.
  private func isAnother(_ blocks: [(seen: Int, other: Int)]) -> Bool {
    let seen = blocks.filter { $0.seen > 0 }
    guard !seen.isEmpty else { return false }
    let changed = seen.count { 5 * $0.other >= $0.seen }
    return 10 * changed >= 7 * seen.count
  }
}
