// Reads a video file or a stream picture by picture. Wraps FFmpeg's libraries in Swift values, and maps known
// errors to this library's messages.
internal import CAV
internal import Glibc

/// Stops a reader that waits for the network. May be used from any thread.
@safe final class VideoStop: Sendable {
  fileprivate nonisolated(unsafe) let handle = unsafe glp_av_stop_create()

  deinit { unsafe glp_av_stop_destroy(handle) }

  /// Stops the reader. This can't be undone: an open reader can then only be closed.
  func set() { unsafe glp_av_stop_set(handle) }
}

/// Reads one video. Blocks: use it on its own thread, from one caller at a time.
@safe final class VideoReader {
  private let handle: OpaquePointer
  private let stop: VideoStop?
  private let maximumPixels: Int
  private let memory: DecoderMemory

  /// FFmpeg's name for the codec: `h264`.
  let codec: String
  /// The rate from the container or the first picture; nil if unknown.
  var frameRate: FrameRate? {
    let facts = unsafe glp_av_reader_facts(handle)
    return FrameRate(numerator: Int(facts.rate_numerator), denominator: Int(facts.rate_denominator))
  }

  /// The most decoding threads. More have little effect, and each needs memory for its own pictures.
  private static let threads = CInt(min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 8))

  /// Opens a file. Its content can't make FFmpeg open another file or host.
  init(
    file path: String, maximumPixels: Int, within budget: MemoryBudget? = nil
  ) throws(VideoFailure) {
    var error = glp_av_error()
    let memory = DecoderMemory(budget)
    let opened = unsafe glp_av_open_file(path, Int64(maximumPixels), Self.threads, memory.inC, &error)
    guard let handle = unsafe opened else {
      throw VideoFailure(error, maximumPixels: maximumPixels)
    }
    unsafe self.handle = unsafe handle
    self.memory = memory
    stop = nil
    self.maximumPixels = maximumPixels
    codec = String(tuple: unsafe glp_av_reader_facts(handle).codec)
  }

  /// Connects to a server; `transport` is for RTSP. Fails soon after `stop` is set.
  init(
    stream url: String, over transport: SourceOptions.StreamTransport,
    redirects: SourceOptions.RedirectPolicy, maximumPixels: Int, within budget: MemoryBudget?,
    stop: VideoStop
  ) throws(VideoFailure) {
    var error = glp_av_error()
    let memory = DecoderMemory(budget)
    let opened = unsafe glp_av_open_stream(
      url, transport == .udp ? "udp" : "tcp", redirects.code, Int64(maximumPixels), Self.threads,
      memory.inC, stop.handle, &error)
    guard let handle = unsafe opened else {
      if error.status == GLP_AV_REDIRECTED {
        throw VideoFailure(.redirected, String(tuple: error.text))
      }
      throw VideoFailure(error, maximumPixels: maximumPixels)
    }
    unsafe self.handle = unsafe handle
    self.memory = memory
    self.stop = stop
    self.maximumPixels = maximumPixels
    codec = String(tuple: unsafe glp_av_reader_facts(handle).codec)
  }

  deinit { unsafe glp_av_close(handle) }

  func next() throws(VideoFailure) -> VideoPicture {
    var error = glp_av_error()
    guard let frame = unsafe glp_av_next(handle, &error) else {
      throw VideoFailure(error, maximumPixels: maximumPixels)
    }
    return unsafe VideoPicture(frame)
  }

  /// Waits for the next packet of a stream, which `decode` may decode.
  func read() throws(VideoFailure) -> VideoPacket {
    var error = glp_av_error()
    guard unsafe glp_av_read(handle, &error) else {
      throw VideoFailure(error, maximumPixels: maximumPixels)
    }
    let packet = unsafe glp_av_read_packet(handle)
    return unsafe VideoPacket(
      bytes: Array(UnsafeBufferPointer(start: packet.bytes, count: packet.count)),
      header: packet.header.map {
        unsafe Array(UnsafeBufferPointer(start: $0, count: packet.header_count))
      },
      mediaTime: packet.has_time ? .nanoseconds(packet.time) : nil, isDamaged: packet.is_damaged)
  }

  /// Decodes the packet that was read; returns nil if it does not yield a picture yet.
  func decode() throws(VideoFailure) -> VideoPicture? {
    var error = glp_av_error()
    if let frame = unsafe glp_av_decode(handle, &error) { return unsafe VideoPicture(frame) }
    guard error.status == GLP_AV_OK else { throw VideoFailure(error, maximumPixels: maximumPixels) }
    return nil
  }

  /// The codec header from the container.
  var header: [UInt8] {
    var (bytes, count): (UnsafePointer<UInt8>?, Int) = (nil, 0)
    unsafe glp_av_header(handle, &bytes, &count)
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  }

  func rewind() throws(VideoFailure) {
    var error = glp_av_error()
    guard unsafe glp_av_rewind(handle, &error) else {
      throw VideoFailure(error, maximumPixels: maximumPixels)
    }
  }

  /// The arrival time and the timestamp of the last packet; nil if it has no timestamp.
  var lastPacket: (arrived: CaptureInstant, mediaTime: Duration)? {
    var (arrived, mediaTime): (Int64, Int64) = (0, 0)
    guard unsafe glp_av_last_packet(handle, &arrived, &mediaTime) else { return nil }
    return (CaptureInstant(sinceStart: .nanoseconds(arrived)), .nanoseconds(mediaTime))
  }
}

/// A packet of a stream.
struct VideoPacket: Sendable {
  let bytes: [UInt8]
  /// A new header that replaces the reader's first one; nil if there is none.
  let header: [UInt8]?
  /// The time measured by the stream's own clock; nil if it has none.
  let mediaTime: Duration?
  /// Whether it arrived incomplete, or packets before it are missing.
  let isDamaged: Bool
}

extension SourceOptions.RedirectPolicy {
  fileprivate var code: glp_av_redirects {
    switch self {
    case .sameHost: GLP_AV_SAME_HOST
    case .any: GLP_AV_ANY_HOST
    case .none: GLP_AV_NO_REDIRECTS
    }
  }
}

/// The reason why a video can't be opened, or why its next picture can't be read.
struct VideoFailure: MemoryShortage, CustomStringConvertible {
  enum Kind {
    case noLibraries
    case interrupted
    case unknownFormat
    /// A picture is damaged; the next one can be requested.
    case damaged
    case ended
    case noTransport
    /// The server redirects to a host that must not be followed. The description is the host's name.
    case redirected
    /// The memory budget is exhausted at the moment.
    case noRoom
    case failed
  }

  let kind: Kind
  let description: String

  var isOutOfMemory: Bool { kind == .noRoom }

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ error: glp_av_error, maximumPixels: Int) {
    let words = String(tuple: error.text)
    let size = Size(width: Int(error.width), height: Int(error.height))
    self =
      switch error.status {
      case GLP_AV_NO_LIBRARIES: VideoFailure(.noLibraries, words)
      case GLP_AV_INTERRUPTED: VideoFailure(.interrupted, "was interrupted")
      case GLP_AV_NO_ROOM: VideoFailure(.noRoom, MemoryBudget.Exceeded().description)
      case GLP_AV_NO_MEMORY: VideoFailure(.failed, "not enough memory")
      case GLP_AV_UNKNOWN_FORMAT: VideoFailure(.unknownFormat, "is not a video")
      case GLP_AV_INVALID: VideoFailure(.failed, "is not valid: \(words)")
      case GLP_AV_NO_VIDEO: VideoFailure(.failed, "has no video")
      case GLP_AV_NO_DECODER: VideoFailure(.failed, "no decoder for its \(words) video")
      case GLP_AV_TOO_LARGE:
        VideoFailure(.failed, size.refusal(maximumPixels: maximumPixels) ?? "\(size) is too large")
      case GLP_AV_REFUSED: VideoFailure(.failed, "connection refused")
      case GLP_AV_UNAUTHORIZED:
        VideoFailure(.failed, "requires a user and a password, or rejects these (401)")
      case GLP_AV_FORBIDDEN: VideoFailure(.failed, "is forbidden (403)")
      case GLP_AV_NOT_FOUND: VideoFailure(.failed, "the server has no such stream (404)")
      case GLP_AV_TIMED_OUT: VideoFailure(.failed, "connection timed out")
      case GLP_AV_HOST_UNKNOWN: VideoFailure(.failed, "no such host")
      case GLP_AV_NO_TRANSPORT: VideoFailure(.noTransport, "the server does not send over this transport")
      case GLP_AV_DAMAGED: VideoFailure(.damaged, words)
      case GLP_AV_CUT_SHORT: VideoFailure(.damaged, "is cut short")
      case GLP_AV_ENDED: VideoFailure(.ended, "the stream has ended")
      default: VideoFailure(.failed, words)
      }
  }
}
