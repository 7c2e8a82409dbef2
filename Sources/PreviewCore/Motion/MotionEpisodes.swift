// Turns findings and external triggers into motion events with a beginning and an end.

/// Motion over a period of time, detected in pictures or reported by an external trigger.
package struct MotionEvent: Sendable, Hashable {
  /// The event's number, counted from 1 for each camera.
  package let number: Int
  /// The time of the first sighting or of the trigger.
  package let start: CaptureInstant
  /// The time of the last sighting or trigger, or of the trigger's end.
  package internal(set) var end: CaptureInstant
  /// The clearest sighting so far; nil if only an external trigger reported the event.
  package internal(set) var best: MotionSighting?
  /// The time of the clearest sighting; without one, the event's start.
  package internal(set) var bestAt: CaptureInstant
  /// All zones with motion, in the order in which they first had some.
  package internal(set) var zones: [String] = []
  /// The label of an external trigger; nil without one.
  package internal(set) var label: String?
}

/// Tracks whether something moves in front of one camera. It has no clock: times come with the findings.
package struct MotionEpisodes: Sendable {
  package enum Change: Sendable, Hashable {
    case started(MotionEvent)
    /// The event has a clearer sighting, or another label.
    case updated(MotionEvent)
    case ended(MotionEvent)
    case sceneChanged
  }

  private var minimumDuration: Duration
  private var coolDown: Duration
  /// The current event; nil if nothing moves.
  package private(set) var current: MotionEvent?
  /// The last event that has ended.
  package private(set) var last: MotionEvent?
  /// The sightings in consecutive pictures up to the last one.
  private var trail: Trail?
  private var heldUntil: CaptureInstant?
  private var number = 0
  /// The latest time known. Times that jump back don't make events longer.
  private var now = CaptureInstant.start

  /// Motion in consecutive pictures. A single picture is not enough: it may show a snowflake, an insect or
  /// lightning.
  private struct Trail: Sendable {
    var event: MotionEvent
    var box: MotionBox
    var sightings = 1
    private let first: MotionBox
    /// The union of all boxes, and the longest sides of any box.
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

    /// Returns whether it stays where it was first seen. The box of an object that enters the picture grows,
    /// but so does the box of something that sways.
    func isInPlace(_ isSwaying: Bool) -> Bool {
      let sides = isSwaying ? longest : first.sides
      return 2 * covered.sides.x < 3 * sides.x && 2 * covered.sides.y < 3 * sides.y
    }
  }

  private static let fewestSightings = 2
  /// Motion in place must last this long to start an event, and must not sway.
  private static let longInPlace = Duration.milliseconds(800)
  /// The greatest speed, in cells a second plus the object's own lengths a second, and the least reach, in
  /// cells.
  private static let (fastest, fastestLengths, leastReach) = (30.0, 5.0, 4)
  /// Pictures may be out of order by this much; a longer jump back starts another timeline.
  private static let mostDisorder = Duration.seconds(1)
  /// A longer gap between pictures ends an event, because it is unknown what happened in between.
  private static let longestGap = Duration.seconds(10)

  package init(_ settings: MotionSettings) {
    (minimumDuration, coolDown) = (settings.minimumDuration, settings.coolDown)
  }

  /// Uses other settings from now on.
  package mutating func change(_ settings: MotionSettings) {
    (minimumDuration, coolDown) = (settings.minimumDuration, settings.coolDown)
  }

  /// Handles the finding of a picture that was captured at `time`.
  package mutating func take(_ finding: MotionDetector.Finding, at time: CaptureInstant) -> [Change] {
    var changes = passed(to: time, gap: Self.longestGap)
    switch finding {
    case .moves(let sighting): changes += saw(sighting, at: time)
    case .noMotion, .learning: trail = nil
    case .sceneChanged:
      trail = nil
      changes += [.sceneChanged]
    }
    return changes + endIfOver()
  }

  /// Advances the time without a picture.
  package mutating func passed(to time: CaptureInstant) -> [Change] {
    passed(to: time, gap: nil) + endIfOver()
  }

  private mutating func passed(to time: CaptureInstant, gap: Duration?) -> [Change] {
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

  private mutating func saw(_ sighting: MotionSighting, at time: CaptureInstant) -> [Change] {
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
    // The shorter side, so that streaks of rain do not count as long objects.
    let length = Double(min(box.columns.count, box.rows.count))
    let seconds = trail.event.end.duration(to: time) / .seconds(1)
    return max(Self.leastReach, Int((Self.fastest + Self.fastestLengths * length) * min(max(seconds, 0), 2)))
  }

  // MARK: Triggers

  /// Reports motion until `end` for an external trigger, such as a person detector or a door switch.
  package mutating func trigger(_ label: String?, at time: CaptureInstant, until end: CaptureInstant)
    -> [Change]
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

  /// Ends the external trigger. Without sightings, the event ends now, otherwise after the cool-down.
  package mutating func release(at time: CaptureInstant) -> [Change] {
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

  private mutating func start(_ event: MotionEvent) -> [Change] {
    number = event.number
    current = event
    return [.started(event)]
  }

  private mutating func endIfOver() -> [Change] {
    guard var event = current else { return [] }
    if let held = heldUntil {
      guard now >= held else { return [] }
      event.end = max(event.end, held)
      current = event
      heldUntil = nil
    }
    // An event without sightings ends at once.
    let wait = event.best == nil ? .zero : coolDown
    return event.end.duration(to: now) >= wait ? end() : []
  }

  /// Ends the current event, because the camera is no longer watched.
  package mutating func end() -> [Change] {
    guard let event = current else { return [] }
    (current, last, heldUntil) = (nil, event, nil)
    return [.ended(event)]
  }
}

extension MotionEvent {
  /// Adds a sighting. Returns whether it is clearly better than the best one so far.
  @discardableResult
  fileprivate mutating func add(_ sighting: MotionSighting, at time: CaptureInstant) -> Bool {
    end = max(end, time)
    for zone in sighting.zones where !zones.contains(zone) { zones.append(zone) }
    guard sighting.weight > 1.2 * (best?.weight ?? 0) else { return false }
    (best, bestAt) = (sighting, time)
    return true
  }
}
