// Measures how sharp a picture is, so that the best of several can be chosen.

extension Picture {
  /// The variance of the luma's Laplacian (Pech-Pacheco et al., "Diatom autofocusing in brightfield
  /// microscopy", 2000): of several pictures of one scene, the sharpest has the largest. 0 for a picture that
  /// is flat, or smaller than 3x3.
  var sharpness: Double {
    guard let luma = planes.first, luma.size.width >= 3, luma.size.height >= 3 else { return 0 }
    let (samples, stride) = (bytes.span, luma.bytesPerRow)
    var (sum, squares) = (0, 0)
    for y in 1..<luma.size.height - 1 {
      let row = luma.offset + y * stride
      for place in row + 1..<row + luma.size.width - 1 {
        let around =
          Int(samples[place - 1]) + Int(samples[place + 1]) + Int(samples[place - stride])
          + Int(samples[place + stride])
        let value = 4 * Int(samples[place]) - around
        sum += value
        squares += value * value
      }
    }
    let count = Double((luma.size.width - 2) * (luma.size.height - 2))
    let mean = Double(sum) / count
    return Double(squares) / count - mean * mean
  }
}

extension SourceFeed {
  /// The most pictures that are compared, evenly distributed.
  static let mostCompared = 24
  /// The width at which they are compared, in pixels, unless they are smaller.
  private static let comparedWidth = 320

  /// Returns the sharpest of the buffered pictures of `times`.
  func sharpest(
    of times: ClosedRange<CaptureInstant>, isCropped: Bool, passes: Bool, counting gpuTime: GPUTime
  ) async throws -> FeedEvent {
    try await ForwardDecoding.$current.withValue(ForwardDecoding()) {
      let time = try await sharpest(
        of: replay?.buffer.times(in: times) ?? [], until: times.upperBound, counting: gpuTime)
      return try await buffered(at: time, isCropped: isCropped, passes: passes)
    }
  }

  private func sharpest(
    of times: [CaptureInstant], until end: CaptureInstant, counting gpuTime: GPUTime
  ) async throws -> CaptureInstant {
    let count = min(times.count, Self.mostCompared)
    var best: (sharpness: Double, time: CaptureInstant)?
    for time in (0..<count).map({ times[($0 * times.count + times.count - 1) / count] }) {
      try Task.checkCancellation()
      guard let frame = try await whole(at: time) else { continue }
      let view = ViewConfiguration(width: min(frame.format.uprightSize.width, Self.comparedWidth))
      let drawn = try await drawing.draw([(view, gpuTime)], frame, as: PictureForm(.ycbcr(.yuv420)))
      guard let picture = drawn.first else { continue }
      let sharpness = await Task(executorPreference: DecodingQueue.shared) { picture.sharpness }.value
      if sharpness > best?.sharpness ?? -1 { best = (sharpness, time) }
    }
    guard let best else { throw notBuffered(end) }
    return best.time
  }

  /// Returns the frame of the buffered picture captured at exactly this time; nil if it is gone or damaged.
  private func whole(at time: CaptureInstant) async throws -> Frame? {
    do {
      let frame = try await buffered(at: time, isCropped: false, passes: false).frame
      return frame?.timestamp == time ? frame : nil
    } catch is NotBuffered {
      return nil
    }
  }

  nonisolated func notBuffered(_ time: CaptureInstant) -> NotBuffered {
    NotBuffered(source: source.name, time: WallTime(capturedAt: time), buffered: replay?.span)
  }
}
