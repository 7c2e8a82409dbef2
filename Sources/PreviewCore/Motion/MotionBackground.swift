// What a camera usually shows: the mean and deviation of each cell, learned from what it has shown.

/// The usual picture. Brighter or darker light of all of it is taken out before cells are compared.
struct MotionBackground: Sendable {
  /// The usual code of each cell. It may lie beyond a byte's range, where the light has become brighter or darker.
  private var mean: [Float] = []
  /// The variance of the distance from it.
  private var variance: [Float] = []
  /// What each cell has held lately, and for how many seconds.
  private var held: [Float] = []
  private var heldFor: [Float] = []
  /// How often each cell has changed between brighter and darker lately, and which it was last: from 1 or -1 to 0, as time passes.
  private var swings: [Float] = []
  private var side: [Float] = []
  /// How many pictures it was learned from, and over how many seconds; those are counted until it is settled.
  private var pictures = 0
  private var seconds: Float = 0
  private var last: CaptureInstant?

  /// What a picture is, compared with the usual one.
  enum Difference: Sendable {
    /// It is not known well enough yet.
    case unsettled
    /// It is another picture altogether.
    case another
    /// For each cell the distance from the usual code, in units of what it must exceed to count as moving; 0 where motion
    /// does not count.
    case cells([Float])
  }

  /// Seconds.
  private static let (settles, follows, getsUsedTo): (Float, Float, Float) = (2, 8, 10)
  private static let (staysFor, absorbs): (Float, Float) = (2, 1)
  /// What swings to and fro becomes usual sooner, by this factor, after so many swings. Seconds that a swing counts.
  private static let (swingsFaster, manySwings, swingLasts): (Float, Float, Float) = (5, 1.5, 3)
  /// The share of a part's cells that have swung, of something that sways.
  private static let swayingShare = 0.4
  private static let fewestPictures = 6
  private static let (leastVariance, mostVariance): (Float, Float) = (0.2, 100)
  /// What is farther away, in limits, counts as this far: what passes once is no usual deviation.
  private static let farthest: Float = 1.5
  /// Longer gaps count as this long, in seconds.
  private static let longestGap: Float = 1
  /// What cells outside of all zones must differ by for the light and for another picture to be told.
  private static let usualLeast: Float = 8

  private(set) var light = LightChange.none

  /// Whether it is known well enough to tell motion.
  var isSettled: Bool { pictures >= Self.fewestPictures && seconds >= Self.settles }

  /// Forgets everything.
  mutating func forget() { self = MotionBackground() }

  /// Compares a picture with the usual one, and learns from it.
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
    // What was learned of a single cell in a short time may be too little.
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

  /// What a cell is expected to show in the light of the last picture.
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
    let accustom = isNew ? share : elapsed / (Self.getsUsedTo + elapsed)
    for cell in field.seen {
      let (code, residual, limit) = (Float(luma[cell]), residuals[cell], limits[cell])
      let isOther = abs(residual) > limit
      // The light's change is kept: the next picture is compared with this one's light.
      // What is brighter than white may come back to it, but not from anywhere.
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
        // What came and stays, as a parked car, becomes usual.
        mean[cell] += absorb * residual
        continue
      }
      let distance = min(abs(residual), Self.farthest * limit)
      let share = swings[cell] >= Self.manySwings ? min(Self.swingsFaster * accustom, 0.5) : accustom
      variance[cell] += share * (distance * distance - variance[cell])
      variance[cell] = min(max(variance[cell], Self.leastVariance), Self.mostVariance)
    }
  }

  private static let leastHeld: Float = 3
  /// A side that is farther back is forgotten: a swing takes at most a second and a half.
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

  /// Whether cells swing to and fro where they are, as leaves do.
  func sways(_ cells: [Int]) -> Bool {
    Double(cells.count { swings[$0] >= 0.5 }) >= Self.swayingShare * Double(cells.count)
  }

  // MARK: Light

  /// Whether a part of the last picture, which `cells` were, is only lit otherwise. Then that is usual from now on.
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

  /// Whether much has changed all over the picture: a person before the camera leaves some corners as they were.
  private func isAnother(_ blocks: [(seen: Int, other: Int)]) -> Bool {
    let seen = blocks.filter { $0.seen > 0 }
    guard !seen.isEmpty else { return false }
    let changed = seen.count { 5 * $0.other >= $0.seen }
    return 10 * changed >= 7 * seen.count
  }
}
