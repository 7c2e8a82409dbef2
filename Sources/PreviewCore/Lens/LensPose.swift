// What a view through a lens looks at, as one value: moves change it over time, and named positions change a part of it.

/// The direction, the roll and the field of view of a view through a lens.
///
/// ```swift
/// preview.move(to: LensPose(yaw: 60, pitch: -20, hfov: 40), over: .seconds(2))
/// ```
public struct LensPose: Sendable, Hashable {
  /// Degrees to the right, -360...360.
  public var yaw: Double
  /// Degrees upwards, -360...360.
  public var pitch: Double
  /// Degrees by which the view's camera is rolled clockwise, -360...360.
  public var roll: Double
  /// The horizontal field of view in degrees, 1...360, below 180 for flat pictures. Nil is the default of
  /// `Projection.hfov`.
  public var hfov: Double?

  /// Creates a pose. The default looks straight ahead.
  public init(yaw: Double = 0, pitch: Double = 0, roll: Double = 0, hfov: Double? = nil) {
    (self.yaw, self.pitch, self.roll, self.hfov) = (yaw, pitch, roll, hfov)
  }
}

extension LensPose {
  /// Returns the pose at a part of the way to another one: this one until 0, the other one from 1 on. Each number
  /// changes evenly, yaw and roll the shorter way round. A field of view that only one of them has changes at the
  /// end.
  public func interpolated(to other: LensPose, at part: Double) -> LensPose {
    guard part > 0 else { return self }
    guard part < 1 else { return other }
    var pose = LensPose(
      yaw: Self.turn(from: yaw, to: other.yaw, at: part), pitch: pitch + (other.pitch - pitch) * part,
      roll: Self.turn(from: roll, to: other.roll, at: part), hfov: hfov)
    if let hfov, let last = other.hfov { pose.hfov = hfov + (last - hfov) * part }
    return pose
  }

  /// Returns the angle from -180 to 180 at a part of the shorter way.
  private static func turn(from first: Double, to last: Double, at part: Double) -> Double {
    wrapped(first + wrapped(last - first) * part)
  }

  /// Returns the angle of the same direction from -180 to 180.
  fileprivate static func wrapped(_ angle: Double) -> Double { angle.remainder(dividingBy: 360) }

  /// Checks each number, for pictures of a shape.
  ///
  /// - Throws: `ParameterError` with the key of the number.
  package func check(as shape: Projection.Shape) throws(ParameterError) {
    var projection = Projection(shape)
    projection.pose = self
    try projection.check()
  }
}

extension Projection {
  /// The angles that it has.
  package var pose: LensPose {
    get { LensPose(yaw: yaw, pitch: pitch, roll: roll, hfov: hfov) }
    set { (yaw, pitch, roll, hfov) = (newValue.yaw, newValue.pitch, newValue.roll, newValue.hfov) }
  }

  /// Returns the field of view in degrees that it has without `hfov`, in a source of this upright reference size.
  /// Nil if that depends on a size, and the size or the lens's place in it is unknown.
  package func usualField(through lens: Lens, crop: Rectangle?, in reference: Size?) -> Double? {
    guard shape == .flat else { return 180 }
    guard lens.isRectilinear else { return 90 }
    guard let reference, let map = try? LensMap(lens, in: reference) else { return nil }
    return Projection(shape).field(of: map, width: crop?.width ?? reference.width)
  }
}

/// Some of a pose's numbers: a named position, or what a request gives.
package struct PoseChange: Sendable, Hashable {
  /// The keys of views that are part of a pose.
  package static let keys = ["yaw", "pitch", "roll", "hfov"]

  private var numbers: [String: Double] = [:]

  package init() {}

  /// Whether it changes nothing.
  package var isEmpty: Bool { numbers.isEmpty }

  /// The number of a key; nil if it is not changed.
  package subscript(key: String) -> Double? { numbers[key] }

  /// Sets a number of the target pose.
  ///
  /// - Throws: `ParameterError` if the key is unknown, or the number is out of bounds.
  package mutating func set(_ key: String, to number: Double) throws(ParameterError) {
    try set(key, to: number, in: key == "hfov" ? Projection.fields : Projection.turns)
  }

  /// Sets a difference to another pose.
  ///
  /// - Throws: as `set`.
  package mutating func set(_ key: String, toDifference number: Double) throws(ParameterError) {
    try set(key, to: number, in: Projection.turns)
  }

  private mutating func set(
    _ key: String, to number: Double, in range: ClosedRange<Double>
  ) throws(ParameterError) {
    guard PoseChange.keys.contains(key) else {
      throw ParameterError(key, "unknown key '\(key)' (known: \(PoseChange.keys.joined(separator: ", ")))")
    }
    try ParameterError.check(number, in: range, key)
    numbers[key] = number
  }

  /// Returns a pose with these numbers; the others stay.
  package func applied(to pose: LensPose) -> LensPose {
    LensPose(
      yaw: self["yaw"] ?? pose.yaw, pitch: self["pitch"] ?? pose.pitch, roll: self["roll"] ?? pose.roll,
      hfov: self["hfov"] ?? pose.hfov)
  }

  /// Returns a pose plus these numbers: yaw and roll wrap round, pitch and field of view stay within their bounds. A
  /// change of the field of view needs a pose that has one.
  package func added(to pose: LensPose, as shape: Projection.Shape) -> LensPose {
    var sum = pose
    if let yaw = self["yaw"] { sum.yaw = LensPose.wrapped(pose.yaw + yaw) }
    if let roll = self["roll"] { sum.roll = LensPose.wrapped(pose.roll + roll) }
    if let pitch = self["pitch"] {
      sum.pitch = min(max(pose.pitch + pitch, Projection.turns.lowerBound), Projection.turns.upperBound)
    }
    if let change = self["hfov"], let hfov = pose.hfov {
      let widest = shape == .flat ? 179 : Projection.fields.upperBound
      sum.hfov = min(max(hfov + change, Projection.fields.lowerBound), widest)
    }
    return sum
  }
}
