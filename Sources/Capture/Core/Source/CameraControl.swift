// A camera control, such as exposure: its range, and a value to set.

/// A camera control, with its range and its current value.
public struct CameraControl: Sendable, Hashable {
  /// The type of a control's values.
  public enum Kind: String, Sendable, Hashable, Codable {
    /// A number.
    case integer
    /// 0 or 1.
    case boolean
    /// One of a list of names.
    case menu
    /// One of a list of numbers.
    case integerMenu
    /// An action; any value triggers it.
    case button
    /// A 64-bit number.
    case integer64
    /// A 32-bit mask.
    case bitmask
    /// A value that is not a single number: text, tables.
    case other
  }

  /// An item of a menu.
  public struct MenuItem: Sendable, Hashable, Codable {
    /// The value that selects it.
    public let value: Int
    /// The name or number that is displayed.
    public let name: String

    package init(value: Int, name: String) { (self.value, self.name) = (value, name) }
  }

  /// A camera control and its value: `exposure_auto=1`.
  public struct Setting: Sendable, Hashable {
    /// The name that `glpreview devices` lists.
    public var name: String
    /// A number, `true`, `false`, or the name of a menu item.
    public var value: String

    /// Creates a setting. It is checked when the camera opens.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The name that v4l2-ctl uses: `exposure_time_absolute`.
  public let name: String
  /// The driver's name: `Exposure Time, Absolute`.
  public let title: String
  /// The type of its values.
  public let kind: Kind
  /// The smallest value.
  public let minimum: Int
  /// The largest value.
  public let maximum: Int
  /// The step between values.
  public let step: Int
  /// The default value.
  public let defaultValue: Int
  /// The current value; nil if the control has none.
  public let value: Int?
  /// The items of a menu.
  public let items: [MenuItem]
  /// The restrictions: `read-only`, `inactive`, `grabbed`, `disabled`, `volatile`, `write-only`.
  public let flags: [String]

  package let id: UInt32
  package let type: UInt32

  package init(
    name: String, title: String, kind: Kind, minimum: Int, maximum: Int, step: Int, defaultValue: Int,
    value: Int?, items: [MenuItem], flags: [String], id: UInt32, type: UInt32
  ) {
    (self.name, self.title, self.kind, self.value, self.items) = (name, title, kind, value, items)
    (self.minimum, self.maximum, self.step, self.defaultValue) = (minimum, maximum, step, defaultValue)
    (self.flags, self.id, self.type) = (flags, id, type)
  }
}

/// The JSON of the command and the service.
extension CameraControl: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, title, kind, minimum, maximum, step, value, items, flags
    case defaultValue = "default"
  }
}
