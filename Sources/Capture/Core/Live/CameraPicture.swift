// A camera's picture on its way to readers: samples, or a JPEG or H.264 as the camera sent it, which is decoded only if a reader
// needs samples.

package struct CameraPicture: Sendable {
  package enum Content: Sendable {
    case samples(Frame)
    case jpeg(PassableJPEG)
    case h264(PassableVideo.Place)
  }

  package let content: Content
  /// As of `Frame`.
  package var sequence: Int
  package let timestamp: CaptureInstant
  /// The part of the memory budget that a JPEG holds.
  var lease: MemoryLease?
  /// Decodes it: nil if it can't be shown. Throws as the source's `nextFrame` does.
  let decode: @Sendable () async throws -> Frame?

  /// The size as seen, in which crops are.
  package var size: Size {
    switch content {
    case .samples(let frame): frame.format.uprightSize
    case .jpeg(let jpeg): jpeg.size
    case .h264(let place): place.size
    }
  }

  /// Its frame, with its number; nil if it is damaged.
  package func frame() async throws -> Frame? { try await decode()?.with(sequence: sequence) }

  /// The frame of a JPEG at the least size that these views need; nil for anything else.
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
