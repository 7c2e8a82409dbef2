// The one grammar of a view's words: `--view`, single options, configuration files and URLs all come here.

/// A word of a view that makes no sense, and what would.
public struct ViewError: Error, Hashable, CustomStringConvertible {
  /// The key, or the name of the view, that is at fault.
  public let key: String
  /// What is wrong with it, and its bounds.
  public let reason: String

  /// A fault of `key`.
  public init(_ key: String, _ reason: String) {
    self.key = key
    self.reason = reason
  }

  /// `KEY: REASON`.
  public var description: String { "\(key): \(reason)" }
}

extension ViewConfiguration {
  /// The keys that `set` knows, in the order of the picture's way.
  public static let keys = [
    "crop", "rotate", "mirror", "size", "width", "height", "mode", "background", "filter", "linear",
  ]

  /// What keys stand for that say the same in other words.
  private static let longForms = ["w": ["width"], "h": ["height"], "size": ["width", "height"]]

  /// The longest side that can be asked for.
  public static let maximumSide = 65535

  /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE...`.
  ///
  /// - Throws: `ViewError` for a bad name, an unknown or repeated key, or a bad value.
  public init(parsing text: String) throws(ViewError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(name: String(parts[0]))
    try ViewConfiguration.check(name: name)
    guard parts.count == 2 else { return }
    var seen: Set<String> = []
    for pair in ViewConfiguration.pairs(of: parts[1]) {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { throw ViewError(name, "'\(pair)' is not KEY=VALUE") }
      let key = String(sides[0])
      for side in ViewConfiguration.longForms[key] ?? [key] {
        guard seen.insert(side).inserted else { throw ViewError(key, "given twice in view '\(name)'") }
      }
      do throws(ViewError) {
        try set(key, to: String(sides[1]))
      } catch {
        throw ViewError(error.key, "\(error.reason) (view '\(name)')")
      }
    }
  }

  /// A view's name goes into file names and URLs.
  public static func check(name: String) throws(ViewError) {
    let isWord = name.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard !name.isEmpty, isWord, name.utf8.count <= 64, name.first != ".", name.first != "-" else {
      throw ViewError(
        "view '\(name)'",
        "a name has 1 to 64 letters, digits, '-', '_' or '.', and begins with none of '-' and '.'")
    }
  }

  /// Sets one key from its text.
  ///
  /// - Throws: `ViewError` where the key is unknown or the value out of bounds.
  public mutating func set(_ key: String, to value: String) throws(ViewError) {
    switch key {
    case "crop": crop = try ViewConfiguration.crop(value)
    case "rotate": rotation = try ViewConfiguration.rotation(value)
    case "mirror": mirroring = try ViewConfiguration.word(key, value)
    case "size": (width, height) = try ViewConfiguration.size(value)
    case "width", "w": width = try ViewConfiguration.side("width", value)
    case "height", "h": height = try ViewConfiguration.side("height", value)
    case "mode": contentMode = try ViewConfiguration.word(key, value)
    case "background":
      if value == "blur" {
        surround = .blur
        break
      }
      guard let color = RGBColor(value) else {
        throw ViewError(key, "'\(value)' is neither #RRGGBB nor blur")
      }
      (background, surround) = (color, .background)
    case "filter": filter = try ViewConfiguration.word(key, value)
    case "linear":
      switch value {
      case "true", "1", "yes", "on": light = .linear
      case "false", "0", "no", "off": light = .encoded
      default: throw ViewError(key, "'\(value)' is neither true nor false")
      }
    default:
      throw ViewError(
        "view", "unknown key '\(key)' (there are \(ViewConfiguration.keys.joined(separator: ", ")))")
    }
  }

  /// Splits at commas; a part with no '=' goes on with the value before it, so that `crop=X,Y,W,H` works.
  static func pairs(of text: Substring) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).reduce(into: []) { pairs, part in
      if !part.contains("="), let last = pairs.popLast() {
        pairs.append(last + "," + part)
      } else {
        pairs.append(String(part))
      }
    }
  }

  private static func word<Word: RawRepresentable & CaseIterable>(_ key: String, _ value: String)
    throws(ViewError) -> Word where Word.RawValue == String
  {
    guard let word = Word(rawValue: value) else {
      throw ViewError(key, "'\(value)' is none of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return word
  }

  private static func rotation(_ value: String) throws(ViewError) -> Rotation {
    guard let degrees = Int(value), degrees % 90 == 0, (-270...360).contains(degrees),
      let rotation = Rotation(rawValue: (degrees % 360 + 360) % 360)
    else { throw ViewError("rotate", "'\(value)' is none of 0, 90, 180, 270 (clockwise), -90") }
    return rotation
  }

  private static func side(_ key: String, _ value: some StringProtocol) throws(ViewError) -> Int {
    guard let side = number(value), (1...maximumSide).contains(side) else {
      throw ViewError(key, "'\(value)' is not a whole number from 1 to \(maximumSide)")
    }
    return side
  }

  /// `WxH`, `Wx` or `xH`.
  private static func size(_ value: String) throws(ViewError) -> (width: Int?, height: Int?) {
    let sides = value.split(separator: "x", omittingEmptySubsequences: false)
    guard sides.count == 2, !(sides[0].isEmpty && sides[1].isEmpty) else {
      throw ViewError("size", "'\(value)' is none of WxH, Wx, xH")
    }
    return (
      sides[0].isEmpty ? nil : try side("size", sides[0]), sides[1].isEmpty ? nil : try side("size", sides[1])
    )
  }

  /// `WxH+X+Y` or `X,Y,W,H`.
  static func crop(_ value: String) throws(ViewError) -> Rectangle {
    let malformed = ViewError("crop", "'\(value)' is neither WxH+X+Y nor X,Y,W,H")
    var fields: [Int] = []
    let separators = value.contains(",") ? [",", ",", ","] : ["x", "+", "+"]
    var rest = value[...]
    for separator in separators {
      guard let index = rest.firstIndex(of: Character(separator)), let field = number(rest[..<index]) else {
        throw malformed
      }
      fields.append(field)
      rest = rest[rest.index(after: index)...]
    }
    guard let last = number(rest) else { throw malformed }
    fields.append(last)
    let crop =
      value.contains(",")
      ? Rectangle(x: fields[0], y: fields[1], width: fields[2], height: fields[3])
      : Rectangle(x: fields[2], y: fields[3], width: fields[0], height: fields[1])
    guard crop.width > 0, crop.height > 0 else { throw ViewError("crop", "'\(value)' has no pixels") }
    return crop
  }

  /// Digits alone: no sign, no space.
  private static func number(_ text: some StringProtocol) -> Int? {
    guard text.utf8.count <= 9, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int(text)
  }
}
