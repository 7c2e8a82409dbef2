// A live source's next picture: a frame, or a picture that is sent on as it came, and decoded only if somebody needs its
// samples.
internal import PreviewCore

enum LivePicture: Sendable {
  case frame(Frame)
  case encoded(EncodedLivePicture)
}

/// A picture as its camera sent it, and the way to its frame.
struct EncodedLivePicture: Sendable {
  enum Content: Sendable {
    case jpeg(PassableJPEG)
    case h264(PassableVideo.Place)
  }

  let content: Content
  /// As of `Frame`.
  var sequence: Int
  let timestamp: CaptureInstant
  /// The part of the memory budget that it holds.
  let lease: MemoryLease?
  /// Decodes it: nil if it can't be shown. Throws as the source's `nextFrame` does.
  let makeFrame: @Sendable () async throws -> Frame?

  /// The size as seen.
  var size: Size {
    switch content {
    case .jpeg(let jpeg): jpeg.size
    case .h264(let place): place.size
    }
  }

  /// Its frame, with its number; nil if it is damaged.
  func frame() async throws -> Frame? { try await makeFrame()?.with(sequence: sequence) }

  /// The frame of a JPEG at the least size that these views need; nil for anything else.
  func frame(
    reducedFor views: [ViewRequest], _ options: SourceOptions, memory: FramePool
  ) async throws -> Frame? {
    guard case .jpeg(let jpeg) = content else { return nil }
    let frame = try await Task(executorPreference: DecodingQueue.shared) {
      try JPEGDecoder.decode(
        jpeg.bytes, maximumPixels: options.maximumPixels, decoding: .fast(for: views),
        until: options.decodingDeadline, memory: memory)
    }.value
    return frame.with(sequence: sequence, timestamp: timestamp)
  }
}

extension LivePicture {
  var sequence: Int {
    switch self {
    case .frame(let frame): frame.sequence
    case .encoded(let picture): picture.sequence
    }
  }

  /// The size as seen, in which crops are.
  var seenSize: Size {
    switch self {
    case .frame(let frame): frame.format.uprightSize
    case .encoded(let picture): picture.size
    }
  }

  var timestamp: CaptureInstant {
    switch self {
    case .frame(let frame): frame.timestamp
    case .encoded(let picture): picture.timestamp
    }
  }

  func with(sequence: Int) -> LivePicture {
    switch self {
    case .frame(let frame): return .frame(frame.with(sequence: sequence))
    case .encoded(var picture):
      picture.sequence = sequence
      return .encoded(picture)
    }
  }
}
