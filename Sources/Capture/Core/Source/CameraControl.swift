// A control of a camera, such as its exposure: what it takes, and what to set it to.

/// A control of a camera: its range and its value.
public struct CameraControl: Sendable, Hashable {
  /// The type of a control's values.
  public enum Kind: String, Sendable, Hashable, Codable {
    /// A number.
    case integer
    /// 0 or 1.
    case boolean
    /// One of a list of words.
    case menu
    /// One of a list of numbers.
    case integerMenu
    /// An action; takes any value.
    case button
    /// A 64-bit number.
    case integer64
    /// A mask of 32 bits.
    case bitmask
    /// A value that is not a single number: text, tables.
    case other
  }

  /// An item of a menu.
  public struct MenuItem: Sendable, Hashable, Codable {
    /// The value that selects it.
    public let value: Int
    /// The word or number that it stands for.
    public let name: String

    package init(value: Int, name: String) { (self.value, self.name) = (value, name) }
  }

  /// A camera control and its value: `exposure_auto=1`.
  public struct Setting: Sendable, Hashable {
    /// The name as `glpreview devices` lists it.
    public var name: String
    /// A number, `true`, `false`, or the name of a menu item.
    public var value: String

    /// Creates a setting. It is checked when the camera opens.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The name as v4l2-ctl writes it: `exposure_time_absolute`.
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
  /// The current value; nil if it has none.
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

/// As the command's and the service's JSON has it.
extension CameraControl: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, title, kind, minimum, maximum, step, value, items, flags
    case defaultValue = "default"
  }
}
