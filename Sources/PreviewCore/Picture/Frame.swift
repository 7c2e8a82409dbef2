// A camera's picture in memory, on its way to the GPU.

/// Where one plane stands in a frame's bytes.
public struct FramePlane: Sendable, Hashable {
  /// Of its first sample.
  public let offset: Int
  /// From a row to the next; at least the row itself.
  public let bytesPerRow: Int

  /// A plane from `offset` on.
  public init(offset: Int, bytesPerRow: Int) {
    self.offset = offset
    self.bytesPerRow = bytesPerRow
  }
}

/// All about a frame but its samples: what a plan is made for.
public struct FrameFormat: Sendable, Hashable {
  /// How the samples lie in memory.
  public let pixelFormat: PixelFormat
  /// As stored, in pixels: of the planes.
  public let size: Size
  /// The size of which views speak, as it lies in store; crops are in its pixels. Other than `size` only where a
  /// picture was decoded smaller than it is.
  public let referenceSize: Size
  /// Columns and rows of the planes to eight of the reference, 1...8: position x of the reference is `x * eighths / 8`
  /// of the planes, exactly. `size` is that of `referenceSize`, rounded up.
  package let eighths: Int
  /// What the samples mean.
  public let color: ColorDescription
  /// How the picture as it should be seen lies in the stored one.
  public let orientation: Orientation

  /// A format; both sides of `referenceSize` must be positive. At 8 eighths the planes are as large as it is.
  public init(
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

  /// The reference size as seen, after the orientation is applied.
  public var uprightSize: Size { orientation.seen(referenceSize) }

  /// The same with what the user knows better.
  public func overriding(_ override: ColorOverride) -> FrameFormat {
    FrameFormat(
      pixelFormat, referenceSize, color: override.applied(to: color), orientation: orientation,
      eighths: eighths)
  }
}

/// One picture of a source.
public struct Frame: Sendable {
  /// What it is.
  public let format: FrameFormat
  /// All planes' samples, top row first.
  package let storage: FrameBytes
  /// Where each plane of `format.pixelFormat.planes` stands in `storage`.
  public let planes: [FramePlane]
  /// Counts the source's frames from 0; a gap is frames that were dropped.
  public let sequence: Int
  /// When it was captured, in the source's own time: seconds from its start for files.
  public let timestamp: Duration
  /// An ICC profile that came with it, carried on to what is encoded from it.
  public let iccProfile: [UInt8]?

  /// A frame over `bytes`.
  ///
  /// - Throws: `FrameError` where a plane's rows are shorter than its samples or reach beyond `bytes`.
  public init(
    _ format: FrameFormat, bytes: [UInt8], planes: [FramePlane], sequence: Int = 0,
    timestamp: Duration = .zero,
    iccProfile: [UInt8]? = nil
  ) throws(FrameError) {
    try self.init(
      format, storage: FrameBytes(bytes), planes: planes, sequence: sequence, timestamp: timestamp,
      iccProfile: iccProfile)
  }

  /// The same over memory that may be lent.
  package init(
    _ format: FrameFormat, storage: FrameBytes, planes: [FramePlane], sequence: Int = 0,
    timestamp: Duration = .zero, iccProfile: [UInt8]? = nil
  ) throws(FrameError) {
    try Frame.check(format)
    let descriptions = format.pixelFormat.planes
    guard planes.count == descriptions.count else {
      throw FrameError("\(format.pixelFormat) has \(descriptions.count) planes, not \(planes.count)")
    }
    for (index, (plane, description)) in zip(planes, descriptions).enumerated() {
      let row = description.tightBytesPerRow(of: format.size)
      let rows = description.texels(of: format.size).height
      let (span, overflow) = plane.bytesPerRow.multipliedReportingOverflow(by: rows - 1)
      guard plane.offset >= 0, plane.bytesPerRow >= row, !overflow,
        storage.count >= row, span <= storage.count - row, plane.offset <= storage.count - row - span
      else {
        throw FrameError(
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

  /// The samples as an array: a copy where they are in memory of the GPU's.
  public var bytes: [UInt8] { storage.array }

  /// A frame whose planes follow one another with no padding, as raw files hold them.
  ///
  /// - Throws: `FrameError` where `bytes` is shorter than the frame.
  public init(
    tight format: FrameFormat, bytes: [UInt8], sequence: Int = 0, timestamp: Duration = .zero,
    iccProfile: [UInt8]? = nil
  ) throws(FrameError) {
    try self.init(
      tight: format, storage: FrameBytes(bytes), sequence: sequence, timestamp: timestamp,
      iccProfile: iccProfile)
  }

  /// The same over memory that may be lent.
  package init(
    tight format: FrameFormat, storage: FrameBytes, sequence: Int = 0, timestamp: Duration = .zero,
    iccProfile: [UInt8]? = nil
  ) throws(FrameError) {
    try Frame.check(format)
    var planes: [FramePlane] = []
    var offset = 0
    for plane in format.pixelFormat.planes {
      let bytesPerRow = plane.tightBytesPerRow(of: format.size)
      planes.append(FramePlane(offset: offset, bytesPerRow: bytesPerRow))
      offset += bytesPerRow * plane.texels(of: format.size).height
    }
    try self.init(
      format, storage: storage, planes: planes, sequence: sequence, timestamp: timestamp,
      iccProfile: iccProfile)
  }

  /// Before anything is computed of a size that a file made up.
  private static func check(_ format: FrameFormat) throws(FrameError) {
    guard format.pixelFormat.tightByteCount(of: format.size) != nil else {
      throw FrameError("no memory holds a \(format.size) \(format.pixelFormat) frame")
    }
  }

  /// The same picture, counted and timed anew, or with another meaning of its samples.
  public func with(sequence: Int? = nil, timestamp: Duration? = nil, color: ColorOverride = ColorOverride())
    -> Frame
  {
    Frame(
      self, format: format.overriding(color), sequence: sequence ?? self.sequence,
      timestamp: timestamp ?? self.timestamp)
  }

  /// The same over other memory, laid out as this one's.
  func with(storage: FrameBytes) -> Frame {
    Frame(self, storage: storage, format: format, sequence: sequence, timestamp: timestamp)
  }

  private init(
    _ frame: Frame, storage: FrameBytes? = nil, format: FrameFormat, sequence: Int, timestamp: Duration
  ) {
    self.format = format
    self.storage = storage ?? frame.storage
    self.planes = frame.planes
    self.sequence = sequence
    self.timestamp = timestamp
    self.iccProfile = frame.iccProfile
  }
}

/// Which picture a frame shows: equal where frames show the same samples in the same way, whatever they are counted by.
///
/// As long as it is held, no other frame has it; two frames of equal bytes that were made apart have two.
package struct FrameIdentity: Sendable, Hashable {
  private let token: FrameBytes.Token
  private let format: FrameFormat
  private let planes: [FramePlane]

  fileprivate init(_ frame: Frame) {
    (token, format, planes) = (frame.storage.token, frame.format, frame.planes)
  }

  /// Whether they are of one frame.
  package static func == (one: FrameIdentity, other: FrameIdentity) -> Bool {
    one.token === other.token && one.format == other.format && one.planes == other.planes
  }

  /// By the frame's memory.
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(token)) }
}

extension Frame {
  /// What is kept of a frame is known by this.
  package var identity: FrameIdentity { FrameIdentity(self) }
}

/// A frame's description and its memory contradict each other.
public struct FrameError: Error, Hashable, CustomStringConvertible {
  /// What does not fit.
  public let description: String

  init(_ description: String) { self.description = description }
}
