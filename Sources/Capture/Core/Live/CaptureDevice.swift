// The protocols behind every live source: a device that can be connected to repeatedly, and one connection.
// Cameras, servers and pipes differ only in these two; LiveSource has everything that they share.

/// A camera or a stream. `LiveSource` connects to it again whenever the connection is lost.
package protocol CaptureDevice: Sendable {
  /// The name as entered, without passwords, for messages.
  var name: String { get }

  /// Texts that messages must not contain, such as a password.
  var secrets: [String] { get }

  /// The longest pause between two connection attempts; short if an attempt costs nothing.
  var longestPause: Duration { get }

  /// Whether to reconnect after a long silence; false if only the other side can restore the connection.
  var reconnectsWhenSilent: Bool { get }

  /// Connects and determines the mode. It may return before a picture has arrived.
  ///
  /// Never blocks a thread of Swift's pool. Returns within half a second after the task is cancelled. Leaves
  /// nothing open if it throws.
  ///
  /// - Throws: `SourceError`: `.badRequest` if no retry can succeed; `CancellationError`.
  func connect() async throws -> any CaptureConnection
}

extension CaptureDevice {
  package var secrets: [String] { [] }
  package var longestPause: Duration { .seconds(10) }
  package var reconnectsWhenSilent: Bool { true }
}

/// One connection. Its pictures are requested one at a time.
package protocol CaptureConnection: Sendable {
  /// The mode being delivered, for display and logs. It may change during the connection.
  var mode: SourceStatus.Mode { get async }

  /// Waits for the next picture; nil if the stream has ended for good, for example because a pipe's writer
  /// has closed it.
  ///
  /// Returns within half a second after the task is cancelled.
  ///
  /// - Throws: `DamagedCapture` if pictures arrived damaged and the next one can be requested; `SourceError`
  ///   if the connection is lost; `CancellationError`.
  func next() async throws -> Capture?

  /// Closes the connection and releases descriptors, memory and threads within half a second. Called once.
  func close() async
}

/// A captured picture. JPEGs are decoded, and driver buffers copied, only when the frame is requested.
package struct Capture: Sendable {
  /// The time of capture, or of arrival if the source does not report it.
  package let timestamp: CaptureInstant
  /// The number of pictures between the previous one and this one that never arrived.
  package var skipped = 0
  /// The number among all captures of the source, once it is in the queue.
  var sequence = 0
  /// The size in memory while it waits.
  package let byteCount: Int
  /// Whether it holds memory of the device until it is released. A queue of several captures copies it first.
  package var isBorrowed = false
  /// The picture as received, if it is a JPEG, without any bytes before its SOI.
  package var jpeg: [UInt8]?
  /// The picture's place in the camera's own H.264 stream, if that can be passed through. Its frame is
  /// decoded from the last keyframe on.
  package var video: OriginalVideo.Place?
  /// Opens a separate decoder, independent of `makeFrame`, for H.264 of this stream.
  package var openDecoder: (@Sendable () -> any BufferedDecoder)?
  /// Makes the frame, on any thread. Its sequence and time are set afterwards.
  let makeFrame: @Sendable (JPEGDecoder.DamagePolicy) throws -> Frame

  package init(
    timestamp: CaptureInstant, skipped: Int = 0, byteCount: Int, isBorrowed: Bool = false,
    jpeg: [UInt8]? = nil, makeFrame: @escaping @Sendable (JPEGDecoder.DamagePolicy) throws -> Frame
  ) {
    (self.timestamp, self.skipped, self.byteCount, self.isBorrowed) = (
      timestamp, skipped, byteCount, isBorrowed
    )
    (self.jpeg, self.makeFrame) = (jpeg, makeFrame)
  }
}

extension Capture {
  /// Wraps a JPEG, which is decoded according to `options` when its frame is requested. Bytes before its SOI
  /// are removed.
  package init(
    jpeg bytes: [UInt8], timestamp: CaptureInstant, skipped: Int = 0, _ options: SourceOptions,
    memory: FramePool
  ) {
    let bytes = PictureStart.trimmed(bytes)
    let jpeg = bytes.starts(with: JPEGDecoder.signature) ? bytes : nil
    self.init(timestamp: timestamp, skipped: skipped, byteCount: bytes.count, jpeg: jpeg) { damage in
      try JPEGDecoder.decode(
        bytes, maximumPixels: options.maximumPixels, damage: damage, decoding: options.decoding,
        until: options.decodingDeadline, memory: memory)
    }
  }

  /// Wraps a JPEG or a PNG.
  package init(picture bytes: [UInt8], timestamp: CaptureInstant, _ options: SourceOptions, memory: FramePool)
  {
    let bytes = PictureStart.trimmed(bytes)
    guard bytes.starts(with: PNGDecoder.signature) else {
      self.init(jpeg: bytes, timestamp: timestamp, options, memory: memory)
      return
    }
    self.init(timestamp: timestamp, byteCount: bytes.count) { _ in
      try PNGDecoder.decode(
        bytes, maximumPixels: options.maximumPixels, until: options.decodingDeadline, memory: memory)
    }
  }

  package init(_ frame: Frame, skipped: Int = 0) {
    self.init(timestamp: frame.timestamp, skipped: skipped, byteCount: frame.storage.count) { _ in frame }
  }

  /// Decodes or copies the frame. If damage is `.isTolerated`, parts of the frame may be missing.
  func frame(damage: JPEGDecoder.DamagePolicy = .isAnError) throws -> Frame { try makeFrame(damage) }

  /// Returns this capture with `jpeg`, an equivalent JPEG of the picture. If the bytes are equal, returns the
  /// capture itself, sharing its memory.
  func with(_ jpeg: [UInt8], _ options: SourceOptions) -> Capture {
    guard jpeg != self.jpeg else { return self }
    var capture = Capture(
      jpeg: jpeg, timestamp: timestamp, skipped: skipped, options, memory: options.memory ?? FramePool())
    capture.sequence = sequence
    return capture
  }

  /// Returns this capture without the original JPEG or H.264 if those would show what masks hide.
  func hidden(_ options: SourceOptions) -> Capture {
    var capture = self
    if !options.showsJPEGs { capture.jpeg = nil }
    // Without a replay buffer, a capture has H.264 only if it may be shown.
    if options.replay != nil, !options.passesVideo || !options.showsVideo { capture.video = nil }
    return capture
  }

  /// Returns this capture, copied if it borrows memory of the device.
  func detached() throws -> Capture {
    guard isBorrowed else { return self }
    var frame = try frame()
    // A frame in the device's memory still borrows it.
    if frame.storage.memory?.isWritable == false {
      frame = try Frame(frame.format, bytes: frame.bytes, planes: frame.planes, iccProfile: frame.iccProfile)
    }
    return Capture(frame.with(timestamp: timestamp), skipped: skipped)
  }
}

/// The error for a picture that arrived damaged: a buffer with an error flag, a truncated part.
package struct DamagedCapture: MemoryShortage, CustomStringConvertible {
  package let description: String
  /// Whether decoding failed because the memory budget is exhausted.
  package var isOutOfMemory = false

  package init(_ description: String) { self.description = description }
}
