// A video file or a connection to a server, picture by picture: FFmpeg's libraries behind Swift values.
#if FFmpeg
  internal import CAV
  internal import Glibc
  internal import PreviewCore

  /// Stops a reader that waits for the network, from wherever.
  @safe final class VideoStop: Sendable {
    fileprivate nonisolated(unsafe) let handle = unsafe glp_av_stop_create()

    deinit { unsafe glp_av_stop_destroy(handle) }

    /// For good: what is open can only be closed then.
    func set() { unsafe glp_av_stop_set(handle) }
  }

  /// Reads one video. Blocks: used on a thread of its own, by one at a time.
  @safe final class VideoReader {
    private let handle: OpaquePointer
    private let stop: VideoStop?
    private let maximumPixels: Int

    /// FFmpeg's name of the codec: `h264`.
    let codec: String
    /// As the container tells it, or the first picture.
    var frameRate: FrameRate? {
      let facts = unsafe glp_av_reader_facts(handle)
      return FrameRate(numerator: Int(facts.rate_numerator), denominator: Int(facts.rate_denominator))
    }

    /// What decodes at the same time, at most: more is of little use, and each takes memory for pictures of its own.
    private static let threads = CInt(min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 8))

    /// Opens a file. What it says can't make it open any other file or host.
    init(file path: String, maximumPixels: Int) throws(VideoFailure) {
      var error = glp_av_error()
      guard let handle = unsafe glp_av_open_file(path, Int64(maximumPixels), Self.threads, &error) else {
        throw VideoFailure(error, maximumPixels: maximumPixels)
      }
      unsafe self.handle = unsafe handle
      stop = nil
      self.maximumPixels = maximumPixels
      codec = text(of: unsafe glp_av_reader_facts(handle).codec)
    }

    /// Connects to a server; `transport` is RTSP's. Ends soon after `stop` is set.
    init(
      stream url: String, over transport: StreamTransport, redirects: RedirectPolicy, maximumPixels: Int,
      stop: VideoStop
    ) throws(VideoFailure) {
      var error = glp_av_error()
      let opened = unsafe glp_av_open_stream(
        url, transport == .udp ? "udp" : "tcp", redirects.code, Int64(maximumPixels), Self.threads,
        stop.handle,
        &error)
      guard let handle = unsafe opened else {
        if error.status == GLP_AV_REDIRECTED,
          let refusal = redirects.refusal(from: "", to: text(of: error.text))
        {
          throw VideoFailure(.failed, refusal)
        }
        throw VideoFailure(error, maximumPixels: maximumPixels)
      }
      unsafe self.handle = unsafe handle
      self.stop = stop
      self.maximumPixels = maximumPixels
      codec = text(of: unsafe glp_av_reader_facts(handle).codec)
    }

    deinit { unsafe glp_av_close(handle) }

    /// Waits for the next picture.
    func next() throws(VideoFailure) -> VideoPicture {
      var error = glp_av_error()
      guard let frame = unsafe glp_av_next(handle, &error) else {
        throw VideoFailure(error, maximumPixels: maximumPixels)
      }
      return unsafe VideoPicture(frame)
    }

    /// A file begins again.
    func rewind() throws(VideoFailure) {
      var error = glp_av_error()
      guard unsafe glp_av_rewind(handle, &error) else {
        throw VideoFailure(error, maximumPixels: maximumPixels)
      }
    }

    /// When the last packet came, by `CaptureClock`, and the time that it says of itself; nil where it says none.
    var lastPacket: (arrived: Duration, says: Duration)? {
      var (arrived, says): (Int64, Int64) = (0, 0)
      guard unsafe glp_av_last_packet(handle, &arrived, &says) else { return nil }
      return (.nanoseconds(arrived), .nanoseconds(says))
    }
  }

  extension RedirectPolicy {
    fileprivate var code: glp_av_redirects {
      switch self {
      case .sameHost: GLP_AV_SAME_HOST
      case .any: GLP_AV_ANY_HOST
      case .none: GLP_AV_NO_REDIRECTS
      }
    }
  }
#endif
