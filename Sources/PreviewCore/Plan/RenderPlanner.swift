// Plans views: from view configurations to render passes. Works on values only and reads no pixels.

/// A view and the sample format of its picture.
package struct ViewRequest: Sendable, Hashable {
  /// The view to draw.
  package let view: ViewConfiguration
  /// The sample format of the picture.
  package let format: Picture.Format
  /// Drawn over the view, in pixels of its picture, lowest first.
  package let overlay: [Layer]
  /// How the picture will be coded, if that is known; devices that can't code return samples.
  package let coding: PictureCoding?

  /// Creates a request for `view` in `format`. Its labels are not drawn: `LabelLayers` turns them into
  /// layers.
  package init(
    _ view: ViewConfiguration, as format: Picture.Format, coding: PictureCoding? = nil,
    under overlay: [Layer] = []
  ) {
    self.view = view
    self.format = format
    self.coding = coding
    self.overlay = overlay
  }
}

/// Makes plans within a device's limits.
package struct RenderPlanner: Sendable {
  /// The device's limits and preferences.
  package let tuning: RenderTuning
  /// The most pixels that a picture may have. Default: 100 million.
  package let maximumPixels: Int

  /// Creates a planner for a device, or by default for the reference renderer.
  package init(tuning: RenderTuning = .unlimited, maximumPixels: Int = 100_000_000) {
    self.tuning = tuning
    self.maximumPixels = maximumPixels
  }

  /// Plans frames of `format`.
  ///
  /// - Throws: `ParameterError` if a crop is not inside the frame, or a picture exceeds the limits.
  package func plan(_ format: Frame.Format, _ requests: [ViewRequest]) throws(ParameterError) -> RenderPlan {
    var views: [PlannedView] = []
    for request in requests { views.append(coded(try plan(format, request), request.coding)) }
    let drawn = views.flatMap { $0.composition?.views(of: 0) ?? [$0] }
    return RenderPlan(source: format, views: views, drawing: drawing(of: drawn, format))
  }

  /// Returns a view that is coded as requested, if the device can do that.
  func coded(_ view: PlannedView, _ coding: PictureCoding?) -> PlannedView {
    guard tuning.codesJPEG == true, case .ycbcr(_, .full) = view.format else { return view }
    var view = view
    view.coding = coding
    return view
  }

  /// Returns the drawing steps for views; nil for the reference renderer.
  func drawing(of views: [PlannedView], _ format: Frame.Format) -> FrameDrawing? {
    let sumsWords = tuning.boxes == .words
    guard tuning.boxes != .none,
      let plan = DrawingPlan(views, of: format.pixelFormat, sumsWords: sumsWords)
    else { return nil }
    let isBlended = plan.blendsRows || (tuning.blendsFrames && plan.blendsSamples)
    let opaque = isBlended ? format.pixelFormat.opaque : nil
    return FrameDrawing(
      plan: plan, ofOpaque: opaque.flatMap { DrawingPlan(views, of: $0, sumsWords: sumsWords) })
  }

  private func plan(_ format: Frame.Format, _ request: ViewRequest) throws(ParameterError) -> PlannedView {
    let view = request.view
    let shown = try shown(view, for: format)
    let isInItsBlur = view.surround == .blur && view.contentMode == .fit && shown.placement.hasBars
    guard isInItsBlur || !request.overlay.isEmpty || isDrawnAsPixels(format, view, request.format) else {
      return planned(view, of: format, shown, as: request.format)
    }
    let layer = Layer(.view(input: 0, view), in: Rectangle(all: shown.placement.target))
    return try plan(
      [format], Composition(size: shown.placement.target, layers: [layer] + request.overlay), name: view.name,
      as: request.format
    ).view
  }

  /// Returns whether Y'CbCr planes are made from a drawn R'G'B' picture, instead of reducing R'G'B' again for
  /// each plane. Each pixel, and so each result, is off by at most half a code.
  private func isDrawnAsPixels(
    _ format: Frame.Format, _ view: ViewConfiguration, _ output: Picture.Format
  ) -> Bool {
    tuning.boxes != .none && (format.pixelFormat.isRGB || view.light == .linear) && output != .rgba
  }

  /// Returns the part of an upright frame that a view shows, and its position in the target.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the frame, the view can't be warped, or the size exceeds the
  ///   limits.
  func shown(_ view: ViewConfiguration, for format: Frame.Format) throws(ParameterError) -> ShownPart {
    try check(side: view.width, "width", of: view)
    try check(side: view.height, "height", of: view)
    let shown = try view.shown(in: format.uprightSize)
    if let refusal = refusal(of: shown.placement.target) {
      throw ParameterError("size", "\(refusal) (view '\(view.name)')")
    }
    let side = WarpGrid.maximumSide
    guard shown.warp == nil || max(format.referenceSize.width, format.referenceSize.height) <= side
    else {
      throw ParameterError(
        "projection", "pictures of more than \(side) pixels a side can't be warped (view '\(view.name)')")
    }
    return shown
  }

  /// Returns the size of a view's pictures for frames of an upright `size`. A crop that is not inside the
  /// frame counts as the whole frame.
  ///
  /// - Throws: `ParameterError` if the size exceeds the limits.
  package func size(of view: ViewConfiguration, in size: Size) throws(ParameterError) -> Size {
    var view = view
    if view.crop?.isInside(size) == false { view.crop = nil }
    return try shown(view, for: Frame.Format(composed: size)).placement.target
  }

  /// Plans what a view shows of frames of `format`.
  func planned(
    _ view: ViewConfiguration, of format: Frame.Format, _ shown: ShownPart, as picture: Picture.Format
  ) -> PlannedView {
    let turn = Orientation(view.rotation).followed(by: Orientation(view.mirroring))
    let stored = format.orientation.stored(shown.crop, in: format.referenceSize)
    let grid = shown.warp.map { warp in
      WarpGrid.of(
        WarpGrid.Key(
          seen: shown.placement.map(turn, of: warp.size), map: warp.map, target: shown.placement.target,
          orientation: format.orientation, stored: format.referenceSize))
    }
    return ViewLayout(
      format: format, crop: stored, orientation: format.orientation.followed(by: turn), grid: grid,
      placement: shown.placement, view: view, tuning: tuning
    ).planned(as: picture)
  }

  /// Plans a composition's picture: the drawn composition is copied or converted.
  func composed(
    _ composition: PlannedComposition, named name: String, as picture: Picture.Format
  ) -> PlannedView {
    let size = composition.size
    return ViewLayout(
      format: Frame.Format(composed: size), crop: Rectangle(all: size), orientation: .upright, grid: nil,
      placement: Placement(of: size, width: nil, height: nil, mode: .stretch),
      view: ViewConfiguration(name: name), tuning: tuning
    ).planned(as: picture, composition)
  }

  private func check(side: Int?, _ key: String, of view: ViewConfiguration) throws(ParameterError) {
    guard let side, !(1...Size.maximumSide).contains(side) else { return }
    throw ParameterError(key, "\(side) is not from 1 to \(Size.maximumSide) (view '\(view.name)')")
  }

  /// Returns the reason to refuse a picture of this size; nil if it is allowed.
  func refusal(of size: Size) -> String? {
    guard max(size.width, size.height) <= tuning.maximumTargetSide else {
      return "\(size) is beyond this device's limit of \(tuning.maximumTargetSide) a side"
    }
    return size.refusal(maximumPixels: maximumPixels)
  }
}

/// The position of a view's crop in the stored frame and in the target.
private struct ViewLayout {
  let format: Frame.Format
  let crop: Rectangle
  let orientation: Orientation
  /// The positions of a warped view.
  let grid: WarpGrid?
  let placement: Placement
  let view: ViewConfiguration
  let tuning: RenderTuning

  /// Whether R'G'B' is filtered: the frame has no luma and chroma planes, or linear light needs all three
  /// components.
  private var isFilteredAsRGB: Bool { format.pixelFormat.isRGB || view.light == .linear }

  func planned(as picture: Picture.Format, _ composition: PlannedComposition? = nil) -> PlannedView {
    PlannedView(
      name: view.name, size: placement.target, format: picture, light: view.light,
      background: view.background, crop: crop, passes: passes(for: picture), composition: composition)
  }

  private func passes(for picture: Picture.Format) -> [PlanePass] {
    switch picture {
    case .rgba: [pass(.rgba, .none, .full)]
    case .ycbcr(let chroma, let range):
      [
        pass(.component(0), .none, range), pass(.component(1), chroma.subsampling, range),
        pass(.component(2), chroma.subsampling, range),
      ]
    }
  }

  private func pass(
    _ output: PassOutput, _ subsampling: Subsampling, _ range: ColorDescription.QuantizationRange
  ) -> PlanePass {
    let conversion = conversion(to: output, range)
    let size = subsampling.planeSize(of: placement.target)
    // R'G'B' is converted per pixel and then averaged; Y'CbCr planes are filtered on their own grids.
    let step = isFilteredAsRGB ? Subsampling.none : subsampling
    let behind = view.background.codes
    let signals = signals(for: output, conversion)
    let finest = signals.map { min(self.subsampling(of: $0).x, self.subsampling(of: $0).y) }.min() ?? 1
    let inputs = signals.map { input($0, step, finest: finest) }
    return PlanePass(
      output: output, size: size, inputs: inputs,
      positionsPerSample: isFilteredAsRGB ? subsampling : .none,
      positions: isFilteredAsRGB ? placement.target : size,
      conversion: conversion,
      background: output == .rgba ? behind : ColorConversion.ycbcrFromRGB(range)(behind))
  }

  private func conversion(
    to output: PassOutput, _ range: ColorDescription.QuantizationRange
  ) -> ColorConversion {
    switch (output, isFilteredAsRGB) {
    case (.rgba, true): .identity
    case (.rgba, false): ColorConversion(rgbFrom: format.color)
    case (.component, true): .ycbcrFromRGB(range)
    case (.component, false): ColorConversion(ycbcr: range, from: format.color)
    }
  }

  private func signals(for output: PassOutput, _ conversion: ColorConversion) -> [Signal] {
    guard !isFilteredAsRGB else { return [.rgb] }
    let rows =
      switch output {
      case .rgba: 0..<3
      case .component(let row): row..<row + 1
      }
    var signals: [Signal] = []
    if conversion.needsLuma(rows: rows) { signals.append(.luma) }
    if conversion.needsChroma(rows: rows), case .ycbcr = format.pixelFormat.model { signals.append(.chroma) }
    // A grey frame has no chroma to read, but the pass still needs the picture's position.
    return signals.isEmpty ? [.luma] : signals
  }

  private func subsampling(of signal: Signal) -> Subsampling {
    if signal == .chroma, case .ycbcr(_, let cb, _) = format.pixelFormat.model {
      cb.subsampling
    } else {
      .none
    }
  }

  private func input(_ signal: Signal, _ step: Subsampling, finest: Int) -> SignalInput {
    let subsampling = subsampling(of: signal)
    let storedX = CropSpan(
      start: crop.x, length: crop.width, isReversed: orientation.flipsX, subsampling: subsampling.x,
      siting: format.color.siting, eighths: format.eighths)
    let storedY = CropSpan(
      start: crop.y, length: crop.height, isReversed: orientation.flipsY, subsampling: subsampling.y,
      siting: .centred, eighths: format.eighths)
    let placed = placement.placed
    if let grid {
      let kernel: Kernel =
        switch view.filter {
        case .nearest: .nearest
        case .bicubic: .bicubic
        default: .bilinear
        }
      return SignalInput(
        signal: signal,
        positions: .warp(
          WarpSampling(
            grid: grid, step: step, placed: placed, columns: storedX, rows: storedY, kernel: kernel,
            supersamples: view.filter != .nearest && view.filter != .bilinear, finest: finest)))
    }
    let horizontal = SamplingMap(
      output: PlacedSpan(
        target: placement.target.width, start: placed.x, length: placed.width, step: step.x),
      source: orientation.swapsAxes ? storedY : storedX, window: placement.windowX, filter: view.filter)
    let vertical = SamplingMap(
      output: PlacedSpan(
        target: placement.target.height, start: placed.y, length: placed.height, step: step.y),
      source: orientation.swapsAxes ? storedX : storedY, window: placement.windowY, filter: view.filter)
    return SignalInput(
      signal: signal,
      positions: .axes(
        AxisMaps(horizontal: horizontal, vertical: vertical, swapsAxes: orientation.swapsAxes)))
  }
}
