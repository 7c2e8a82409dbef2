// What counts as motion of a camera.

package struct MotionSettings: Sendable, Hashable {
  /// Where motion counts; none is everywhere.
  package var zones: [MotionZone] = []
  /// 1...100, of what no zone says otherwise. 25 more halve what a cell must differ by.
  package var sensitivity = 50
  /// The least area that moves together, in per cent of the picture.
  package var minimumSize = 0.15
  /// How long it must move before an event begins.
  package var minimumDuration = Duration.milliseconds(300)
  /// How long nothing must move before an event ends.
  package var coolDown = Duration.seconds(5)
  /// How many pictures a second are judged.
  package var rate = 5.0
  package static let minimumSizes = 0.04...100.0
  /// The most zones.
  package static let mostZones = 64

  package init() {}

  /// `minimumSize` in cells.
  var minimumCells: Int { Self.cells(ofSize: minimumSize) }

  /// Per cent of the picture in cells.
  static func cells(ofSize percent: Double) -> Int {
    max(1, Int((percent / 100 * Double(MotionCells.count)).rounded()))
  }
}

/// Which cells count, and how little they must differ: settings and masks, resolved once.
struct MotionField: Sendable {
  /// The cells that no mask touches; the others take part in nothing.
  let seen: [Int]
  /// The least difference of each cell, in codes; nil where no motion counts.
  let least: [Float?]
  /// By how much the usual deviation of each cell must be exceeded.
  let multiple: [Float]
  /// For each cell the zones that it belongs to, one bit each.
  let zones: [UInt64]
  /// How many cells must move together in each zone, and where there are none.
  let minimumCells: [Int]
  let minimumCellsWithoutZones: Int

  /// Creates the field of a camera; `hidden` are the cells that masks touch.
  init(_ settings: MotionSettings, hidden: Set<Int>) {
    seen = (0..<MotionCells.count).filter { !hidden.contains($0) }
    var sensitivities = [Int?](
      repeating: settings.zones.isEmpty ? settings.sensitivity : nil, count: MotionCells.count)
    var zones = [UInt64](repeating: 0, count: MotionCells.count)
    for (number, zone) in settings.zones.prefix(MotionSettings.mostZones).enumerated() {
      let sensitivity = zone.sensitivity ?? settings.sensitivity
      for cell in zone.cells {
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

  /// The zones, of those of one bit each, in which `count` cells are enough; nil where they are too few.
  func zones(_ zones: UInt64, enoughFor count: Int) -> UInt64? {
    guard !minimumCells.isEmpty else { return count >= minimumCellsWithoutZones ? 0 : nil }
    let enough = minimumCells.enumerated().reduce(UInt64(0)) { found, zone in
      let bit = UInt64(1) << UInt64(zone.offset)
      return count >= zone.element ? found | zones & bit : found
    }
    return enough == 0 ? nil : enough
  }

  /// The median of the cells that are seen, of values below 100.
  func typical(_ values: [Float]) -> Float { median(of: seen) { values[$0] * 4 } / 4 }

  private static let usualLeast: Float = 6
  private static let usualMultiple: Float = 5

  /// 1 at 50, 4 at 0, a quarter at 100.
  private static func scale(sensitivity: Int) -> Float {
    let (whole, part) = (100 - sensitivity).quotientAndRemainder(dividingBy: 25)
    // 2 to the power of `part` / 25, to within 1 %.
    let x = Float(part) / 25
    return Float(1 << whole) * (1 + x * (0.6565 + x * 0.3435)) / 4
  }

  /// The cells that masks touch, and their neighbours: lossy cameras tell there what lies behind the mask's edge. Nil for a
  /// reference size that is not known yet.
  static func hidden(by masks: [PrivacyMask], in reference: Size?) -> Set<Int>? {
    guard !masks.isEmpty else { return [] }
    guard let reference else { return nil }
    let format = Frame.Format(.grey, MotionCells.size, color: .jfif)
    var cells: Set<Int> = []
    for mask in masks {
      let region = MaskRegion(mask.shape, said: reference, in: format).grown(
        by: SIMD2(1, 1), in: format.size)
      for span in region.spans {
        cells.formUnion(span.columns.map { span.row * MotionCells.columns + $0 })
      }
    }
    return cells
  }
}
