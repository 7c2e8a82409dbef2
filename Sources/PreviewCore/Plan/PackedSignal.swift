// The samples that a drawing reads of each signal.

/// One signal: the positions of its samples in stored rows.
package struct PackedSignal: Sendable, Hashable {
  package let signal: Signal
  /// Stored samples from one sample of its first component to the next: 1, 2, 3 or 4.
  package let step: Int
  /// R, G and B, or in linear light the components that they are computed from; Y'; or Cb and Cr.
  package let components: [PackedComponent]
  /// The map for the columns of the drawn picture, which runs along the stored rows.
  package let columns: SamplingMap
  /// The map for the rows of the drawn picture, which runs along the stored columns.
  package let rows: SamplingMap
}

/// The position of one component in the stored rows of its plane.
package struct PackedComponent: Sendable, Hashable {
  package let plane: Int
  /// Stored samples from one of its samples to the next.
  package let step: Int
  /// The position of its first stored sample; below the signal's step.
  package let first: Int
}

extension PackedComponent {
  /// Returns the components of a signal; nil if frames of this format lack it.
  static func all(of signal: Signal, _ format: PixelFormat) -> [PackedComponent]? {
    let components: [Component]
    switch (signal, format.model) {
    case (.luma, .luma(let luma)), (.luma, .ycbcr(let luma, _, _)): components = [luma]
    case (.chroma, .ycbcr(_, let cb, let cr)): components = [cb, cr]
    case (.rgb, .rgb(let red, let green, let blue, _)): components = [red, green, blue]
    case (.rgb, .luma(let luma)): components = [luma]
    case (.rgb, .ycbcr(let luma, let cb, let cr)): components = [luma, cb, cr]
    default: return nil
    }
    return components.map {
      let channels = format.planes[$0.plane].texel.channelCount
      return PackedComponent(
        plane: $0.plane, step: $0.texelStep * channels, first: $0.texelOffset * channels + $0.channel)
    }
  }
}

extension PackedSignal {
  /// Returns the second step of a large reduction: an intermediate plane, reduced by whole factors.
  ///
  /// Each box of the second step consists of whole boxes of the first. Rounding in the first step costs at
  /// most half a code, and so does the mean. Converting colours afterwards less than doubles differences, so
  /// the result is within one code of a one-step reduction. (A conversion before the mean might clamp, and
  /// the clamped part would be missing from it.)
  package static func picture(_ signal: Signal, size: Size, by factors: (x: Int, y: Int), flips: Orientation)
    -> PackedSignal
  {
    func map(_ count: Int, _ factor: Int, _ isReversed: Bool) -> SamplingMap {
      SamplingMap(
        output: PlacedSpan(target: count, start: 0, length: count),
        source: CropSpan(start: 0, length: count * factor, isReversed: isReversed),
        window: SourceWindow(start: 0, length: count * factor, denominator: 1), filter: .area)
    }
    return PackedSignal(
      signal: signal, step: 1,
      components: (0..<(signal == .chroma ? 2 : 1)).map { PackedComponent(plane: $0, step: 1, first: 0) },
      columns: map(size.width, factors.x, flips.flipsX), rows: map(size.height, factors.y, flips.flipsY))
  }

  /// Returns the forward signal for `x` by `y` times as many outputs; nil if their boxes would not be parts
  /// of these boxes.
  package func refined(x: Int, y: Int) -> PackedSignal? {
    guard isRefinable, let columns = columns.refined(by: x), let rows = rows.refined(by: y) else {
      return nil
    }
    return PackedSignal(signal: signal, step: step, components: components, columns: columns, rows: rows)
  }

  /// The signal split into its first component and the two others, for shaders that handle Y', Cb and Cr.
  /// Only the pass's conversion knows the meaning of the three numbers.
  package var apart: [PackedSignal] {
    guard signal == .rgb, components.count == 3 else { return [self] }
    func part(_ signal: Signal, _ components: ArraySlice<PackedComponent>) -> PackedSignal {
      PackedSignal(signal: signal, step: step, components: Array(components), columns: columns, rows: rows)
    }
    return [part(.luma, components[..<1]), part(.chroma, components[1...])]
  }

  /// Whether every output is made of at most two by two samples.
  package var hasFewTaps: Bool { columns.hasFewTaps && rows.hasFewTaps }

  /// Whether the picture covers all outputs.
  package var isWhole: Bool { columns.coversTarget && rows.coversTarget }

  /// The bytes of a packed row that belong to the signal, for example in `Y0 Cb Y1 Cr`: every other one, from
  /// the first (0) or the second (1); nil if all do. Its sums hold only these.
  package var half: Int? {
    guard step == 2 * components.count, signal != .rgb, isInOnePlane else { return nil }
    return components[0].first % 2
  }

  package var isInOnePlane: Bool { components.allSatisfy { $0.plane == components[0].plane } }

  /// Whether it can be reduced in two steps.
  fileprivate var isRefinable: Bool {
    isWhole && columns.isWholeEverywhere && rows.isWholeEverywhere && columns.kernel == .box
      && rows.kernel == .box
  }

  /// Creates the signal of an input; nil if the frame lacks it.
  init?(_ input: SignalInput, _ format: PixelFormat, isForward: Bool) {
    guard let axes = input.axes, let components = PackedComponent.all(of: input.signal, format) else {
      return nil
    }
    signal = input.signal
    self.components = components
    step = components.first?.step ?? 1
    let (along, across) =
      axes.swapsAxes ? (axes.vertical, axes.horizontal) : (axes.horizontal, axes.vertical)
    columns = isForward ? along.forward : along
    rows = isForward ? across.forward : across
  }
}

extension TexelLayout {
  fileprivate var channelCount: Int { byteCount / bytesPerChannel }
}

extension SamplingMap {
  /// Whether the picture covers the whole target, without bars.
  package var coversTarget: Bool { output.start <= 0 && output.start + output.length >= output.target }

  /// Whether every output sample is one source sample, or lies between two.
  fileprivate var hasFewTaps: Bool { kernel == .nearest || kernel == .bilinear || isCopy }

  /// Whether no output sample lies partly beyond the target.
  fileprivate var isWholeEverywhere: Bool { output.target % output.step == 0 }

  /// Whether the forward map gives the same samples.
  var isForwardInReverse: Bool {
    !source.isReversed
      || (kernel != .nearest && isWholeEverywhere && output.start * 2 + output.length == output.target)
  }

  /// Returns the forward map of the same span with `factor` times as many samples; nil if that would enlarge.
  fileprivate func refined(by factor: Int) -> SamplingMap? {
    let map = SamplingMap(
      output: PlacedSpan(
        target: output.target * factor, start: 0, length: output.length * factor, step: output.step),
      source: forward.source, window: window, filter: .area)
    return map.kernel == .box ? map : nil
  }

  /// The map of the same samples in stored order.
  fileprivate var forward: SamplingMap {
    let filter: Filter =
      switch kernel {
      case .nearest: .nearest
      case .bilinear: .bilinear
      case .box: .area
      case .bicubic: .bicubic
      case .mitchell: .mitchell
      case .lanczos: .lanczos
      }
    return SamplingMap(
      output: output,
      source: CropSpan(
        start: source.start, length: source.length, subsampling: source.subsampling, siting: source.siting,
        eighths: source.eighths),
      window: window, filter: filter)
  }

  /// Source samples per output sample.
  package var samplesPerOutput: Double { Double(ratio) / Double(denominator) }
}
