// The grammar of typed values (numbers, flags, sizes, rectangles, enumerated values, lists of KEY=VALUE) and
// its error.

/// Parsers of typed values. `key` is the key that a thrown `ParameterError` names.
package enum ParameterParser {
  /// Parses a decimal integer. A minus sign is accepted only if `bounds` contains negative numbers.
  package static func whole(_ key: String, _ text: some StringProtocol, in bounds: ClosedRange<Int>)
    throws(ParameterError) -> Int
  {
    let isNegative = bounds.lowerBound < 0 && text.hasPrefix("-")
    let digits = isNegative ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(text), bounds.contains(number)
    else {
      throw ParameterError(
        key, "'\(text)' is not a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
    }
    return number
  }

  /// Parses a decimal number, such as `0.5`.
  package static func number(_ key: String, _ text: some StringProtocol, in bounds: ClosedRange<Double>)
    throws(ParameterError) -> Double
  {
    guard let number = Double(text), bounds.contains(number) else {
      let (lowest, highest) = (bounds.lowerBound.shortText, bounds.upperBound.shortText)
      throw ParameterError(key, "'\(text)' is not a number from \(lowest) to \(highest)")
    }
    return number
  }

  /// Parses `true`, `yes`, `on` or `1`; `false`, `no`, `off` or `0`.
  package static func flag(_ key: String, _ text: some StringProtocol) throws(ParameterError) -> Bool {
    switch text.lowercased() {
    case "true", "yes", "on", "1": return true
    case "false", "no", "off", "0": return false
    default: throw ParameterError(key, "'\(text)' is not true or false")
    }
  }

  /// Parses one of the raw values of `Choice`.
  package static func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, _ text: some StringProtocol, as: Choice.Type = Choice.self
  ) throws(ParameterError) -> Choice where Choice.RawValue == String {
    guard let choice = Choice(rawValue: String(text)) else {
      throw ParameterError(
        key, "'\(text)' is not one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  /// Parses `WxH`, or with another separator. Both sides are 1...`Size.maximumSide`.
  package static func size(_ key: String, _ text: some StringProtocol, separator: Character = "x")
    throws(ParameterError) -> Size
  {
    let sides = text.split(separator: separator, omittingEmptySubsequences: false)
    guard sides.count == 2, let width = try? side(key, sides[0]), let height = try? side(key, sides[1]) else {
      throw ParameterError(
        key,
        "'\(text)' is not W\(separator)H, such as 640\(separator)360, with sides from 1 to \(Size.maximumSide)"
      )
    }
    return Size(width: width, height: height)
  }

  /// Parses a width or height in pixels, 1...`Size.maximumSide`.
  package static func side(_ key: String, _ text: some StringProtocol) throws(ParameterError) -> Int {
    try whole(key, text, in: 1...Size.maximumSide)
  }

  /// Parses `WxH+X+Y` or `X,Y,W,H`, in pixels. An empty rectangle is an error.
  package static func rectangle(_ key: String, _ text: some StringProtocol) throws(ParameterError)
    -> Rectangle
  {
    let isList = text.contains(",")
    let fields = text.split(omittingEmptySubsequences: false) { isList ? $0 == "," : $0 == "x" || $0 == "+" }
    let numbers = fields.compactMap { try? whole(key, $0, in: 0...999_999_999) }
    let isGeometry = isList || String(text.filter { $0 == "x" || $0 == "+" }) == "x++"
    guard fields.count == 4, numbers.count == 4, isGeometry else {
      throw ParameterError(key, "'\(text)' is not a rectangle: use WxH+X+Y, such as 640x360+0+0, or X,Y,W,H")
    }
    let rectangle =
      isList
      ? Rectangle(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
      : Rectangle(x: numbers[2], y: numbers[3], width: numbers[0], height: numbers[1])
    guard !rectangle.isEmpty else { throw ParameterError(key, "'\(text)' has no pixels") }
    return rectangle
  }

  /// Parses `KEY=VALUE,KEY=VALUE...`. A part without `=` continues the value before it, so that
  /// `crop=X,Y,W,H` works. `subject` names the owner of the keys in messages, such as `view 'main'`. `twins`
  /// are, for each alias, the keys that it sets.
  ///
  /// - Throws: `ParameterError` if the first part has no `=`, or a key is given twice.
  package static func pairs(
    _ text: some StringProtocol, of subject: String, twins: [String: [String]] = [:]
  ) throws(ParameterError) -> [(key: String, value: String)] {
    var seen: Set<String> = []
    var pairs: [(key: String, value: String)] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let equals = part.firstIndex(of: "=") else {
        guard let last = pairs.popLast() else { throw ParameterError(subject, "'\(part)' is not KEY=VALUE") }
        pairs.append((last.key, "\(last.value),\(part)"))
        continue
      }
      let key = String(part[..<equals])
      for name in twins[key] ?? [key] {
        guard seen.insert(name).inserted else { throw ParameterError(key, "given twice in \(subject)") }
      }
      pairs.append((key, String(part[part.index(after: equals)...])))
    }
    return pairs
  }
}

extension StringProtocol {
  /// The text without spaces and tabs at both ends.
  package var trimmed: String {
    var text = self[...]
    while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
    while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
    return String(text)
  }
}

/// A value that a view, a scene or a mask does not accept.
///
/// ```swift
/// do { view = try ViewConfiguration(parsing: "thumb:size=0x90") } catch { print(error) }
/// // size: '0' is not a whole number from 1 to 65535 (view 'thumb')
/// ```
public struct ParameterError: Error, Hashable, CustomStringConvertible {
  /// The key at fault, such as `size`, or the part, such as `tile 3 (door)`; empty if the caller names it.
  public let key: String
  /// The problem with the value, and the accepted values.
  public let reason: String

  package init(_ key: String, _ reason: String) {
    self.key = key
    self.reason = reason.brief
  }

  /// Creates an error for a value whose key the caller names.
  package init(_ reason: String) { self.init("", reason) }

  /// `KEY: REASON`, or the reason alone if the key is empty.
  public var description: String { key.isEmpty ? reason : "\(key): \(reason)" }
}

extension ParameterError {
  /// The longest length in a scene, in pixels.
  static let length = Double(Size.maximumSide)

  /// Throws if a number is out of range or not a number.
  static func check(_ number: Double, in range: ClosedRange<Double>, _ key: String)
    throws(ParameterError)
  {
    guard range.contains(number) else {
      throw ParameterError(key, "\(number) is not from \(range.lowerBound) to \(range.upperBound)")
    }
  }
}

extension String {
  /// The text for a message that may quote a client's input: only its beginning and end, if it is longer than
  /// 1000 Unicode scalars.
  package var brief: String {
    guard utf8.count > 1000, unicodeScalars.count > 1000 else { return self }
    return String(unicodeScalars.prefix(500)) + " ... " + String(unicodeScalars.suffix(400))
  }
}
