// Stills: a camera is switched to its largest size for one frame, and back.
internal import PreviewCore

extension SourceFeed {
  /// One frame in the camera's largest size; the previews pause meanwhile, and then go on. Of a source that has no choice,
  /// the next frame.
  ///
  /// - Parameters:
  ///   - settling: frames that are passed over first, for the camera to find its exposure.
  ///   - limit: how long it may take.
  /// - Returns: the frame, or what stands in for it; nil where there is none any more.
  /// - Throws: `SourceError` where the camera gives none, or is busy with another still.
  func still(settling: Int, within limit: Duration) async throws -> FeedEvent? {
    guard source.origin.hasSizes, isOn else { return try await frame(capturedAt: CaptureClock.now) }
    // Masks and crops are said in pixels of the size that the camera has usually.
    if drawing.reference == nil {
      let event = try await frame(capturedAt: .zero)
      guard drawing.reference != nil else { return event }
    }
    guard isOn, !isClosed else { return try await frame(capturedAt: CaptureClock.now) }
    guard still == nil else {
      throw SourceError(.unavailable, path: source.name, reason: "a still is being taken already")
    }
    let taking = Task { try await takeStill(settling, limit) }
    still = taking
    do {
      return try await withTaskCancellationHandler {
        try await taking.value
      } onCancel: {
        taking.cancel()
      }
    } catch is CancellationError where !Task.isCancelled {
      // The source was switched off meanwhile, or closed.
      return try await frame(capturedAt: CaptureClock.now)
    }
  }

  private func takeStill(_ settling: Int, _ limit: Duration) async throws -> FeedEvent? {
    defer {
      still = nil
      resume()
    }
    await closeSource()
    _ = await opening?.result
    await pumpStopped()
    try Task.checkCancellation()
    let camera = try await source.open(
      CaptureDemand(minimumSize: .largest), reference: drawing.reference, memory: FramePool())
    counters.count(\.opens)
    let result = await Self.result { [name = source.name] in
      try await withTimeout(limit, name) {
        for _ in 0..<max(settling, 0) { _ = try await camera.nextFrame() }
        return try await camera.nextFrame()
      }
    }
    await camera.close()
    counters.count(\.closes)
    // What was captured as somebody switched it off is nobody's.
    try Task.checkCancellation()
    guard let still = try result.get() else { return nil }
    defer { nextSequence += 1 }
    return FeedEvent(
      frame: still.with(sequence: nextSequence), fallback: nil,
      key: FeedKey(sequence: nextSequence, fallback: 0), isLast: false)
  }

  private static func result(_ work: () async throws -> Frame?) async -> Result<Frame?, any Error> {
    do { return .success(try await work()) } catch { return .failure(error) }
  }
}

extension Size {
  /// Larger than any camera's.
  fileprivate static let largest = Size(width: 65535, height: 65535)
}
