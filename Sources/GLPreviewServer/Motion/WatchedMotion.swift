// The motion at one camera, from its pictures' cells and from reports from outside. It has no clock of its
// own.

struct WatchedMotion: Sendable {
  let camera: String
  /// The settings that it is watched with; nil if motion is only reported from outside.
  private(set) var settings: MotionSettings?
  /// The settings in the configuration.
  let configured: MotionSettings?
  let masks: [PrivacyMask]
  /// The configured views by name: zones may be drawn in their pictures.
  private var views: [String: ViewConfiguration]
  private(set) var detector: MotionDetector
  private(set) var episodes: MotionEpisodes
  /// The latest cells, oldest first.
  private(set) var recent: [MotionCells] = []
  private(set) var pictures = 0
  private(set) var events = 0
  /// The latest events, oldest first, with the current one.
  private(set) var history: [MotionEvent] = []

  /// How many seconds of cells are buffered, for reports.
  private static let keepsSeconds = 60.0
  private static let keepsEvents = 100
  /// A capture time that is further from now than this comes from a file.
  private static let farthest = Duration.seconds(10)

  init(_ configuration: CameraConfiguration) {
    (camera, settings, masks) = (configuration.name, configuration.motion, configuration.options.masks)
    configured = settings
    views = configuration.zoneViews
    detector = MotionDetector(settings ?? MotionSettings(), masks: masks, views: views)
    episodes = MotionEpisodes(settings ?? MotionSettings())
  }

  /// Whether it fits the camera's configuration, with the views in which its zones are drawn.
  func isOf(_ camera: CameraConfiguration) -> Bool {
    guard configured == camera.motion, masks == camera.options.masks else { return false }
    let zones = (configured?.zones ?? []) + (settings?.zones ?? [])
    let names = Set(zones.compactMap(\.view))
    guard !names.isEmpty else { return true }
    let current = camera.zoneViews
    return names.allSatisfy { views[$0] == current[$0] }
  }

  /// Judges by other settings until the configuration changes; by the configured ones if they are nil. Zones are
  /// drawn in these views, by name.
  mutating func change(_ settings: MotionSettings?, views: [String: ViewConfiguration]) {
    guard let settings = settings ?? configured else { return }
    (self.settings, self.views) = (settings, views)
    detector.change(settings, views: views)
    episodes.change(settings)
  }

  /// Takes a picture of `MotionCells.view`, received at `now`. `reference` is the size that masks and
  /// views refer to.
  mutating func take(_ picture: RenderedPicture, reference: Size?, at now: CaptureInstant)
    -> [MotionEpisodes.Change]
  {
    let distance = picture.timestamp.duration(to: now)
    let time = distance > Self.farthest || distance < .zero ? now : picture.timestamp
    guard picture.sourceState == .live, let cells = MotionCells(picture.picture, at: time) else {
      detector.lost()
      return passed(to: now)
    }
    pictures += 1
    recent.append(cells)
    let most = max(1, Int((settings?.rate ?? 1) * Self.keepsSeconds))
    if recent.count > most { recent.removeFirst(recent.count - most) }
    return counted(episodes.take(detector.take(cells, reference: reference), at: time))
  }

  mutating func passed(to now: CaptureInstant) -> [MotionEpisodes.Change] {
    counted(episodes.passed(to: now))
  }

  /// Reports motion for `duration`, from outside.
  mutating func trigger(_ label: String?, for duration: Duration, at now: CaptureInstant)
    -> [MotionEpisodes.Change]
  {
    counted(episodes.trigger(label, at: now, until: now + duration))
  }

  mutating func release(at now: CaptureInstant) -> [MotionEpisodes.Change] {
    counted(episodes.release(at: now))
  }

  /// Ends watching.
  mutating func end() -> [MotionEpisodes.Change] { counted(episodes.end()) }

  private mutating func counted(_ changes: [MotionEpisodes.Change]) -> [MotionEpisodes.Change] {
    for one in changes {
      switch one {
      case .started(let event):
        events += 1
        history.append(event)
        if history.count > Self.keepsEvents { history.removeFirst() }
      case .updated(let event), .ended(let event):
        if !history.isEmpty { history[history.count - 1] = event }
      case .sceneChanged: break
      }
    }
    return changes
  }

  /// How much each cell differs from its usual value, where 1 counts as moving; empty until that value is
  /// known.
  var differences: [Float] { detector.differences }
}
