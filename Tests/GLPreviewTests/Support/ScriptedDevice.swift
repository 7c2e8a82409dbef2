// A camera that does what a test says.
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview

#if FFmpeg
  @testable import CaptureFFmpeg
#endif

/// What a scripted connection does next.
enum CameraAct: Sendable {
  /// A grey 2x2 picture of this code.
  case picture(UInt8, skipped: Int = 0)
  /// A JPEG. One that is damaged is a frame only where damage is tolerated.
  case jpeg([UInt8], isDamaged: Bool = false)
  /// A packet of H.264, a byte stream. Where it has to be decoded, a frame of this code comes of it; nil is damage.
  case packet([UInt8], isDamaged: Bool = false, decoded: UInt8? = nil)
  /// A picture whose frame can't be made.
  case unreadable
  /// A picture that arrives broken.
  case damaged
  case lost(String)
  /// The stream is over for good.
  case end
}

/// Each connection plays one list of acts; what is not played yet comes when the test says so. After its acts it is silent.
final class ScriptedDevice: CaptureDevice {
  let name = "camera"
  let longestPause: Duration
  /// Tells how often a picture has been asked for, each time.
  let requests: AsyncStream<Int>
  /// Tells of each connection that is closed.
  let closes: AsyncStream<Void>
  /// Whether the last attempt is made again and again.
  private let isEndless: Bool
  private let requested: AsyncStream<Int>.Continuation
  private let closed: AsyncStream<Void>.Continuation
  private let state: Mutex<State>

  struct State: Sendable {
    var attempts: [Result<[CameraAct], SourceError>]
    var attemptCount = 0
    var openCount = 0
    var closeCount = 0
    var requestCount = 0
    var current: ScriptedConnection?
    /// Acts for the first connection, after its own.
    var waiting: [CameraAct] = []
  }

  /// When all `attempts` are used up, connecting waits until it is cancelled, unless the last one is endless.
  init(
    _ attempts: [Result<[CameraAct], SourceError>], isEndless: Bool = false,
    longestPause: Duration = .milliseconds(1)
  ) {
    self.isEndless = isEndless
    state = Mutex(State(attempts: attempts))
    (requests, requested) = AsyncStream.makeStream()
    (closes, closed) = AsyncStream.makeStream()
    self.longestPause = longestPause
  }

  convenience init(_ acts: CameraAct...) { self.init([.success(acts)]) }

  var counts: (attempts: Int, open: Int, closed: Int) {
    state.withLock { ($0.attemptCount, $0.openCount, $0.closeCount) }
  }

  /// Waits until a picture has been asked for so often: all before the last are delivered.
  func requested(_ count: Int) async { for await number in requests where number >= count { return } }

  /// Adds acts to the connection that is open.
  func play(_ acts: CameraAct...) { state.withLock { $0.current }?.play(acts) }

  /// The same, or to the first one that will be open.
  func playWhenOpen(_ acts: CameraAct...) {
    state.withLock { state in
      if let current = state.current { current.play(acts) } else { state.waiting += acts }
    }
  }

  /// Lets it be connected once more, to play these acts.
  func connectAgain(_ acts: CameraAct...) { state.withLock { $0.attempts.append(.success(acts)) } }

  func connect() async throws -> any CaptureConnection {
    let attempt = state.withLock { state -> Result<[CameraAct], SourceError>? in
      state.attemptCount += 1
      if isEndless, state.attempts.count == 1 { return state.attempts[0] }
      return state.attempts.isEmpty ? nil : state.attempts.removeFirst()
    }
    guard let attempt else {
      try await pause(allTheTimeThereIs)
      throw CancellationError()
    }
    let connection = ScriptedConnection {
      self.requested.yield(
        self.state.withLock { state in
          state.requestCount += 1
          return state.requestCount
        })
    } onClose: {
      self.state.withLock { $0.closeCount += 1 }
      self.closed.yield()
    }
    connection.play(try attempt.get())
    state.withLock { state in
      state.openCount += 1
      state.current = connection
      connection.play(state.waiting)
      state.waiting = []
    }
    return connection
  }
}

final class ScriptedConnection: CaptureConnection {
  private let acts: AsyncStream<CameraAct>
  private let input: AsyncStream<CameraAct>.Continuation
  private let onRequest: @Sendable () -> Void
  private let onClose: @Sendable () -> Void
  #if FFmpeg
    private let passing = Mutex(StreamPassthrough([], SourceOptions()))
  #endif

  init(onRequest: @escaping @Sendable () -> Void, onClose: @escaping @Sendable () -> Void) {
    (acts, input) = AsyncStream.makeStream()
    self.onRequest = onRequest
    self.onClose = onClose
  }

  var mode: SourceStatus.Mode { SourceStatus.Mode(format: "GREY", transport: "script") }

  func play(_ acts: [CameraAct]) { for act in acts { input.yield(act) } }

  func next() async throws -> Capture? {
    onRequest()
    var acts = acts.makeAsyncIterator()
    switch await acts.next() {
    case .picture(let code, let skipped):
      let frame = try Frame(
        tight: Frame.Format(.grey, Size(width: 2, height: 2), color: .jfif),
        bytes: [UInt8](repeating: code, count: 4), timestamp: CaptureClock.now)
      return Capture(frame, skipped: skipped)
    case .jpeg(let bytes, let isDamaged):
      return Capture(timestamp: CaptureClock.now, byteCount: bytes.count, jpeg: bytes) { damage in
        if isDamaged, damage == .isAnError { throw CodecError(.damaged, "JPEG is damaged") }
        return try JPEGDecoder.decode(bytes, maximumPixels: 1 << 20)
      }
    case .packet(let bytes, let isDamaged, let decoded): return try capture(bytes, isDamaged, decoded)
    case .unreadable:
      return Capture(timestamp: CaptureClock.now, byteCount: 4) { _ in
        throw CodecError(.damaged, "JPEG is damaged")
      }
    case .damaged: throw DamagedCapture("buffer with an error")
    case .lost(let reason): throw SourceError(.unavailable, path: "camera", reason: reason)
    case .end: return nil
    case nil: throw CancellationError()
    }
  }

  private func capture(_ bytes: [UInt8], _ isDamaged: Bool, _ decoded: UInt8?) throws -> Capture {
    #if FFmpeg
      let packet = VideoPacket(bytes: bytes, header: nil, mediaTime: nil, isDamaged: isDamaged)
      let verdict = passing.withLock { $0.take(packet, timestamp: CaptureClock.now) }
      if case .capture(let capture) = verdict { return capture }
    #endif
    guard let decoded else { throw DamagedCapture("a picture depends on one that is missing") }
    return Capture(
      try Frame(
        tight: Frame.Format(.grey, Size(width: 16, height: 16), color: .jfif),
        bytes: [UInt8](repeating: decoded, count: 256), timestamp: CaptureClock.now))
  }

  func close() async { onClose() }
}

extension LiveOptions {
  /// Those of a source that is never stalled and never given up, however slow the machine is, unless told.
  static func patient(
    _ delivery: Delivery = .newest, stallsAfter: Duration = allTheTimeThereIs,
    reconnectsAfter: Duration = allTheTimeThereIs, givesUpAfter: Duration? = nil
  ) -> LiveOptions {
    LiveOptions(
      delivery: delivery, stallsAfter: stallsAfter, reconnectsAfter: reconnectsAfter,
      connectsWithin: allTheTimeThereIs, givesUpAfter: givesUpAfter)
  }
}

extension LiveSource {
  convenience init(_ device: ScriptedDevice, _ live: LiveOptions = .patient()) {
    var options = SourceOptions()
    options.live = live
    self.init(device as any CaptureDevice, options)
  }

  /// Waits until its status is as `body` wants it.
  func status(where body: (SourceStatus) -> Bool) async -> SourceStatus? {
    for await status in statuses where body(status) { return status }
    return nil
  }
}

extension Frame {
  var code: UInt8? { bytes.first }
}
