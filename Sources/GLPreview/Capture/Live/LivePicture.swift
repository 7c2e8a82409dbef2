// A live source's next picture: a frame, or a JPEG that is sent on as it is, and decoded only if somebody needs its
// samples.
internal import PreviewCore

enum LivePicture: Sendable {
  case frame(Frame)
  case jpeg(LiveJPEG)
}

/// A JPEG as its camera sent it, and the way to its frame.
struct LiveJPEG: Sendable {
  let jpeg: PassableJPEG
  /// As of `Frame`.
  var sequence: Int
  let timestamp: CaptureInstant
  /// The part of the memory budget that it holds.
  let lease: MemoryLease?
  /// Decodes it: nil if it can't be shown. Throws as the source's `nextFrame` does.
  let makeFrame: @Sendable () async throws -> Frame?

  /// Its frame, with its number; nil if it is damaged.
  func frame() async throws -> Frame? { try await makeFrame()?.with(sequence: sequence) }
}

extension LivePicture {
  var sequence: Int {
    switch self {
    case .frame(let frame): frame.sequence
    case .jpeg(let jpeg): jpeg.sequence
    }
  }

  /// The size as seen, in which crops are.
  var seenSize: Size {
    switch self {
    case .frame(let frame): frame.format.uprightSize
    case .jpeg(let jpeg): jpeg.jpeg.size
    }
  }

  var timestamp: CaptureInstant {
    switch self {
    case .frame(let frame): frame.timestamp
    case .jpeg(let jpeg): jpeg.timestamp
    }
  }

  func with(sequence: Int) -> LivePicture {
    switch self {
    case .frame(let frame): return .frame(frame.with(sequence: sequence))
    case .jpeg(var jpeg):
      jpeg.sequence = sequence
      return .jpeg(jpeg)
    }
  }
}
