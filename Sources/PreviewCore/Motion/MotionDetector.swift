// Turns pictures' cells into sightings of motion, one picture at a time. `MotionEpisodes` turns sightings
// into events.

/// Motion in one picture.
package struct MotionSighting: Sendable, Hashable {
  /// The part of the picture that moves most.
  package var box: MotionBox
  /// By how much the cells exceed the threshold, 0...1: 0 is exactly the threshold, 0.5 twice as much, 0.9
  /// ten times as much.
  package var score: Double
  /// The number of moving cells in that part.
  package var cells: Int
  /// The names of the zones in which something moves.
  package var zones: [String]
  /// Whether it sways in place, as leaves do.
  package var isSwaying: Bool

  package init(box: MotionBox, score: Double, cells: Int, zones: [String] = [], isSwaying: Bool = false) {
    (self.box, self.score, self.cells, self.zones) = (box, score, cells, zones)
    self.isSwaying = isSwaying
  }

  /// The number of cells times the score, for comparing sightings.
  var weight: Double { Double(cells) * score }
}

/// Detects motion in the pictures of one camera. It has no clock: times come with the cells.
package struct MotionDetector: Sendable {
  package enum Finding: Sendable, Hashable {
    /// The background is being learned: at the beginning, and after the whole picture has changed.
    case learning
    case noMotion
    case moves(MotionSighting)
    /// The whole picture has changed at once, as by a lamp or a moved camera. The new background is being
    /// learned.
    case sceneChanged
  }

  package private(set) var settings: MotionSettings
  private let masks: [PrivacyMask]
  /// The views in which zones may be drawn, by name, with their lenses.
  private var views: [String: ViewConfiguration]
  private var background = MotionBackground()
  /// The cells that count; nil before the first picture after a change.
  private(set) var field: MotionField?
  /// The distance of each cell of the last picture from the background, in units of the threshold for motion.
  package private(set) var differences: [Float] = []
  /// Whether `sceneChanged` was returned since the background was last settled.
  private var isChangeReported = false

  /// Creates a detector; `views` are the views in which zones may be drawn, by name, with their lenses.
  package init(
    _ settings: MotionSettings, masks: [PrivacyMask] = [], views: [String: ViewConfiguration] = [:]
  ) {
    (self.settings, self.masks, self.views) = (settings, masks, views)
  }

  /// Uses other settings, and other views, from now on. The learned background is kept.
  package mutating func change(_ settings: MotionSettings, views: [String: ViewConfiguration]) {
    (self.settings, self.views) = (settings, views)
    field = nil
  }

  /// Detects motion in a picture. `reference` is the size that masks and views refer to. If there are masks, or
  /// zones in views, but no reference, the result is `learning`, because motion behind masks or outside zones
  /// must not be reported.
  package mutating func take(_ cells: MotionCells, reference: Size? = nil) -> Finding {
    guard let field = field ?? newField(in: reference) else { return .learning }
    self.field = field
    differences = []
    switch background.compare(cells, in: field) {
    case .unsettled: return .learning
    case .another:
      defer { isChangeReported = true }
      return isChangeReported ? .learning : .sceneChanged
    case .cells(let differences):
      isChangeReported = false
      self.differences = differences
      let regions = MotionRegion.regions(in: differences, field).filter {
        !background.accepts($0.cells, of: cells, in: field)
      }
      guard let first = regions.first else { return .noMotion }
      let zones = regions.reduce(0) { $0 | $1.zones }
      let names = settings.zones.enumerated().filter { zones >> UInt64($0.offset) & 1 == 1 }
      return .moves(
        MotionSighting(
          box: first.box, score: first.score, cells: first.count, zones: names.map(\.element.name),
          isSwaying: background.sways(first.cells)))
    }
  }

  /// Returns the cells that count; nil if that depends on the reference size, and it is not known. A zone whose view
  /// is missing or shows nothing there has no cells.
  private func newField(in reference: Size?) -> MotionField? {
    guard let hidden = MotionField.hidden(by: masks, in: reference) else { return nil }
    guard settings.zones.contains(where: { $0.view != nil }) else {
      return MotionField(settings, hidden: hidden)
    }
    guard let reference else { return nil }
    var finder = ZoneFinder(views, of: reference)
    var cells: [[Int]] = []
    for zone in settings.zones { cells.append((try? finder.cells(of: zone)) ?? []) }
    return MotionField(settings, hidden: hidden, cells: cells)
  }

  /// Forgets the background, because the camera delivers no pictures, or different ones. It is learned again.
  package mutating func lost() {
    background.reset()
    (differences, isChangeReported) = ([], false)
  }
}
