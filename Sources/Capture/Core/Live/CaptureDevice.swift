// The protocols behind every live source: a device that can be connected to repeatedly, and one connection at a time.
// Cameras, servers and pipes differ only in these two; LiveSource holds everything that they share.

/// A camera or a stream. `LiveSource` connects to it again whenever the connection is lost.
package protocol CaptureDevice: Sendable {
  /// The name as typed, for messages; without passwords.
  var name: String { get }

  /// Words that messages must not contain, such as a password.
  var secrets: [String] { get }

  /// The longest pause between two attempts to connect; short if an attempt costs nothing.
  var longestPause: Duration { get }

  /// Whether a connection that is silent for long is made again; false if only the other side can help.
  var reconnectsWhenSilent: Bool { get }

  /// Connects until the mode is known; no picture needs to have arrived.
  ///
  /// Never blocks a thread of Swift's pool. Returns within half a second after the task is cancelled. Leaves nothing
  /// open if it throws.
  ///
  /// - Throws: `SourceError`: `.badRequest` if no retry can succeed; `CancellationError`.
  func connect() async throws -> any CaptureConnection
}

extension CaptureDevice {
  package var secrets: [String] { [] }
  package var longestPause: Duration { .seconds(10) }
  package var reconnectsWhenSilent: Bool { true }
}

/// One connection. Pictures are requested one at a time.
package protocol CaptureConnection: Sendable {
  /// What is delivered, for display and logs; may change during the connection.
  var mode: SourceStatus.Mode { get async }

  /// Waits for the next picture; nil if the stream has ended for good, such as a pipe whose writer has closed it.
  ///
  /// Returns within half a second after the task is cancelled.
  ///
  /// - Throws: `DamagedCapture` if pictures arrived damaged and the next one can be requested; `SourceError` if the
  ///   connection is lost; `CancellationError`.
  func next() async throws -> Capture?

  /// Closes the connection and releases descriptors, memory and threads within half a second. Called once.
  func close() async
}

/// A captured picture. JPEGs are decoded, and driver buffers copied, only when the frame is requested.
package struct Capture: Sendable {
  /// The time of capture, or of arrival if the source does not report it.
  package let timestamp: CaptureInstant
  /// The number of pictures after the previous one and before this one that never arrived.
  package var skipped = 0
  /// Its number among all captures of the source, once it is in the queue.
  var sequence = 0
  /// Its size in memory while it waits.
  package let byteCount: Int
  /// Whether it holds memory of the device until it is released. A queue of several captures copies it first.
  package var isBorrowed = false
  /// The picture as received, if that is a JPEG, without what stood before it.
  package var jpeg: [UInt8]?
  /// The picture among those of a camera's own H.264, if that can be sent on. Its frame is decoded from the last key picture
  /// on.
  package var video: PassableVideo.Place?
  /// Opens a decoder for H.264 of the same stream, apart from `makeFrame`.
  package var openDecoder: (@Sendable () -> any KeptDecoder)?
  /// Makes the frame on any thread; its sequence and time are set afterwards.
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
  /// A JPEG, decoded as `options` say when its frame is requested. What stands before it is left out.
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

  /// A JPEG or a PNG.
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

  /// Decodes or copies the frame. With damage `.isTolerated`, parts of it may be missing.
  func frame(damage: JPEGDecoder.DamagePolicy = .isAnError) throws -> Frame { try makeFrame(damage) }

  /// The same capture with a JPEG of the same picture. If nothing was changed in it, it is the same in memory too.
  func with(_ jpeg: [UInt8], _ options: SourceOptions) -> Capture {
    guard jpeg != self.jpeg else { return self }
    var capture = Capture(
      jpeg: jpeg, timestamp: timestamp, skipped: skipped, options, memory: options.memory ?? FramePool())
    capture.sequence = sequence
    return capture
  }

  /// The same capture without the JPEG or the H.264 as received if that shows what masks hide.
  func hidden(_ options: SourceOptions) -> Capture {
    var capture = self
    if !options.showsJPEGs { capture.jpeg = nil }
    // Others have H.264 only if it may be shown.
    if options.replay != nil, !options.passesVideo || !options.showsVideo { capture.video = nil }
    return capture
  }

  /// The same capture without memory of the device.
  func detached() throws -> Capture {
    guard isBorrowed else { return self }
    return Capture(try frame().with(timestamp: timestamp), skipped: skipped)
  }
}

/// The error for a picture that arrived damaged: a buffer with an error flag, a truncated part.
package struct DamagedCapture: MemoryShortage, CustomStringConvertible {
  package let description: String
  /// Whether it could not be decoded because the memory budget has no room.
  package var isOutOfMemory = false

  package init(_ description: String) { self.description = description }
}
