// Pictures' cells in, sightings of what moves out. It decides about one picture at a time; MotionEpisodes makes events.

/// Something that moves in one picture.
package struct MotionSighting: Sendable, Hashable {
  /// The part of the picture that moves most.
  package var box: MotionBox
  /// 0...1: by how much it differs from what is usual. Just enough is 0; twice as much is 0.5, ten times as much 0.9.
  package var score: Double
  /// How many cells move there.
  package var cells: Int
  /// The names of the zones in which something moves.
  package var zones: [String]
  /// Whether it swings to and fro, as leaves do.
  package var isSwaying: Bool

  package init(box: MotionBox, score: Double, cells: Int, zones: [String] = [], isSwaying: Bool = false) {
    (self.box, self.score, self.cells, self.zones) = (box, score, cells, zones)
    self.isSwaying = isSwaying
  }

  /// Which of two sightings shows more.
  var weight: Double { Double(cells) * score }
}

/// Tells what moves before one camera. It has no clock: time comes with the cells.
package struct MotionDetector: Sendable {
  package enum Finding: Sendable, Hashable {
    /// What is usual is being learned: at the beginning, and after another picture.
    case learning
    case quiet
    case moves(MotionSighting)
    /// The whole picture has changed at once, as by a lamp or when the camera was moved. It is being learned.
    case sceneChanged
  }

  package private(set) var settings: MotionSettings
  private let masks: [PrivacyMask]
  private var background = MotionBackground()
  private var field: MotionField?
  /// For each cell the distance from what is usual, where 1 is enough; of the last picture.
  package private(set) var differences: [Float] = []
  /// Whether it was told that the picture changed since it last was settled.
  private var isChangeTold = false

  package init(_ settings: MotionSettings, masks: [PrivacyMask] = []) {
    (self.settings, self.masks) = (settings, masks)
  }

  /// Judges by other settings from now on. What is usual stays known.
  package mutating func change(_ settings: MotionSettings) {
    self.settings = settings
    field = nil
  }

  /// Judges a picture. `reference` is the size that masks refer to; without it nothing is judged if there are masks,
  /// because what they hide must not be told.
  package mutating func take(_ cells: MotionCells, reference: Size? = nil) -> Finding {
    guard
      let field = field
        ?? MotionField.hidden(by: masks, in: reference).map({
          MotionField(settings, hidden: $0)
        })
    else { return .learning }
    self.field = field
    differences = []
    switch background.compare(cells, in: field) {
    case .unsettled: return .learning
    case .another:
      defer { isChangeTold = true }
      return isChangeTold ? .learning : .sceneChanged
    case .cells(let differences):
      isChangeTold = false
      self.differences = differences
      let regions = MotionRegion.regions(in: differences, field).filter {
        !background.accepts($0.cells, of: cells, in: field)
      }
      guard let first = regions.first else { return .quiet }
      let zones = regions.reduce(0) { $0 | $1.zones }
      let names = settings.zones.enumerated().filter { zones >> UInt64($0.offset) & 1 == 1 }
      return .moves(
        MotionSighting(
          box: first.box, score: first.score, cells: first.count, zones: names.map(\.element.name),
          isSwaying: background.sways(first.cells)))
    }
  }

  /// The camera shows nothing, or something else: what is usual is learned anew.
  package mutating func lost() {
    background.forget()
    (differences, isChangeTold) = ([], false)
  }
}
