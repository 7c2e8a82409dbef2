// The fast path for area reduction and enlargement: fetch four bytes at once, add up rows, and distribute the sums
// over four neighbouring outputs. A recipe says which passes can use it and what they read; the weights come from the
// sampling maps.

/// One signal of a recipe: the positions of its samples in four-byte texels.
package struct PackedSignal: Sendable, Hashable {
  package let signal: Signal
  /// Samples of a component per four bytes: 4, 2 or 1.
  package let samplesPerTexel: Int
  /// For each component, its plane and the byte of a texel that holds its first sample.
  package let components: [PackedComponent]
  /// For the columns of the drawn picture; runs along the stored rows.
  package let columns: SamplingMap
  /// For the rows of the drawn picture; runs along the stored columns.
  package let rows: SamplingMap
}

/// The position of one component in four-byte texels.
package struct PackedComponent: Sendable, Hashable {
  package let plane: Int
  /// 0...3.
  package let firstByte: Int
}

/// How to draw a pass four outputs at a time.
package struct BoxRecipe: Sendable, Hashable {
  /// The signals to read: luma, chroma or both.
  package let signals: [PackedSignal]
  /// Columns and rows drawn from the frame.
  package let size: Size
  /// The orientation of the pass's output in the drawn picture. Unless upright, the output is a copy of it.
  package let turn: Orientation

  /// The most texels of a row that four outputs may read.
  static let maximumTexelsAcross = 16
  /// The largest reduction in two steps: beyond it, the second step would read too many texels. Larger reductions are
  /// summed tap by tap, or in two passes.
  static let maximumRatio = 48.0

  /// The recipe for a pass over `format`'s planes; nil if the pass must be drawn tap by tap.
  init?(_ inputs: [SignalInput], _ format: PixelFormat, size: Size, output: PassOutput) {
    var signals: [PackedSignal] = []
    for input in inputs {
      let packed = PackedSignal.signals(of: input, format)
      guard !packed.isEmpty else { return nil }
      signals += packed
    }
    guard let first = inputs.first,
      signals.allSatisfy({ $0.isNarrow || (signals.count == 1 && output != .rgba && $0.isRefinable) })
    else { return nil }
    self.signals = signals
    self.size = first.swapsAxes ? size.transposed : size
    // A rotated output is drawn upright first, because another view may share that picture. Flips cost nothing.
    self.turn =
      first.swapsAxes
      ? Orientation(
        swapsAxes: true, flipsX: first.vertical.source.isReversed, flipsY: first.horizontal.source.isReversed)
      : .upright
  }
}

extension PackedSignal {
  /// The second step of a large reduction: an intermediate plane of four or two samples per texel, reduced by whole
  /// factors.
  ///
  /// Each box of the second step consists of whole boxes of the first. Rounding in the first step costs at most half
  /// a code, and so does the mean. Converting colours afterwards less than doubles differences, so the result is within
  /// one code of a one-step reduction. (A conversion before the mean might clamp, and the clamped part would be
  /// missing from it.)
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
      signal: signal, samplesPerTexel: 4,
      components: (0..<(signal == .chroma ? 2 : 1)).map { PackedComponent(plane: $0, firstByte: 0) },
      columns: map(size.width, factors.x, flips.flipsX), rows: map(size.height, factors.y, flips.flipsY))
  }

  /// The forward recipe for `x` by `y` times as many outputs; nil if their boxes would not be parts of these.
  package func refined(x: Int, y: Int) -> PackedSignal? {
    guard isRefinable, let columns = columns.refined(by: x), let rows = rows.refined(by: y) else {
      return nil
    }
    return PackedSignal(
      signal: signal, samplesPerTexel: samplesPerTexel, components: components, columns: columns, rows: rows)
  }

  /// Whether four outputs read few enough texels.
  fileprivate var isNarrow: Bool {
    columns.samplesPerOutput * 4 + 2 <= Double(BoxRecipe.maximumTexelsAcross * samplesPerTexel)
  }

  /// Whether it can be reduced in two steps.
  fileprivate var isRefinable: Bool {
    columns.isWholeEverywhere && rows.isWholeEverywhere && columns.kernel == .box && rows.kernel == .box
      && max(columns.samplesPerOutput, rows.samplesPerOutput) <= BoxRecipe.maximumRatio
  }

  /// The signals that a shader can read of an input; empty if it cannot read it.
  ///
  /// Opaque R, G and B take the path of Y', Cb and Cr: only the pass's conversion knows the meaning of the three
  /// numbers.
  fileprivate static func signals(of input: SignalInput, _ format: PixelFormat) -> [PackedSignal] {
    let parts: [(Signal, [Component])]
    switch (input.signal, format.model) {
    case (.luma, .luma(let luma)), (.luma, .ycbcr(let luma, _, _)): parts = [(.luma, [luma])]
    case (.chroma, .ycbcr(_, let cb, let cr)): parts = [(.chroma, [cb, cr])]
    case (.rgb, .rgb(let red, let green, let blue, nil)): parts = [(.luma, [red]), (.chroma, [green, blue])]
    default: return []
    }
    let signals = parts.compactMap { PackedSignal($0, $1, input, format) }
    return signals.count == parts.count ? signals : []
  }

  private init?(_ signal: Signal, _ components: [Component], _ input: SignalInput, _ format: PixelFormat) {
    guard input.horizontal.isPackable, input.vertical.isPackable else { return nil }
    if input.swapsAxes {
      guard input.horizontal.isForwardInReverse, input.vertical.isForwardInReverse else { return nil }
      columns = input.vertical.forward
      rows = input.horizontal.forward
    } else {
      columns = input.horizontal
      rows = input.vertical
    }
    self.signal = signal
    let steps = components.map { $0.texelStep * format.planes[$0.plane].texel.byteCount }
    guard let step = steps.first, steps.allSatisfy({ $0 == step }), [1, 2, 4].contains(step) else {
      return nil
    }
    samplesPerTexel = 4 / step
    self.components = components.map {
      PackedComponent(
        plane: $0.plane, firstByte: $0.texelOffset * format.planes[$0.plane].texel.byteCount + $0.channel)
    }
  }
}

extension SamplingMap {
  /// Whether it uses boxes or pairs of neighbours over the whole target, without bars.
  fileprivate var isPackable: Bool {
    (kernel == .box || kernel == .bilinear) && output.start == 0 && output.length == output.target
  }

  /// Whether no output sample lies partly beyond the target.
  fileprivate var isWholeEverywhere: Bool { output.target % output.step == 0 }

  /// Whether the forward map gives the same samples.
  fileprivate var isForwardInReverse: Bool { !source.isReversed || isWholeEverywhere }

  /// The forward map of the same span with `factor` times as many samples; nil if that would enlarge.
  fileprivate func refined(by factor: Int) -> SamplingMap? {
    let map = SamplingMap(
      output: PlacedSpan(
        target: output.target * factor, start: 0, length: output.length * factor, step: output.step),
      source: forward.source, window: window, filter: .area)
    return map.kernel == .box ? map : nil
  }

  /// The same samples in stored order.
  fileprivate var forward: SamplingMap {
    SamplingMap(
      output: output,
      source: CropSpan(
        start: source.start, length: source.length, subsampling: source.subsampling, siting: source.siting,
        eighths: source.eighths),
      window: window, filter: kernel == .bilinear ? .bilinear : .area)
  }

  /// Source samples per output sample.
  package var samplesPerOutput: Double { Double(ratio) / Double(denominator) }
}
