// Adds a live source's captures to its replay buffer: as they arrived, before anything is masked, decoded or
// dropped.

extension ReplayBuffer {
  /// Buffers a capture: a JPEG or H.264 by reference, otherwise a copy of the samples. Returns the capture
  /// for further use; a borrowed one may have been copied by then.
  func keep(_ capture: Capture) -> Capture {
    let isEncoded = capture.jpeg != nil || capture.video != nil
    let number = admit(
      skipped: capture.skipped, at: capture.timestamp, rawBytes: isEncoded ? nil : capture.byteCount)
    guard let number else { return capture }
    if let jpeg = capture.jpeg {
      // The array's capacity may be larger than its contents.
      put(
        Entry(
          sequence: number, content: .jpeg(jpeg) { try capture.frame() },
          timestamp: capture.timestamp, byteCount: jpeg.capacity))
      return capture
    }
    if let sample = capture.video?.sample, let open = capture.openDecoder {
      put(
        Entry(
          sequence: number, content: .h264(sample, openDecoder: open),
          timestamp: capture.timestamp, byteCount: sample.bytes.capacity,
          isKey: sample.isKey))
      return capture
    }
    // Frames that can't be decoded, or for which there is no memory, are not buffered. The reader reports the
    // error.
    guard !isEncoded, let capture = try? capture.detached(), let frame = try? capture.frame(),
      let kept = try? Frame(
        frame.format, bytes: frame.bytes, planes: frame.planes, iccProfile: frame.iccProfile)
    else { return capture }
    put(
      Entry(
        sequence: number, content: .frame(kept), timestamp: capture.timestamp,
        byteCount: kept.storage.count))
    return capture
  }
}

extension CameraPicture {
  /// Wraps a buffered JPEG; nil if it can't be passed through.
  package init?(_ entry: ReplayBuffer.Entry, _ options: SourceOptions) {
    guard options.showsJPEGs, case .jpeg(let jpeg, _) = entry.content,
      let passable = try? OriginalJPEG(checking: jpeg, maximumPixels: options.maximumPixels)
    else { return nil }
    self.init(content: .jpeg(passable), sequence: entry.sequence, timestamp: entry.timestamp) { nil }
  }
}
