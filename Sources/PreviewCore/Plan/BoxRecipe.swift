// The fast way to shrink by areas, and to grow: fetch four bytes at once, add up rows, spread the sums over four
// neighbouring outputs. Which passes can be drawn so, and from where to where, as values; the weights are those of the maps.

/// One signal of a box recipe: how its samples stand in texels of four bytes.
package struct PackedSignal: Sendable, Hashable {
  /// What is read.
  package let signal: Signal
  /// Samples of a component in four bytes: 4, 2 or 1.
  package let samplesPerTexel: Int
  /// For each component of the signal its plane, and the byte of a texel that holds its first sample.
  package let components: [PackedComponent]
  /// For the columns of what is drawn; along the stored rows.
  package let columns: SamplingMap
  /// For the rows of what is drawn; along the stored columns.
  package let rows: SamplingMap
}

/// A component in texels of four bytes.
package struct PackedComponent: Sendable, Hashable {
  /// Index of the plane.
  package let plane: Int
  /// 0...3.
  package let firstByte: Int
}

/// How a pass is drawn four outputs at a time.
package struct BoxRecipe: Sendable, Hashable {
  /// What is read: luma, chroma, or both.
  package let signals: [PackedSignal]
  /// Columns and rows of what is drawn from the frame.
  package let size: Size
  /// How the pass's output lies in what is drawn: anything but upright is a copy of it.
  package let turn: Orientation

  /// Four outputs that stand on more texels of a row than this can't be drawn at once.
  static let maximumTexelsAcross = 16
  /// Planes that shrink by more than this are summed up tap by tap, or in two passes: it is the most whose second step
  /// stands on few enough texels.
  static let maximumRatio = 48.0

  /// The recipe for a pass over `format`'s planes; nil where the pass has to be drawn tap by tap.
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
    // What is turned is drawn upright first, as another view may want it too; flips alone cost nothing.
    self.turn =
      first.swapsAxes
      ? Orientation(
        swapsAxes: true, flipsX: first.vertical.source.isReversed, flipsY: first.horizontal.source.isReversed)
      : .upright
  }
}

extension PackedSignal {
  /// A picture's plane of four samples a texel, or two, shrunk by whole factors: the second step of a large shrink.
  ///
  /// Each box of the second step is made of whole boxes of the first. What the first step rounds off is at most half a
  /// code, and so is its mean; with a conversion after that, which makes no difference of codes twice as large, the
  /// result is within one code of a shrink in one step. (A conversion before that might clamp, and what it clamps
  /// would be missing from the mean.)
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

  /// The same for `x` by `y` times as many outputs, all forwards; nil where their boxes would not be parts of these.
  package func refined(x: Int, y: Int) -> PackedSignal? {
    guard isRefinable, let columns = columns.refined(by: x), let rows = rows.refined(by: y) else {
      return nil
    }
    return PackedSignal(
      signal: signal, samplesPerTexel: samplesPerTexel, components: components, columns: columns, rows: rows)
  }

  /// Whether four outputs stand on few enough texels.
  fileprivate var isNarrow: Bool {
    columns.samplesPerOutput * 4 + 2 <= Double(BoxRecipe.maximumTexelsAcross * samplesPerTexel)
  }

  /// Whether it can be shrunk in two steps.
  fileprivate var isRefinable: Bool {
    columns.isWholeEverywhere && rows.isWholeEverywhere && columns.kernel == .box && rows.kernel == .box
      && max(columns.samplesPerOutput, rows.samplesPerOutput) <= BoxRecipe.maximumRatio
  }

  /// What a shader reads of an input; nothing where it can't.
  ///
  /// Three numbers of a pixel are three numbers, whatever they are called: opaque R, G and B go the way of Y', Cb and Cr,
  /// and the pass's conversion makes of them what it makes of those.
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
  /// Boxes, or pairs of neighbours, along the whole target: no bars.
  fileprivate var isPackable: Bool {
    (kernel == .box || kernel == .bilinear) && output.start == 0 && output.length == output.target
  }

  /// Whether no output sample is partly beyond the target.
  fileprivate var isWholeEverywhere: Bool { output.target % output.step == 0 }

  /// Whether the forward map makes the same samples.
  fileprivate var isForwardInReverse: Bool { !source.isReversed || isWholeEverywhere }

  /// The same span in `factor` times as many samples, forwards; nil where they would grow.
  fileprivate func refined(by factor: Int) -> SamplingMap? {
    let map = SamplingMap(
      output: PlacedSpan(
        target: output.target * factor, start: 0, length: output.length * factor, step: output.step),
      source: forward.source, window: window, filter: .area)
    return map.kernel == .box ? map : nil
  }

  /// The same samples in the order in which they are stored.
  fileprivate var forward: SamplingMap {
    SamplingMap(
      output: output,
      source: CropSpan(
        start: source.start, length: source.length, subsampling: source.subsampling, siting: source.siting,
        eighths: source.eighths),
      window: window, filter: kernel == .bilinear ? .bilinear : .area)
  }

  /// Samples of the source's plane to an output sample.
  package var samplesPerOutput: Double { Double(ratio) / Double(denominator) }
}
