// The formats of a camera: the facts that are known before it is opened as a source.

extension V4L2Camera {
  /// A format that a camera delivers.
  public struct Format: Sendable, Hashable {
    /// The FourCC code: `YUYV`, `MJPG`.
    public let fourCC: String
    /// The driver's description.
    public let description: String
    /// Whether GLPreview can read it.
    public let isReadable: Bool
    /// Whether libv4lconvert converts it from one of the camera's own formats.
    public let isEmulated: Bool
    /// The available picture sizes.
    public let sizes: [FrameSizes]

    let code: FourCC
    var reading: V4L2PixelFormat? { V4L2PixelFormat(code) }

    init(_ code: FourCC, description: String = "", isEmulated: Bool = false, sizes: [FrameSizes]) {
      self.code = code
      fourCC = code.description
      self.description = description
      isReadable = V4L2PixelFormat(code) != nil
      self.isEmulated = isEmulated
      self.sizes = sizes
    }
  }

  /// A picture size, or a range of sizes, with the frame intervals.
  public struct FrameSizes: Sendable, Hashable {
    /// The smallest size.
    public let minimum: Size
    /// The largest size.
    public let maximum: Size
    /// The step between sizes; 0 if there is only one.
    public let step: Size
    /// The intervals between pictures of this size, or of the largest one, shortest first; empty if unknown.
    public let intervals: [FrameIntervals]
  }

  /// An interval between pictures, or a range of intervals.
  public struct FrameIntervals: Sendable, Hashable {
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
    /// The longest interval; equal to `shortest` if there is only one.
    public let longest: Interval
  }
}

extension V4L2Camera.FrameSizes {
  init(_ size: Size, intervals: [V4L2Camera.FrameIntervals] = []) {
    self.init(minimum: size, maximum: size, step: Size(width: 0, height: 0), intervals: intervals)
  }
}
