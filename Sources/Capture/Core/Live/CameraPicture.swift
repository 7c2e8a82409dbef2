// A camera's picture on its way to readers: samples, or the original JPEG or H.264, which is decoded only if
// a reader needs samples.

package struct CameraPicture: Sendable {
  package enum Content: Sendable {
    case samples(Frame)
    case jpeg(OriginalJPEG)
    case h264(OriginalVideo.Place)
  }

  package let content: Content
  /// The number of the picture, as in `Frame`.
  package var sequence: Int
  package let timestamp: CaptureInstant
  /// The part of the memory budget that is reserved for a JPEG.
  var lease: MemoryLease?
  /// Decodes the picture: nil if it can't be shown. Throws like the source's `nextFrame`.
  let decode: @Sendable () async throws -> Frame?

  /// The upright size, to which crops refer.
  package var size: Size {
    switch content {
    case .samples(let frame): frame.format.uprightSize
    case .jpeg(let jpeg): jpeg.size
    case .h264(let place): place.size
    }
  }

  /// Returns the decoded frame with its number; nil if the picture is damaged.
  package func frame() async throws -> Frame? { try await decode()?.with(sequence: sequence) }

  /// Decodes a JPEG at the smallest size that these views need; nil for anything else.
  package func frame(
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

extension CameraPicture {
  package init(_ frame: Frame) {
    self.init(content: .samples(frame), sequence: frame.sequence, timestamp: frame.timestamp) { frame }
  }
}
