// What there is to know about a camera before it is opened.
public import PreviewCore

/// A camera that V4L2 knows.
public struct CameraDescription: Sendable, Hashable {
  /// The device's file: `/dev/video0`.
  public let node: String
  /// Its link that stays the same when it is plugged elsewhere, or named otherwise: `/dev/v4l/by-id/...`, or by-path.
  public let stablePath: String?
  /// What it calls itself.
  public let name: String
  /// Where it is plugged in: `usb-0000:00:14.0-1`.
  public let bus: String
  /// `uvcvideo`, `vivid`
  public let driver: String
  /// What it can deliver, in its order.
  public let formats: [CameraFormat]
  /// What can be set, in its order.
  public let controls: [CameraControl]
  /// Why it can't be opened: no permission, most often; nil where it can. Then little else is known of it.
  public let diagnosis: String?
}

/// A format that a camera delivers.
public struct CameraFormat: Sendable, Hashable {
  /// `YUYV`, `MJPG`
  public let fourCC: String
  /// The driver's words.
  public let description: String
  /// Whether GLPreview reads it.
  public let isReadable: Bool
  /// Whether libv4lconvert makes it of one of the camera's own.
  public let isEmulated: Bool
  /// What it comes in.
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

/// A size of pictures, or a range of them, and how often pictures come.
public struct CameraFrameSizes: Sendable, Hashable {
  /// The least.
  public let minimum: Size
  /// The greatest.
  public let maximum: Size
  /// From one to the next; 0 where there is only one.
  public let step: Size
  /// How often pictures of this size, or of the greatest, come; the shortest first; empty where that is not known.
  public let intervals: [CameraFrameIntervals]

  init(minimum: Size, maximum: Size, step: Size, intervals: [CameraFrameIntervals] = []) {
    self.minimum = minimum
    self.maximum = maximum
    self.step = step
    self.intervals = intervals
  }

  init(_ size: Size, intervals: [CameraFrameIntervals] = []) {
    self.init(
      minimum: size, maximum: size, step: Size(width: 0, height: 0), intervals: intervals)
  }
}

/// A time between pictures, or a range of them.
public struct CameraFrameIntervals: Sendable, Hashable {
  /// In seconds, a fraction.
  public struct Interval: Sendable, Hashable {
    /// Above the line.
    public let numerator: Int
    /// Below it.
    public let denominator: Int

    /// How many a second.
    public var framesPerSecond: Double { numerator > 0 ? Double(denominator) / Double(numerator) : 0 }
  }

  /// The least.
  public let shortest: Interval
  /// The greatest; the same where there is only one.
  public let longest: Interval
}

/// Something about a camera that can be set.
public struct CameraControl: Sendable, Hashable {
  /// What its values are.
  public enum Kind: String, Sendable, Hashable, Codable {
    /// A number.
    case integer
    /// 0 or 1.
    case boolean
    /// One of a list of words.
    case menu
    /// One of a list of numbers.
    case integerMenu
    /// Any value: it does something.
    case button
    /// A number of 64 bits.
    case integer64
    /// Bits of 32.
    case bitmask
    /// What can't be set by one number: text, tables.
    case other
  }

  /// One of a menu.
  public struct MenuItem: Sendable, Hashable, Codable {
    /// What it is set by.
    public let value: Int
    /// Its word, or number.
    public let name: String
  }

  /// As v4l2-ctl writes it: `exposure_time_absolute`.
  public let name: String
  /// The driver's words: `Exposure Time, Absolute`.
  public let title: String
  /// What its values are.
  public let kind: Kind
  /// The least value.
  public let minimum: Int
  /// The greatest value.
  public let maximum: Int
  /// From a value to the next.
  public let step: Int
  /// What it is at first.
  public let defaultValue: Int
  /// What it is now; nil where it has no value.
  public let value: Int?
  /// A menu's.
  public let items: [MenuItem]
  /// What hinders: `read-only`, `inactive`, `grabbed`, `disabled`, `volatile`, `write-only`.
  public let flags: [String]

  let id: UInt32
  let type: UInt32
}
