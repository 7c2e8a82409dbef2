// Stills: a camera is switched to its largest size for one frame, and back.
internal import PreviewCore

extension SourceFeed {
  /// One frame in the camera's largest size; the previews pause meanwhile, and then go on. Of a camera that keeps its
  /// reference size, a frame in that; of a source that has no choice, the next frame.
  ///
  /// - Parameters:
  ///   - settling: frames that are passed over first, for the camera to find its exposure.
  ///   - limit: how long it may take.
  ///   - isCropped: whether crops are to be drawn of it.
  /// - Returns: the frame, or what stands in for it; nil where there is none any more.
  /// - Throws: `SourceError` where the camera gives none, or is busy with another still.
  func still(settling: Int, within limit: Duration, isCropped: Bool) async throws -> FeedEvent? {
    guard source.origin.hasSizes, isOn else { return try await frame(capturedAt: CaptureClock.now) }
    // What masks hide and crops leave out is known of the reference size alone.
    guard !isPinned, !isCropped else { return try await pinnedStill(settling, isCropped: isCropped) }
    // Another frame than the still tells that size.
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

  /// A frame in the camera's reference size; of one that was not in it already, after some that are passed over.
  private func pinnedStill(_ settling: Int, isCropped: Bool) async throws -> FeedEvent? {
    let isSettled = opened?.demand.isPinned ?? false
    var event = try await frame(capturedAt: CaptureClock.now, isCropped: isCropped)
    for _ in 0..<(isSettled ? 0 : max(settling, 0)) {
      guard event?.outage == nil, event?.isLast == false else { break }
      event = try await frame(capturedAt: CaptureClock.now, isCropped: isCropped)
    }
    return event
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
      CaptureDemand(minimumSize: .largest), reference: drawing.reference,
      memory: FramePool(budget: drawing.memory.budget))
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
      frame: still.with(sequence: nextSequence), outage: nil,
      key: FeedKey(sequence: nextSequence, outage: 0), isLast: false)
  }

  private static func result(_ work: () async throws -> Frame?) async -> Result<Frame?, any Error> {
    do { return .success(try await work()) } catch { return .failure(error) }
  }
}

extension Size {
  /// Larger than any camera's.
  fileprivate static let largest = Size(width: 65535, height: 65535)
}
