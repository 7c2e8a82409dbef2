// A camera's frame in memory, before it is uploaded to the GPU.

/// One frame of a source.
public struct Frame: Sendable {
  /// The position of one plane in a frame's bytes.
  public struct Plane: Sendable, Hashable {
    /// The byte offset of its first sample.
    public let offset: Int
    /// Bytes from one row to the next; at least the bytes of a row.
    public let bytesPerRow: Int

    /// Creates a plane at byte `offset`.
    public init(offset: Int, bytesPerRow: Int) {
      self.offset = offset
      self.bytesPerRow = bytesPerRow
    }
  }

  /// The layout, size and meaning of the samples.
  public let format: Format
  /// The samples of all planes, top row first.
  package let storage: FrameBytes
  /// The position of each plane of `format.pixelFormat.planes` in `storage`.
  public let planes: [Plane]
  /// The number of the frame in its source, from 0. A gap means dropped frames.
  public let sequence: Int
  /// The capture time. For frames of a file, it is the position in the file; the first frame has `.start`.
  public let timestamp: CaptureInstant
  /// The ICC profile of the picture, which is copied into its encodings.
  public let iccProfile: [UInt8]?

  /// Creates a frame over `bytes`.
  ///
  /// - Throws: `LayoutError` if a plane's rows are shorter than its samples or reach beyond `bytes`.
  public init(
    _ format: Format, bytes: [UInt8], planes: [Plane], sequence: Int = 0,
    timestamp: CaptureInstant = .start, iccProfile: [UInt8]? = nil
  ) throws(LayoutError) {
    try self.init(
      format, storage: FrameBytes(bytes), planes: planes, sequence: sequence, timestamp: timestamp,
      iccProfile: iccProfile)
  }

  /// Creates a frame over memory that may be borrowed from a pool.
  package init(
    _ format: Format, storage: FrameBytes, planes: [Plane], sequence: Int = 0,
    timestamp: CaptureInstant = .start, iccProfile: [UInt8]? = nil
  ) throws(LayoutError) {
    try Frame.check(format)
    let descriptions = format.pixelFormat.planes
    guard planes.count == descriptions.count else {
      throw LayoutError("\(format.pixelFormat) has \(descriptions.count) planes, not \(planes.count)")
    }
    for (index, (plane, description)) in zip(planes, descriptions).enumerated() {
      let row = description.tightBytesPerRow(of: format.size)
      let rows = description.texels(of: format.size).height
      let (span, overflow) = plane.bytesPerRow.multipliedReportingOverflow(by: rows - 1)
      guard plane.offset >= 0, plane.bytesPerRow >= row, !overflow,
        storage.count >= row, span <= storage.count - row, plane.offset <= storage.count - row - span
      else {
        throw LayoutError(
          "plane \(index) of a \(format.size) \(format.pixelFormat) frame does not fit its memory")
      }
    }
    self.format = format
    self.storage = storage
    self.planes = planes
    self.sequence = sequence
    self.timestamp = timestamp
    self.iccProfile = iccProfile
  }

  /// The key for anything cached per frame.
  package var identity: FrameIdentity { FrameIdentity(self) }

  /// The samples as an array. If they lie in GPU memory, this is a copy.
  public var bytes: [UInt8] { storage.array }

  /// Creates a frame whose planes follow one another without padding, as in raw files.
  ///
  /// - Throws: `LayoutError` if `bytes` is shorter than the frame.
  public init(
    tight format: Format, bytes: [UInt8], sequence: Int = 0, timestamp: CaptureInstant = .start,
    iccProfile: [UInt8]? = nil
  ) throws(LayoutError) {
    try self.init(
      tight: format, storage: FrameBytes(bytes), sequence: sequence, timestamp: timestamp,
      iccProfile: iccProfile)
  }

  /// Creates an unpadded frame over memory that may be borrowed from a pool.
  package init(
    tight format: Format, storage: FrameBytes, sequence: Int = 0, timestamp: CaptureInstant = .start,
    iccProfile: [UInt8]? = nil
  ) throws(LayoutError) {
    try Frame.check(format)
    var planes: [Plane] = []
    var offset = 0
    for plane in format.pixelFormat.planes {
      let bytesPerRow = plane.tightBytesPerRow(of: format.size)
      planes.append(Plane(offset: offset, bytesPerRow: bytesPerRow))
      offset += bytesPerRow * plane.texels(of: format.size).height
    }
    try self.init(
      format, storage: storage, planes: planes, sequence: sequence, timestamp: timestamp,
      iccProfile: iccProfile)
  }

  /// Rejects impossible sizes, as in corrupt files, before anything is computed from them.
  private static func check(_ format: Format) throws(LayoutError) {
    guard format.pixelFormat.tightByteCount(of: format.size) != nil else {
      throw LayoutError("no memory holds a \(format.size) \(format.pixelFormat) frame")
    }
  }

  /// Returns a copy with another number, timestamp or colour description.
  package func with(
    sequence: Int? = nil, timestamp: CaptureInstant? = nil,
    color: ColorDescription.Override = ColorDescription.Override()
  ) -> Frame {
    Frame(
      self, format: format.overriding(color), sequence: sequence ?? self.sequence,
      timestamp: timestamp ?? self.timestamp)
  }

  /// Returns a copy with another pixel format of the same layout.
  package func with(pixelFormat: PixelFormat) -> Frame {
    Frame(self, format: format.with(pixelFormat), sequence: sequence, timestamp: timestamp)
  }

  /// Returns a copy over other memory with the same layout.
  func with(storage: FrameBytes) -> Frame {
    Frame(self, storage: storage, format: format, sequence: sequence, timestamp: timestamp)
  }

  private init(
    _ frame: Frame, storage: FrameBytes? = nil, format: Format, sequence: Int, timestamp: CaptureInstant
  ) {
    self.format = format
    self.storage = storage ?? frame.storage
    self.planes = frame.planes
    self.sequence = sequence
    self.timestamp = timestamp
    self.iccProfile = frame.iccProfile
  }
}

extension Frame {
  /// Everything about a frame except its samples. Plans are made for a format.
  public struct Format: Sendable, Hashable {
    /// How the samples lie in memory.
    public let pixelFormat: PixelFormat
    /// The stored size of the planes, in pixels.
    public let size: Size
    /// The size that views refer to, in stored orientation; crops are in its pixels. It differs from `size`
    /// only if the picture was decoded at a reduced size.
    package let referenceSize: Size
    /// The decoding scale in eighths, 1...8: position x of the reference is exactly `x * eighths / 8` of the
    /// planes. `size` is `referenceSize` at this scale, rounded up.
    package let eighths: Int
    /// The meaning of the samples.
    public let color: ColorDescription
    /// How the upright picture lies in the stored one.
    package let orientation: Orientation

    /// Creates the format of upright frames. Both sides of `size` must be positive.
    public init(_ pixelFormat: PixelFormat, _ size: Size, color: ColorDescription) {
      self.init(pixelFormat, size, color: color, orientation: .upright)
    }

    /// Creates a format. Both sides of `referenceSize` must be positive. At 8 eighths the planes have that
    /// size.
    package init(
      _ pixelFormat: PixelFormat, _ referenceSize: Size, color: ColorDescription,
      orientation: Orientation = .upright, eighths: Int = 8
    ) {
      precondition(referenceSize.width > 0 && referenceSize.height > 0, "a frame has at least one pixel")
      precondition((1...8).contains(eighths), "a picture is decoded at 1...8 eighths")
      self.pixelFormat = pixelFormat
      self.size = referenceSize.scaled(toEighths: eighths)
      self.referenceSize = referenceSize
      self.eighths = eighths
      self.color = color
      self.orientation = orientation
    }

    /// The upright size, after the orientation is applied; crops of views are in its pixels.
    public var uprightSize: Size { orientation.seen(referenceSize) }

    func with(_ pixelFormat: PixelFormat) -> Format {
      Format(pixelFormat, referenceSize, color: color, orientation: orientation, eighths: eighths)
    }

    /// Returns the format with the user's overrides applied.
    package func overriding(_ override: ColorDescription.Override) -> Format {
      Format(
        pixelFormat, referenceSize, color: override.applied(to: color), orientation: orientation,
        eighths: eighths)
    }
  }

  /// The error for a frame whose description does not match its memory.
  public struct LayoutError: Error, Hashable, CustomStringConvertible {
    /// A description of the mismatch.
    public let description: String

    init(_ description: String) { self.description = description }
  }
}

/// Identifies the picture that a frame shows: equal for frames with the same samples, format and layout,
/// regardless of their number and time.
///
/// It is unique while it is held. Two frames made separately differ, even if their bytes are equal.
package struct FrameIdentity: Sendable, Hashable {
  private let token: FrameBytes.Token
  private let format: Frame.Format
  private let planes: [Frame.Plane]

  fileprivate init(_ frame: Frame) {
    (token, format, planes) = (frame.storage.token, frame.format, frame.planes)
  }

  package static func == (one: FrameIdentity, other: FrameIdentity) -> Bool {
    one.token === other.token && one.format == other.format && one.planes == other.planes
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(token)) }
}
