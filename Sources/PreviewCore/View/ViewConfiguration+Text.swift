// The text form of a view, shared by `--view`, single options, configuration files and URLs.

extension ViewConfiguration {
  /// The keys that `set` accepts, in the order in which they are applied.
  package static let keys = [
    "crop", "lens", "projection", "yaw", "pitch", "roll", "hfov", "corners", "rotate", "mirror", "size",
    "width", "height", "mode", "background", "filter", "linear", "label", "time",
  ]

  /// The keys that each alias sets, for detecting keys that are given twice.
  package static let longForms = ["w": ["width"], "h": ["height"], "size": ["width", "height"]]

  /// Parses `NAME` or `NAME:KEY=VALUE,KEY=VALUE...`.
  ///
  /// - Throws: `ParameterError` for a bad name, an unknown or repeated key, or a bad value.
  public init(parsing text: String) throws(ParameterError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(name: String(parts[0]))
    try ViewConfiguration.check(name: name)
    guard parts.count == 2 else { return }
    for (key, value) in try ParameterParser.pairs(
      parts[1], of: "view '\(name)'", twins: ViewConfiguration.longForms)
    {
      do throws(ParameterError) {
        try set(key, to: value)
      } catch {
        throw ParameterError(error.key, "\(error.reason) (view '\(name)')")
      }
    }
  }

  /// Checks a view's name, which becomes part of file names and URLs.
  package static func check(name: String) throws(ParameterError) {
    let isWord = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard isWord, 1...64 ~= name.utf8.count, name.first != ".", name.first != "-" else {
      throw ParameterError(
        "view '\(name)'",
        "a name has 1 to 64 letters, digits, '-', '_' or '.', and does not begin with '-' or '.'")
    }
  }

  /// Sets one key from its text.
  ///
  /// - Throws: `ParameterError` if the key is unknown or the value out of bounds.
  package mutating func set(_ key: String, to value: String) throws(ParameterError) {
    switch key {
    case "crop": crop = try ParameterParser.rectangle(key, value)
    case "lens": lens = try Lens(parsing: value)
    case "projection": projected.shape = try ParameterParser.choice(key, value)
    case "yaw": projected.yaw = try ParameterParser.number(key, value, in: Projection.turns)
    case "pitch": projected.pitch = try ParameterParser.number(key, value, in: Projection.turns)
    case "roll": projected.roll = try ParameterParser.number(key, value, in: Projection.turns)
    case "hfov": projected.hfov = try ParameterParser.number(key, value, in: Projection.fields)
    case "corners": corners = try Corners(parsing: value)
    case "rotate": (rotation, angle) = try ViewConfiguration.rotation(value)
    case "mirror": mirroring = try ParameterParser.choice(key, value)
    case "size": (width, height) = try ViewConfiguration.size(value)
    case "width", "w": width = try ParameterParser.side("width", value)
    case "height", "h": height = try ParameterParser.side("height", value)
    case "mode": contentMode = try ParameterParser.choice(key, value)
    case "background":
      if value == "blur" {
        surround = .blur
        break
      }
      guard let color = RGBColor(value) else {
        throw ParameterError(key, "'\(value)' is not a colour: use #RRGGBB, such as #202020, or blur")
      }
      (background, surround) = (color, .background)
    case "filter": filter = try ParameterParser.choice(key, value)
    case "linear": light = try ParameterParser.flag(key, value) ? .linear : .encoded
    case "label":
      guard value.count <= 200 else { throw ParameterError(key, "the text has more than 200 characters") }
      setLabel(isTime: false, value.isEmpty ? nil : Label(word: .text(value), .bottomLeft))
    case "time":
      setLabel(isTime: true, try Label.TimeFormat(parsing: value).map { Label(word: .time($0), .topRight) })
    default:
      throw ViewConfiguration.unknown(key)
    }
  }

  /// Returns the error for an unknown key.
  package static func unknown(_ key: String) -> ParameterError {
    ParameterError("view", "unknown key '\(key)' (known: \(keys.joined(separator: ", ")))")
  }

  /// The projection to change; without one, a flat picture of what is straight ahead.
  private var projected: Projection {
    get { projection ?? Projection() }
    set { projection = newValue }
  }

  /// Returns the nearest quarter turn, and the degrees from -45 to 45 beyond it.
  private static func rotation(
    _ value: String
  ) throws(ParameterError) -> (rotation: Rotation, angle: Double) {
    guard let given = Double(value), (-360.0...360).contains(given) else {
      throw ParameterError(
        "rotate",
        "'\(value)' is not a rotation: use 0, 90, 180, 270, -90 or another number from -360 to 360"
          + " (degrees clockwise)")
    }
    let degrees = given > 180 ? given - 360 : given <= -180 ? given + 360 : given
    // In the middle between two, the one closer to 0: 45 and -45 keep the picture's shape.
    let quarters = degrees < 0 ? (degrees / 90 + 0.5).rounded(.down) : (degrees / 90 - 0.5).rounded(.up)
    let rotation = Rotation(rawValue: (Int(quarters) + 4) % 4 * 90) ?? .none
    return (rotation, degrees - quarters * 90)
  }

  /// Parses `WxH`, `Wx` or `xH`.
  private static func size(_ value: String) throws(ParameterError) -> (width: Int?, height: Int?) {
    let sides = value.split(separator: "x", omittingEmptySubsequences: false)
    guard sides.count == 2, !(sides[0].isEmpty && sides[1].isEmpty) else {
      throw ParameterError("size", "'\(value)' is not a size: use 640x360, 640x or x360")
    }
    return (
      sides[0].isEmpty ? nil : try ParameterParser.side("size", sides[0]),
      sides[1].isEmpty ? nil : try ParameterParser.side("size", sides[1])
    )
  }
}
