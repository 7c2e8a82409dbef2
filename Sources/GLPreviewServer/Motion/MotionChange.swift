// A PATCH of a camera's motion settings. The change lasts until the configuration changes.
internal import FoundationEssentials
internal import HTTPTypes

/// A body such as `{"sensitivity": 60, "zones": ["gate=0,0.5,0.4,0.5"]}`, with the keys of `motion` in the
/// configuration except `rate`. Null restores the configured value.
struct MotionChange {
  private let members: [String: Member]

  private enum Member: Decodable {
    case scalar(JSONScalar)
    case list([String])

    init(from decoder: any Decoder) throws {
      if let scalar = try? JSONScalar(from: decoder) {
        self = .scalar(scalar)
      } else {
        self = .list(try [String](from: decoder))
      }
    }
  }

  private static let keys = ["cool-down", "min-duration", "min-size", "sensitivity", "zones"]

  static let schema = JSONSchema.object(
    [
      .optional("sensitivity", .integer(in: 1...100).orNull),
      .optional("min-size", .number(in: MotionSettings.minimumSizes).orNull, "a fraction of the picture"),
      .optional("min-duration", .text.orNull, "as `500ms`"), .optional("cool-down", .text.orNull, "as `10s`"),
      .optional(
        "zones", .keywords(["type": ["array", "null"], "items": ["type": "string"]]),
        "as `NAME=X,Y,WIDTH,HEIGHT`"),
    ], isClosed: true)

  /// - Throws: `Problem` 400.
  init(json: [UInt8]) throws(Problem) {
    do { members = try JSONDecoder().decode([String: Member].self, from: Data(json)) } catch {
      throw Problem(
        .badRequest,
        "the body must be a JSON object; zones must be a list of strings such as NAME=X,Y,WIDTH,HEIGHT")
    }
    guard !members.isEmpty else {
      throw Problem(.badRequest, "the body is empty (known keys: \(Self.keys.joined(separator: ", ")))")
    }
  }

  /// The settings after the change.
  ///
  /// - Throws: `Problem` 400 that names the key.
  func applied(to settings: MotionSettings, _ configured: MotionSettings) throws(Problem) -> MotionSettings {
    var changed = settings
    for (key, member) in members.sorted(by: { $0.key < $1.key }) {
      do { try Self.apply(key, member, to: &changed, configured) } catch let problem as Problem {
        throw problem
      } catch {
        throw .badParameter(key, (error as? ParameterError)?.reason ?? "\(error)")
      }
    }
    return changed
  }

  private static func apply(
    _ key: String, _ member: Member, to settings: inout MotionSettings, _ configured: MotionSettings
  ) throws {
    func value<Value>(_ format: ConfigurationFormat<Value>, or usual: Value) throws -> Value {
      switch member {
      case .scalar(.null): usual
      case .scalar(let scalar): try format.read("\(scalar)", "")
      case .list: throw Problem.badParameter(key, "'\(key)' must not be a list")
      }
    }
    switch key {
    case "sensitivity": settings.sensitivity = try value(.whole(1...100), or: configured.sensitivity)
    case "min-size":
      settings.minimumSize = try value(.number(MotionSettings.minimumSizes), or: configured.minimumSize)
    case "min-duration": settings.minimumDuration = try value(.time, or: configured.minimumDuration)
    case "cool-down": settings.coolDown = try value(.time, or: configured.coolDown)
    case "zones": settings.zones = try zones(member) ?? configured.zones
    default:
      throw Problem.badParameter(key, "unknown key '\(key)' (known: \(keys.joined(separator: ", ")))")
    }
  }

  /// Nil for null.
  private static func zones(_ member: Member) throws -> [MotionZone]? {
    switch member {
    case .scalar(.null): return nil
    case .scalar:
      throw ParameterError("zones", "zones must be a list of strings such as NAME=X,Y,WIDTH,HEIGHT")
    case .list(let texts):
      let zones = try texts.map { try MotionZone(parsing: $0) }
      guard zones.count <= MotionSettings.mostZones else {
        throw ParameterError("zones", "at most \(MotionSettings.mostZones) zones")
      }
      guard Set(zones.map(\.name)).count == zones.count else {
        throw ParameterError("zones", "two zones have the same name")
      }
      return zones
    }
  }
}
