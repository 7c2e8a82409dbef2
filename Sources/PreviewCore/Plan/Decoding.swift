// The scale at which a JPEG is decoded: full size, or the smallest number of eighths that its views allow. It
// depends only on the picture's format and the views.

/// How much detail of a JPEG is decoded.
package enum Decoding: Sendable, Hashable {
  /// All of it.
  case exact
  /// As little as these views need to look almost the same; all of it if there are no views.
  ///
  /// A picture is decoded at 1/8, 1/4 or 1/2 of its size if every plane of every view is afterwards still
  /// reduced by at least this factor (`docs/semantics.md` gives the measurements behind it):
  ///
  /// | decoded at | `area` and `auto` | `bicubic`, `mitchell` and `lanczos` |
  /// |---|---|---|
  /// | 1/2 | 3/2 | 3/2 |
  /// | 1/4 | 5/2 | 3/2 |
  /// | 1/8 | 3 | 7/4 |
  ///
  /// The scale is also used if, for `area` and `auto`, each output sample consists of whole decoded samples.
  /// Full size is needed by `nearest` and `bilinear`, which skip most samples, and by linear light, whose
  /// averages differ from a decoder's.
  case fast(for: [ViewRequest])

  /// Returns the scale at which to decode a picture: 1, 2, 4 or 8 eighths.
  ///
  /// - Parameter full: the format at full size.
  /// - Returns: the smallest scale that all views allow; 8 if any view can't be drawn.
  package func eighths(of full: Frame.Format) -> Int {
    guard case .fast(let requests) = self, !requests.isEmpty else { return 8 }
    guard requests.allSatisfy({ !$0.view.isWarped }) else { return 8 }
    // libjpeg-turbo has vector code for 2, 4 and 8 eighths; 3, 5, 6 and 7 take at least as long as 4 or 8.
    return [1, 2, 4].first { eighths in
      let planner = RenderPlanner(maximumPixels: .max)
      guard let plan = try? planner.plan(full.decoded(toEighths: eighths), requests) else { return false }
      return plan.views.allSatisfy { $0.isNearlyTheSame(at: eighths) }
    } ?? 8
  }
}

extension Frame.Format {
  /// Returns the format of a JPEG decoded at this scale.
  ///
  /// If chroma is halved along both axes, a decoder can scale chroma less than luma, so that all planes have
  /// one size (libjpeg: `jpeg_calc_output_dimensions`).
  package func decoded(toEighths eighths: Int) -> Frame.Format {
    Frame.Format(
      pixelFormat == .i420 && eighths < 8 ? .yuv444p : pixelFormat, referenceSize, color: color,
      orientation: orientation, eighths: eighths)
  }
}

extension PlannedView {
  /// Returns whether a view of the reduced picture is close to that of the full one.
  fileprivate func isNearlyTheSame(at eighths: Int) -> Bool {
    // A composition reads the frame only through its views.
    if let composition { return composition.views(of: 0).allSatisfy { $0.isNearlyTheSame(at: eighths) } }
    return light == .encoded
      && passes.flatMap(\.inputs).allSatisfy { input in
        // Positions of a warp are given in pixels of the whole picture.
        guard let axes = input.axes else { return false }
        return axes.horizontal.isNearlyTheSame(at: eighths) && axes.vertical.isNearlyTheSame(at: eighths)
      }
  }
}

extension SamplingMap {
  fileprivate func isNearlyTheSame(at eighths: Int) -> Bool {
    switch kernel {
    case .nearest, .bilinear: false
    case .box: isMadeOfWholeSamples || samplesPerOutput >= (eighths == 4 ? 1.5 : eighths == 2 ? 2.5 : 3)
    case .bicubic, .mitchell, .lanczos: samplesPerOutput >= (eighths == 1 ? 1.75 : 1.5)
    }
  }

  /// Whether each box starts and ends between two source samples. Samples decoded at 1/2, 1/4 and 1/8 are
  /// means of whole pixels, so that only rounding is lost.
  private var isMadeOfWholeSamples: Bool {
    ratio % denominator == 0 && (position(of: 0) - ratio / 2) % denominator == 0
  }
}
