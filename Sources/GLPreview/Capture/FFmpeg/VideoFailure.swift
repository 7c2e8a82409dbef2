// FFmpeg's errors, with this library's messages if it has one for them.
#if FFmpeg
  internal import CAV
  internal import PreviewCore

  /// Why a video can't be opened, or its next picture can't be read.
  struct VideoFailure: Error, CustomStringConvertible {
    /// The kind of failure, which tells the caller how to react.
    enum Kind {
      /// FFmpeg's libraries are not installed.
      case noLibraries
      /// The call was interrupted.
      case interrupted
      /// Not a video in a supported format.
      case unknownFormat
      /// A picture is damaged; the next one can be requested.
      case damaged
      /// All pictures have been read.
      case ended
      /// The server does not send over this transport.
      case noTransport
      /// Anything else.
      case failed
    }

    let kind: Kind
    /// The message, in one line.
    let description: String

    init(_ kind: Kind, _ description: String) {
      self.kind = kind
      self.description = description
    }

    /// Converts an error of FFmpeg.
    init(_ error: glp_av_error, maximumPixels: Int) {
      let words = text(of: error.text)
      let size = Size(width: Int(error.width), height: Int(error.height))
      self =
        switch error.status {
        case GLP_AV_NO_LIBRARIES: VideoFailure(.noLibraries, words)
        case GLP_AV_INTERRUPTED: VideoFailure(.interrupted, "was interrupted")
        case GLP_AV_NO_MEMORY: VideoFailure(.failed, "not enough memory")
        case GLP_AV_UNKNOWN_FORMAT: VideoFailure(.unknownFormat, "is no video")
        case GLP_AV_INVALID: VideoFailure(.failed, "makes no sense: \(words)")
        case GLP_AV_NO_VIDEO: VideoFailure(.failed, "has no video")
        case GLP_AV_NO_DECODER: VideoFailure(.failed, "there is no decoder for its \(words) video")
        case GLP_AV_TOO_LARGE:
          VideoFailure(.failed, size.refusal(maximumPixels: maximumPixels) ?? "\(size) is too large")
        case GLP_AV_REFUSED: VideoFailure(.failed, "connection refused")
        case GLP_AV_UNAUTHORIZED:
          VideoFailure(.failed, "requires a user and password, or other ones (401)")
        case GLP_AV_FORBIDDEN: VideoFailure(.failed, "is forbidden (403)")
        case GLP_AV_NOT_FOUND: VideoFailure(.failed, "the server has no such stream (404)")
        case GLP_AV_TIMED_OUT: VideoFailure(.failed, "connection timed out")
        case GLP_AV_HOST_UNKNOWN: VideoFailure(.failed, "host not found")
        case GLP_AV_NO_TRANSPORT: VideoFailure(.noTransport, "the server does not send over this transport")
        case GLP_AV_DAMAGED: VideoFailure(.damaged, words)
        case GLP_AV_CUT_SHORT: VideoFailure(.damaged, "is cut short")
        case GLP_AV_ENDED: VideoFailure(.ended, "the stream has ended")
        default: VideoFailure(.failed, words)
        }
    }
  }

  /// The text in a C array of characters, which Swift imports as a tuple.
  func text(of characters: some BitwiseCopyable) -> String {
    unsafe withUnsafeBytes(of: characters) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
#endif
