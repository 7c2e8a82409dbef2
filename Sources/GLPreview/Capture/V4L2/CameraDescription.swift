// What is known about a camera before it is opened as a source.
public import PreviewCore

/// A camera known to V4L2.
public struct CameraDescription: Sendable, Hashable {
  /// The device file: `/dev/video0`.
  public let node: String
  /// A link that stays the same if the camera is plugged in elsewhere or renumbered: `/dev/v4l/by-id/...`, or by-path.
  public let stablePath: String?
  /// The name that the camera reports.
  public let name: String
  /// The place on the bus: `usb-0000:00:14.0-1`.
  public let bus: String
  /// The driver: `uvcvideo`, `vivid`
  public let driver: String
  /// The formats that it delivers, in the camera's order.
  public let formats: [CameraFormat]
  /// The controls, in the camera's order.
  public let controls: [CameraControl]
  /// Why the camera can't be opened, most often no permission; nil if it can. Then little else is known of it.
  public let diagnosis: String?
}

/// A format that a camera delivers.
public struct CameraFormat: Sendable, Hashable {
  /// The code: `YUYV`, `MJPG`
  public let fourCC: String
  /// The driver's description.
  public let description: String
  /// Whether GLPreview can read it.
  public let isReadable: Bool
  /// Whether libv4lconvert makes it from one of the camera's own formats.
  public let isEmulated: Bool
  /// The sizes of its pictures.
  public let sizes: [CameraFrameSizes]

  let code: FourCC
  var reading: V4L2PixelFormat? { V4L2PixelFormat(code) }

  init(_ code: FourCC, description: String = "", isEmulated: Bool = false, sizes: [CameraFrameSizes]) {
    self.code = code
    fourCC = code.description
    self.description = description
    isReadable = V4L2PixelFormat(code) != nil
    self.isEmulated = isEmulated
    self.sizes = sizes
  }
}

/// A picture size, or a range of sizes, with its frame intervals.
public struct CameraFrameSizes: Sendable, Hashable {
  /// The smallest size.
  public let minimum: Size
  /// The largest size.
  public let maximum: Size
  /// The step between sizes; 0 if there is only one.
  public let step: Size
  /// The intervals between pictures of this size, or of the largest; the shortest first; empty if unknown.
  public let intervals: [CameraFrameIntervals]
}

extension CameraFrameSizes {
  init(_ size: Size, intervals: [CameraFrameIntervals] = []) {
    self.init(minimum: size, maximum: size, step: Size(width: 0, height: 0), intervals: intervals)
  }
}

/// An interval between pictures, or a range of intervals.
public struct CameraFrameIntervals: Sendable, Hashable {
  /// A fraction of seconds.
  public struct Interval: Sendable, Hashable {
    /// The numerator.
    public let numerator: Int
    /// The denominator.
    public let denominator: Int

    /// Pictures per second.
    public var framesPerSecond: Double { numerator > 0 ? Double(denominator) / Double(numerator) : 0 }
  }

  /// The shortest interval.
  public let shortest: Interval
  /// The longest interval; the same if there is only one.
  public let longest: Interval
}

/// A setting of a camera.
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

  let id: UInt32
  let type: UInt32
}

/// As the command's and the service's JSON has it.
extension CameraControl: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, title, kind, minimum, maximum, step, value, items, flags
    case defaultValue = "default"
  }
}
