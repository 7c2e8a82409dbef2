// Findings and outside triggers in, events out: when motion begins, and when it has ended.

/// Something that moved for a while, or was said to move from outside.
package struct MotionEvent: Sendable, Hashable {
  /// From 1, for each camera.
  package let number: Int
  /// When it was first seen.
  package let start: CaptureInstant
  /// When it was last seen.
  package internal(set) var end: CaptureInstant
  /// The sighting that showed most so far; nil if it was only told from outside.
  package internal(set) var best: MotionSighting?
  /// When that was.
  package internal(set) var bestAt: CaptureInstant
  /// All zones in which something moved, in the order of the first times.
  package internal(set) var zones: [String] = []
  /// What an outside trigger called it; nil without one.
  package internal(set) var label: String?
}

/// Whether something moves before one camera. It has no clock: time comes with what is found.
package struct MotionEpisodes: Sendable {
  package enum News: Sendable, Hashable {
    case started(MotionEvent)
    /// The event has a better picture, or another label.
    case updated(MotionEvent)
    case ended(MotionEvent)
    case sceneChanged
  }

  private var minimumDuration: Duration
  private var coolDown: Duration
  /// The event that goes on; nil if nothing moves.
  package private(set) var current: MotionEvent?
  /// The last one that has ended.
  package private(set) var last: MotionEvent?
  /// What has been seen in picture after picture up to the last one.
  private var trail: Trail?
  private var heldUntil: CaptureInstant?
  private var number = 0
  /// The latest time known. Times that jump back don't make events longer.
  private var now = CaptureInstant.start

  /// Something in consecutive pictures. One picture alone shows no motion: there are snowflakes, insects and lightning.
  private struct Trail: Sendable {
    var event: MotionEvent
    var box: MotionBox
    var sightings = 1
    private let first: MotionBox
    /// All that the boxes cover, and the longest sides of one.
    private var covered: MotionBox
    private var longest: SIMD2<Int>

    init(event: MotionEvent, box: MotionBox) {
      (self.event, self.box, first, covered) = (event, box, box, box)
      longest = box.sides
    }

    mutating func moved(to box: MotionBox) {
      self.box = box
      sightings += 1
      covered = covered.union(box)
      longest = pointwiseMax(longest, box.sides)
    }

    /// Whether it stays where it was first seen. What comes into the picture grows; what sways does so too.
    func isInPlace(_ isSwaying: Bool) -> Bool {
      let sides = isSwaying ? longest : first.sides
      return 2 * covered.sides.x < 3 * sides.x && 2 * covered.sides.y < 3 * sides.y
    }
  }

  private static let fewestSightings = 2
  /// What stays in its place must be seen this long, and must not sway.
  private static let longInPlace = Duration.milliseconds(800)
  /// How far something may move, in cells a second and in its own lengths a second; and at least, in cells.
  private static let (fastest, fastestLengths, leastReach) = (30.0, 5.0, 4)
  /// Pictures may come this much out of order; a longer jump back is another timeline.
  private static let mostDisorder = Duration.seconds(1)
  /// A longer gap between pictures ends an event: what happened meanwhile is not known.
  private static let longestGap = Duration.seconds(10)

  package init(_ settings: MotionSettings) {
    (minimumDuration, coolDown) = (settings.minimumDuration, settings.coolDown)
  }

  /// Judges by other settings from now on.
  package mutating func change(_ settings: MotionSettings) {
    (minimumDuration, coolDown) = (settings.minimumDuration, settings.coolDown)
  }

  /// Takes what was found in a picture that was captured at `time`.
  package mutating func take(_ finding: MotionDetector.Finding, at time: CaptureInstant) -> [News] {
    var news = passed(to: time, gap: Self.longestGap)
    switch finding {
    case .moves(let sighting): news += saw(sighting, at: time)
    case .quiet, .learning: trail = nil
    case .sceneChanged:
      trail = nil
      news += [.sceneChanged]
    }
    return news + endIfOver()
  }

  /// Time has passed without a picture.
  package mutating func passed(to time: CaptureInstant) -> [News] {
    passed(to: time, gap: nil) + endIfOver()
  }

  private mutating func passed(to time: CaptureInstant, gap: Duration?) -> [News] {
    let jump = now.duration(to: time)
    let isBack = jump < .zero - Self.mostDisorder
    now = isBack ? time : max(now, time)
    let isHeld = heldUntil.map { $0 > time } ?? false
    if isBack || gap.map({ jump > $0 }) ?? false {
      trail = nil
      if !isHeld { return end() }
    }
    return []
  }

  // MARK: Seeing

  private mutating func saw(_ sighting: MotionSighting, at time: CaptureInstant) -> [News] {
    guard var trail, trail.box.isNear(sighting.box, within: reach(of: sighting.box, from: trail, to: time))
    else {
      trail = Trail(event: event(at: time, sighting), box: sighting.box)
      return []
    }
    trail.moved(to: sighting.box)
    trail.event.add(sighting, at: time)
    self.trail = trail
    guard trail.sightings >= Self.fewestSightings else { return [] }
    if var event = current {
      let isBetter = event.add(sighting, at: time)
      current = event
      return isBetter ? [.updated(event)] : []
    }
    let lasted = trail.event.start.duration(to: time)
    let waits =
      trail.isInPlace(sighting.isSwaying) && (sighting.isSwaying || lasted < Self.longInPlace)
    return lasted >= minimumDuration && !waits ? start(trail.event) : []
  }

  private func reach(of box: MotionBox, from trail: Trail, to time: CaptureInstant) -> Int {
    // Of a streak the shorter side: rain is no long thing that moves.
    let length = Double(min(box.columns.count, box.rows.count))
    let seconds = trail.event.end.duration(to: time) / .seconds(1)
    return max(Self.leastReach, Int((Self.fastest + Self.fastestLengths * length) * min(max(seconds, 0), 2)))
  }

  // MARK: Triggers

  /// Says from outside that something moves until `end`, such as a detector of persons or a switch of a door.
  package mutating func trigger(_ label: String?, at time: CaptureInstant, until end: CaptureInstant)
    -> [News]
  {
    heldUntil = max(end, time)
    now = max(now, time)
    guard var event = current else {
      var event = self.event(at: time, nil)
      event.label = label
      return start(event)
    }
    event.end = max(event.end, time)
    let isOther = label != nil && label != event.label
    event.label = label ?? event.label
    current = event
    return isOther ? [.updated(event)] : []
  }

  /// Ends what was said from outside. The event ends now, unless something still moves.
  package mutating func release(at time: CaptureInstant) -> [News] {
    guard heldUntil != nil, var event = current else { return [] }
    heldUntil = nil
    now = max(now, time)
    event.end = max(event.end, time)
    current = event
    return endIfOver()
  }

  // MARK: Beginning and end

  private func event(at time: CaptureInstant, _ sighting: MotionSighting?) -> MotionEvent {
    MotionEvent(
      number: number + 1, start: time, end: time, best: sighting, bestAt: time, zones: sighting?.zones ?? [])
  }

  private mutating func start(_ event: MotionEvent) -> [News] {
    number = event.number
    current = event
    return [.started(event)]
  }

  private mutating func endIfOver() -> [News] {
    guard var event = current else { return [] }
    if let held = heldUntil {
      guard now >= held else { return [] }
      event.end = max(event.end, held)
      current = event
      heldUntil = nil
    }
    // What was only told from outside ends at once.
    let wait = event.best == nil ? .zero : coolDown
    return event.end.duration(to: now) >= wait ? end() : []
  }

  /// Ends what goes on: nobody watches any more.
  package mutating func end() -> [News] {
    guard let event = current else { return [] }
    (current, last, heldUntil) = (nil, event, nil)
    return [.ended(event)]
  }
}

extension MotionEvent {
  /// Whether the sighting shows clearly more than those before.
  @discardableResult
  fileprivate mutating func add(_ sighting: MotionSighting, at time: CaptureInstant) -> Bool {
    end = max(end, time)
    for zone in sighting.zones where !zones.contains(zone) { zones.append(zone) }
    guard sighting.weight > 1.2 * (best?.weight ?? 0) else { return false }
    (best, bestAt) = (sighting, time)
    return true
  }
}
