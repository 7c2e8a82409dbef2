// The largest pictures of views, which grow with their fields of view and with their sources.

extension ViewPlans {
  /// Returns a view as it is drawn with at most `limit` pixels: one that would be larger gets the largest size of the
  /// same shape.
  func limited(_ view: ViewConfiguration, to limit: Int, in event: FeedEvent) -> ViewConfiguration {
    guard limit < .max else { return view }
    // A fallback is drawn in the reference size where the frame has another shape.
    var sources: [(view: ViewConfiguration, size: Size)] = []
    if let reference = knownReference { sources.append((withLens(view), reference)) }
    if let format = event.frame?.format, let drawn = try? rescaled(view, for: format) {
      sources.append((drawn, format.uprightSize))
    }
    for source in sources {
      // No picture without a size is wider or higher than the source's longer side.
      let longest = max(source.size.width, source.size.height)
      let hasSize = view.width != nil || view.height != nil
      guard hasSize || Size(width: longest, height: longest).pixelCount > limit,
        let size = try? RenderPlanner(maximumPixels: .max).size(of: source.view, in: source.size),
        size.pixelCount > limit
      else { continue }
      let reduced = size.reduced(to: limit)
      var view = view
      (view.width, view.height) = (reduced.width, reduced.height)
      return view
    }
    return view
  }
}

extension Size {
  /// Returns a size of this shape with about `count` pixels, and no more.
  fileprivate func reduced(to count: Int) -> Size {
    let factor = (Double(count) / Double(pixelCount)).squareRoot()
    let reduced = min(max(Int(Double(width) * factor), 1), count)
    return Size(width: reduced, height: max(min(Int(Double(height) * factor), count / reduced), 1))
  }
}
