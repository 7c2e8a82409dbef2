// The motion settings of a camera.

package struct MotionSettings: Sendable, Hashable {
  /// The zones in which motion counts; if empty, it counts everywhere.
  package var zones: [MotionZone] = []
  /// The sensitivity, 1...100, unless a zone has its own. Each 25 more halve the difference that a cell must
  /// have.
  package var sensitivity = 50
  /// The smallest area that must move together, in per cent of the picture.
  package var minimumSize = 0.15
  /// The duration of motion before an event begins.
  package var minimumDuration = Duration.milliseconds(300)
  /// The time without motion before an event ends.
  package var coolDown = Duration.seconds(5)
  /// The number of pictures per second that are analysed.
  package var rate = 5.0
  package static let minimumSizes = 0.04...100.0
  /// The largest number of zones.
  package static let mostZones = 64

  package init() {}

  /// `minimumSize` in cells.
  var minimumCells: Int { Self.cells(ofSize: minimumSize) }

  /// Converts per cent of the picture to cells; at least 1.
  static func cells(ofSize percent: Double) -> Int {
    max(1, Int((percent / 100 * Double(MotionCells.count)).rounded()))
  }
}

/// The cells that count, and their thresholds: settings and masks, resolved once.
struct MotionField: Sendable {
  /// The cells that no mask touches; masked cells are ignored.
  let seen: [Int]
  /// The smallest difference of each cell that counts as motion, in codes; nil where motion does not count.
  let least: [Float?]
  /// The multiple of its usual deviation that the difference of each cell must exceed.
  let multiple: [Float]
  /// The zones of each cell, one bit each.
  let zones: [UInt64]
  /// The number of cells that must move together in each zone, and if there are no zones.
  let minimumCells: [Int]
  let minimumCellsWithoutZones: Int

  /// Creates the field of a camera; `hidden` are the cells that masks touch, and `cells` those of each zone. By
  /// default all zones are drawn in the upright picture.
  init(_ settings: MotionSettings, hidden: Set<Int>, cells: [[Int]]? = nil) {
    let cells = cells ?? settings.zones.map(\.cells)
    seen = (0..<MotionCells.count).filter { !hidden.contains($0) }
    var sensitivities = [Int?](
      repeating: settings.zones.isEmpty ? settings.sensitivity : nil, count: MotionCells.count)
    var zones = [UInt64](repeating: 0, count: MotionCells.count)
    for (number, zone) in settings.zones.prefix(MotionSettings.mostZones).enumerated() {
      let sensitivity = zone.sensitivity ?? settings.sensitivity
      for cell in cells[number] {
        zones[cell] |= 1 << UInt64(number)
        sensitivities[cell] = max(sensitivities[cell] ?? 0, sensitivity)
      }
    }
    for cell in hidden { sensitivities[cell] = nil }
    minimumCellsWithoutZones = settings.minimumCells
    minimumCells = settings.zones.prefix(MotionSettings.mostZones).map { zone in
      zone.minimumSize.map(MotionSettings.cells) ?? settings.minimumCells
    }
    self.zones = zones
    let scales = (0...100).map { Self.scale(sensitivity: $0) }
    least = sensitivities.map { $0.map { Self.usualLeast * scales[$0] } }
    multiple = sensitivities.map { Self.usualMultiple * ($0.map { scales[$0] } ?? 1).squareRoot() }
  }

  /// Returns those of `zones`, one bit each, for which `count` cells are enough; nil if there are none. If
  /// the camera has no zones, returns 0 if `count` cells are enough.
  func zones(_ zones: UInt64, enoughFor count: Int) -> UInt64? {
    guard !minimumCells.isEmpty else { return count >= minimumCellsWithoutZones ? 0 : nil }
    let enough = minimumCells.enumerated().reduce(UInt64(0)) { found, zone in
      let bit = UInt64(1) << UInt64(zone.offset)
      return count >= zone.element ? found | zones & bit : found
    }
    return enough == 0 ? nil : enough
  }

  /// Returns the median over the unmasked cells of values below 100.
  func typical(_ values: [Float]) -> Float { median(of: seen) { values[$0] * 4 } / 4 }

  private static let usualLeast: Float = 6
  private static let usualMultiple: Float = 5

  /// Returns the factor of the thresholds: 1 at 50, 4 at 0, a quarter at 100.
  private static func scale(sensitivity: Int) -> Float {
    let (whole, part) = (100 - sensitivity).quotientAndRemainder(dividingBy: 25)
    // 2 to the power of `part` / 25, to within 1 %.
    let x = Float(part) / 25
    return Float(1 << whole) * (1 + x * (0.6565 + x * 0.3435)) / 4
  }

  /// Returns the cells that masks touch, and their neighbours, where lossy cameras still reveal something of
  /// the hidden part. Returns nil if there are masks, but their reference size is not known yet.
  static func hidden(by masks: [PrivacyMask], in reference: Size?) -> Set<Int>? {
    guard !masks.isEmpty else { return [] }
    guard let reference else { return nil }
    let format = Frame.Format(.grey, MotionCells.size, color: .jfif)
    var cells: Set<Int> = []
    for mask in masks {
      let region = MaskRegion(mask.shape, reference: reference, in: format).grown(
        by: SIMD2(1, 1), in: format.size)
      for span in region.spans {
        cells.formUnion(span.columns.map { span.row * MotionCells.columns + $0 })
      }
    }
    return cells
  }
}
