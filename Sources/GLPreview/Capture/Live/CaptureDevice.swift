// What every live source is made of: a way to a camera that can be taken again, and one connection at a time along it.
// Cameras, servers and pipes differ in these two protocols only; all that they share is LiveSource's.
internal import PreviewCore

/// A way to a camera or a stream. `LiveSource` takes it again whenever the connection is lost.
protocol CaptureDevice: Sendable {
  /// What the user called it, for messages; without passwords.
  var name: String { get }

  /// Words that no message repeats, such as a password.
  var secrets: [String] { get }

  /// The longest pause between two attempts to connect: short where trying costs nothing.
  var longestPause: Duration { get }

  /// Whether a connection that has been silent for long is made anew; false where only the other side can help.
  var reconnectsWhenSilent: Bool { get }

  /// Connects, as far as what will be delivered is known; pictures need not be there yet.
  ///
  /// Never blocks a thread of Swift's pool. Ends within half a second once the task is cancelled, and leaves nothing
  /// open where it throws.
  ///
  /// - Throws: `SourceError`: `.badRequest` where no later attempt can go better; `CancellationError`.
  func connect() async throws -> any CaptureConnection
}

extension CaptureDevice {
  var secrets: [String] { [] }
  var longestPause: Duration { .seconds(10) }
  var reconnectsWhenSilent: Bool { true }
}

/// One connection. Asked for one picture at a time.
protocol CaptureConnection: Sendable {
  /// What is delivered, for people and logs; may change while it runs.
  var mode: CaptureMode { get async }

  /// Waits for the next picture; nil where the stream is over for good: a pipe whose writer is done.
  ///
  /// Ends within half a second once the task is cancelled.
  ///
  /// - Throws: `DamagedCapture` where pictures arrived broken, and the next may be asked for; `SourceError` where the
  ///   connection is lost; `CancellationError`.
  func next() async throws -> Capture?

  /// Ends the connection and gives back descriptors, memory and threads, within half a second. Called once.
  func close() async
}

/// A picture as it was captured. JPEGs are decoded, and a driver's buffers copied, only for who asks for the frame.
struct Capture: Sendable {
  /// When it was captured, or where the source can't tell, received; by `CaptureClock`.
  let timestamp: Duration
  /// Pictures that were made before this one, after the one before, and never reached us.
  let skipped: Int
  /// What it takes while it waits.
  let byteCount: Int
  /// Whether memory of the device's is held until the capture is gone: such a one is not kept waiting in number.
  let isBorrowed: Bool
  /// The picture as it came, where that is a JPEG.
  let jpeg: [UInt8]?
  private let makeFrame: @Sendable (JPEGDecoder.DamagePolicy) throws -> Frame

  /// `makeFrame` makes the frame, on whatever thread it is called; its sequence and time are set afterwards.
  init(
    timestamp: Duration, skipped: Int = 0, byteCount: Int, isBorrowed: Bool = false, jpeg: [UInt8]? = nil,
    makeFrame: @escaping @Sendable (JPEGDecoder.DamagePolicy) throws -> Frame
  ) {
    self.timestamp = timestamp
    self.skipped = skipped
    self.byteCount = byteCount
    self.isBorrowed = isBorrowed
    self.jpeg = jpeg
    self.makeFrame = makeFrame
  }

  /// A JPEG, decoded when its frame is asked for; `options` say how.
  init(jpeg: [UInt8], timestamp: Duration, skipped: Int = 0, _ options: SourceOptions, memory: FramePool) {
    self.init(timestamp: timestamp, skipped: skipped, byteCount: jpeg.count, jpeg: jpeg) { damage in
      try JPEGDecoder.decode(
        jpeg, maximumPixels: options.maximumPixels, damage: damage, decoding: options.decoding,
        until: options.decodingDeadline, memory: memory)
    }
  }

  /// A frame that is there already.
  init(_ frame: Frame, skipped: Int = 0) {
    self.init(timestamp: frame.timestamp, skipped: skipped, byteCount: frame.storage.count) { _ in frame }
  }

  /// Its frame; decodes or copies it. Of a capture with damage `.isTolerated` also where a part is missing.
  func frame(damage: JPEGDecoder.DamagePolicy = .isAnError) throws -> Frame { try makeFrame(damage) }

  /// The same, but for its frame alone: the picture as it came shows what masks hide.
  func withoutJPEG() -> Capture {
    Capture(
      timestamp: timestamp, skipped: skipped, byteCount: byteCount, isBorrowed: isBorrowed,
      makeFrame: makeFrame)
  }

  /// The same without memory of the device's.
  func detached() throws -> Capture {
    guard isBorrowed else { return self }
    return Capture(try frame().with(timestamp: timestamp), skipped: skipped)
  }
}

/// Pictures that arrived, but broken: a buffer with an error flag, a part that is cut short.
struct DamagedCapture: Error, CustomStringConvertible {
  /// How many.
  let count: Int
  /// Why, in one line.
  let description: String

  init(_ description: String, count: Int = 1) {
    self.count = count
    self.description = description
  }
}
