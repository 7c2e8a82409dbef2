// The change of a view by PATCH: view keys, frame rate, quality, decoding, and whether it is enabled.
internal import FoundationEssentials
internal import HTTPTypes

/// A change of a view, parsed from a JSON object.
struct ViewChange {
  private let members: [String: JSONScalar]

  /// The keys that change which part of the camera the view shows, or its size.
  private static let placing: Set = [
    "crop", "lens", "projection", "yaw", "pitch", "roll", "hfov", "corners", "rotate", "size", "width",
    "height", "w", "h",
  ]

  /// Whether a move of the view ends with it.
  var endsMove: Bool { !Self.placing.isDisjoint(with: members.keys) }

  private static let keys = ViewConfiguration.keys + ["fps", "enabled", "quality", "decode"]

  /// - Throws: `Problem` 400 if it is not an object of scalars, or is empty.
  init(json: [UInt8]) throws(Problem) {
    do {
      members = try JSONDecoder().decode([String: JSONScalar].self, from: Data(json))
    } catch {
      throw Problem(.badRequest, "the body must be a JSON object of strings, numbers, true, false and null")
    }
    guard !members.isEmpty else {
      throw Problem(.badRequest, "the body is empty (known keys: \(Self.keys.joined(separator: ", ")))")
    }
  }

  /// - Throws: `Problem` 400 that describes the error.
  func apply(to served: inout ServedView) throws(Problem) {
    for (key, value) in members.sorted(by: { $0.key < $1.key }) { try apply(key, value, to: &served) }
  }

  private func apply(_ key: String, _ value: JSONScalar, to served: inout ServedView) throws(Problem) {
    switch (key, value) {
    case ("fps", .null): served.framesPerSecond = nil
    case ("fps", _):
      guard let rate = value.number, (0.01...1000).contains(rate) else {
        throw .badParameter("fps", "'\(value)' is neither null nor a number from 0.01 to 1000")
      }
      served.framesPerSecond = rate
    case ("enabled", .bool(let isEnabled)): served.isEnabled = isEnabled
    case ("enabled", _): throw .badParameter("enabled", "'\(value)' is neither true nor false")
    case ("quality", .null): served.quality = nil
    case ("quality", _):
      guard let quality = value.number.flatMap(Int.init(exactly:)), (1...100).contains(quality) else {
        throw .badParameter("quality", "'\(value)' is neither null nor a whole number from 1 to 100")
      }
      served.quality = quality
    case ("decode", _):
      guard let decode = StreamDecoding(rawValue: "\(value)") else {
        throw .badParameter("decode", "'\(value)' is neither exact nor fast")
      }
      served.decode = decode
    case ("crop", .null): served.view.crop = nil
    case ("lens", .null): served.view.lens = nil
    case ("projection", .null): served.view.projection = nil
    case ("hfov", .null): served.view.projection?.hfov = nil
    case ("corners", .null): served.view.corners = nil
    case ("width", .null): served.view.width = nil
    case ("height", .null): served.view.height = nil
    case ("size", .null): (served.view.width, served.view.height) = (nil, nil)
    case (_, .null): throw .badParameter(key, "'\(key)' can't be null")
    default:
      do throws(ParameterError) {
        try served.view.set(key, to: "\(value)")
      } catch {
        let isUnknown = !Self.keys.contains(key)
        throw .badParameter(
          isUnknown ? key : error.key,
          isUnknown
            ? "unknown key '\(key)' (known: \(Self.keys.joined(separator: ", ")))"
            : error.reason)
      }
    }
  }
}
