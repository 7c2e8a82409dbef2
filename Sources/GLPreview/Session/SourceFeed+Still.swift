// Takes stills: a camera is switched to its largest size for one frame, and back.

extension SourceFeed {
  /// Takes one frame at the camera's largest size; the previews pause meanwhile. A camera that keeps its
  /// reference size delivers a frame of that size; a source with only one size delivers the next frame.
  /// `settling` frames are skipped first, for the exposure to settle. With `isCropped`, crops can be drawn
  /// from it. Nil if no more frames follow.
  ///
  /// - Throws: `SourceError` if the camera delivers no frame, or another still is being taken.
  func still(settling: Int, isCropped: Bool) async throws -> FeedEvent? {
    guard source.origin.hasSizes, camera.isOn else { return try await frame(capturedAt: CaptureClock.now) }
    // Masks and crops only refer to the reference size.
    guard !isPinned, replay == nil, !isCropped else {
      return try await pinnedStill(settling, isCropped: isCropped)
    }
    // A frame other than the still determines that size.
    if drawing.reference == nil {
      let event = try await frame(capturedAt: .start)
      guard drawing.reference != nil else { return event }
    }
    guard camera.isOn, !isClosed else { return try await frame(capturedAt: CaptureClock.now) }
    guard camera.still == nil else {
      throw SourceError(.unavailable, path: source.name, reason: "a still is already in progress")
    }
    let taking = Task { try await takeStill(settling) }
    camera.still = taking
    do {
      return try await taking.join()
    } catch is CancellationError where !Task.isCancelled {
      // The source was switched off or closed meanwhile.
      return try await frame(capturedAt: CaptureClock.now)
    }
  }

  /// Takes a frame at the camera's reference size. If the camera had another size, some frames are skipped
  /// first.
  private func pinnedStill(_ settling: Int, isCropped: Bool) async throws -> FeedEvent? {
    let isSettled = camera.opened?.demand.isPinned ?? false
    var event = try await frame(capturedAt: CaptureClock.now, isCropped: isCropped)
    for _ in 0..<(isSettled ? 0 : max(settling, 0)) {
      guard event?.outage == nil, event?.isLast == false else { break }
      event = try await frame(capturedAt: CaptureClock.now, isCropped: isCropped)
    }
    return event
  }

  private func takeStill(_ settling: Int) async throws -> FeedEvent? {
    defer {
      camera.still = nil
      resume()
    }
    await closeSource()
    _ = await camera.opening?.result
    await pumpStopped()
    try Task.checkCancellation()
    let largest = try await source.open(
      SourceOptions.Demand(minimumSize: .largest), reference: drawing.reference,
      memory: FramePool(budget: drawing.memory.budget))
    counters.count(\.opens)
    let result = await Self.result {
      // A camera that hangs does not delay the end of the request.
      try await withDeadline { () -> Frame? in
        for _ in 0..<max(settling, 0) { _ = try await largest.nextFrame() }
        return try await largest.nextFrame()
      } ?? nil
    }
    await largest.close()
    counters.count(\.closes)
    // A frame that was captured while the source was switched off is discarded.
    try Task.checkCancellation()
    guard let still = try result.get() else { return nil }
    return FeedEvent(still.with(sequence: camera.number()))
  }

  private static func result(_ work: () async throws -> Frame?) async -> Result<Frame?, any Error> {
    do { return .success(try await work()) } catch { return .failure(error) }
  }
}

extension Size {
  /// Larger than the size of any camera.
  fileprivate static let largest = Size(width: 65535, height: 65535)
}
