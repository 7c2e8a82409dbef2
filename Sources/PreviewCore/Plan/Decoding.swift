// How large a JPEG is decoded: in full, or at as few eighths of its size as its views allow. Pure: the picture's
// format and the views decide, nothing else.

/// How much of a JPEG's detail is decoded.
package enum Decoding: Sendable, Hashable {
  /// All of it.
  case exact
  /// As little as these views need to look nearly the same; with no view, all of it.
  ///
  /// A picture is decoded at 1/8, 1/4 or 1/2 of its size where every plane of every view is still shrunk by so much
  /// after that (`docs/semantics.md` has the figures that this was chosen by):
  ///
  /// | decoded at | `area` and `auto` | `lanczos` |
  /// |---|---|---|
  /// | 1/2 | 3/2 | 3/2 |
  /// | 1/4 | 5/2 | 3/2 |
  /// | 1/8 | 3 | 7/4 |
  ///
  /// or, for `area` and `auto`, where each output sample is made of whole decoded samples. All else needs the whole
  /// picture: `nearest` and `bilinear`, which do not look at most of its samples, and linear light, which mixes samples
  /// otherwise than a decoder does.
  case fast(for: [ViewRequest])

  /// The scales that are worth it, smallest first. libjpeg-turbo has vector code for 2, 4 and 8 eighths; 3, 5, 6 and 7
  /// take it as long as 4 or 8, or longer.
  static let scales = [1, 2, 4]

  /// At how many eighths of its size a picture is to be decoded: 1, 2, 4 or 8.
  ///
  /// - Parameter full: the picture decoded in full.
  /// - Returns: the smallest that all views allow; 8 where one of them can't be drawn.
  package func eighths(of full: FrameFormat) -> Int {
    guard case .fast(let requests) = self, !requests.isEmpty else { return 8 }
    return Decoding.scales.first { eighths in
      let planner = RenderPlanner(maximumPixels: .max)
      guard let plan = try? planner.plan(full.decoded(toEighths: eighths), requests) else { return false }
      return plan.views.allSatisfy { $0.isNearlyTheSame(at: eighths) }
    } ?? 8
  }
}

extension FrameFormat {
  /// What a JPEG of this format becomes at so many eighths of its size.
  ///
  /// Where chroma is halved along both axes a decoder can give it back what luma loses: then all planes are of one size
  /// (libjpeg: `jpeg_calc_output_dimensions`).
  public func decoded(toEighths eighths: Int) -> FrameFormat {
    FrameFormat(
      pixelFormat == .i420 && eighths < 8 ? .yuv444p : pixelFormat, referenceSize, color: color,
      orientation: orientation, eighths: eighths)
  }
}

extension PlannedView {
  /// Whether a view of a picture at so many eighths is close to that of the whole one.
  fileprivate func isNearlyTheSame(at eighths: Int) -> Bool {
    // What is put together of views reads the frame through those alone.
    if let composition { return composition.views(of: 0).allSatisfy { $0.isNearlyTheSame(at: eighths) } }
    return light == .encoded
      && passes.flatMap(\.inputs).flatMap { [$0.horizontal, $0.vertical] }
        .allSatisfy { $0.isNearlyTheSame(at: eighths) }
  }
}

extension SamplingMap {
  fileprivate func isNearlyTheSame(at eighths: Int) -> Bool {
    switch kernel {
    case .nearest, .bilinear: false
    case .box: isMadeOfWholeSamples || samplesPerOutput >= (eighths == 4 ? 1.5 : eighths == 2 ? 2.5 : 3)
    case .lanczos: samplesPerOutput >= (eighths == 1 ? 1.75 : 1.5)
    }
  }

  /// Whether each box begins and ends between two samples of the source: at 1/2, 1/4 and 1/8 those are themselves the
  /// means of whole pixels, so that nothing is lost but a rounding.
  private var isMadeOfWholeSamples: Bool {
    ratio % denominator == 0 && (position(of: 0) - ratio / 2) % denominator == 0
  }
}
