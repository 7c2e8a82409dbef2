// Selects a camera's format, size and rate: the cheapest that satisfies the demand. Uses only the camera's
// description, and opens nothing.

struct V4L2ModeSelection: Sendable, Hashable {
  typealias Format = V4L2Camera.Format
  typealias FrameSizes = V4L2Camera.FrameSizes
  typealias FrameIntervals = V4L2Camera.FrameIntervals

  let fourCC: FourCC
  let isEmulated: Bool
  let size: Size
  /// Nil lets the camera choose.
  let interval: FrameIntervals.Interval?

  /// The largest size without a demand, and the lowest rate in pictures per second.
  static let usualSize = Size(width: 1920, height: 1080)
  static let usualRate = 15.0
  /// The highest rate that is used without a demand.
  private static let usualMostRate = 30.0

  /// Colour takes precedence: a camera's grey format would lose colour that the camera can deliver.
  private enum Tier: Int { case samples, jpeg, grey, emulated }

  private struct Candidate {
    let selection: V4L2ModeSelection
    let tier: Tier
    let bytes: Int
    let hasAlpha: Bool
    var rate: Double? { selection.interval?.framesPerSecond }
  }
}

extension V4L2ModeSelection {
  /// Selects the cheapest of `formats` that satisfies `demand`, or the mode that `preferences` require.
  ///
  /// Formats are ranked: samples that the GPU reads directly, JPEG, grey, formats that libv4lconvert
  /// converts. A lower rank is used only if no higher one has the wanted size or rate. Within a rank, the
  /// smallest sufficient size is selected, then the fewest bytes, then the camera's order. Without a wanted
  /// size, the selection is the largest size up to 1920x1080 with 15 pictures per second (or the wanted
  /// rate); for a camera that scales a signal, the size of `signal`.
  ///
  /// With `pinned`, the selection is that size, or the largest with its aspect ratio, regardless of the
  /// demand.
  ///
  /// - Throws: `V4L2Refusal`, which lists the available modes.
  init(
    _ formats: [Format], _ preferences: V4L2Preferences, _ demand: SourceOptions.Demand, signal: Size? = nil,
    pinned: Size? = nil
  ) throws(V4L2Refusal) {
    let formats = try Self.formats(formats, preferences)
    let wantedRate = preferences.framesPerSecond ?? demand.framesPerSecond
    var wantedSize = preferences.size ?? pinned ?? demand.minimumSize
    var candidates: [Candidate] = []
    for format in formats {
      for sizes in format.sizes {
        for size in Self.sizes(sizes, wanted: wantedSize, signal: signal)
        where preferences.size == nil || size == preferences.size {
          candidates.append(Self.candidate(format, size, sizes.intervals, rate: wantedRate))
        }
      }
    }
    if candidates.isEmpty, let size = preferences.size { throw V4L2Refusal.size(size, formats) }
    if let rate = preferences.framesPerSecond {
      let exact = candidates.filter { $0.selection.interval.map { Self.isRate($0, rate) } ?? true }
      guard !exact.isEmpty else { throw V4L2Refusal.rate(rate, formats, size: preferences.size) }
      candidates = exact
    }
    if let pinned {
      candidates = try Self.candidates(candidates, like: pinned, formats)
      wantedSize = candidates.first?.selection.size
    }
    guard let best = Self.best(candidates, size: wantedSize, rate: wantedRate) else {
      throw V4L2Refusal("reports no size for any of its formats")
    }
    self = best.selection
  }

  // MARK: Available modes

  /// Returns the default size whose pixels a camera's masks and crops refer to: the preferred size, or the
  /// largest that is available at the preferred rate, if there is one; for a camera that scales a signal, the
  /// signal's size. It does not depend on viewers. Nil if no format reports its sizes.
  static func referenceSize(
    _ formats: [Format], _ preferences: V4L2Preferences, signal: Size?, maximumPixels: Int
  ) -> Size? {
    if let size = preferences.size { return size }
    let usable = formats.filter { $0.isReadable && preferences.allow($0) }
    let offered = usable.flatMap(\.sizes).filter { sizes in
      guard let rate = preferences.framesPerSecond, let interval = interval(sizes.intervals, rate: rate)
      else { return true }
      return isRate(interval, rate)
    }
    let sizes = offered.compactMap { sizes -> Size? in
      guard sizes.minimum != sizes.maximum else { return sizes.minimum }
      if let signal { return Self.sizes(sizes, wanted: nil, signal: signal).first }
      let isTooLarge = sizes.maximum.pixelCount > maximumPixels
      return isTooLarge ? Self.sizes(sizes, wanted: nil, signal: nil).first : sizes.maximum
    }
    return sizes.filter { $0.pixelCount <= maximumPixels }
      .max { ($0.pixelCount, $0.width) < ($1.pixelCount, $1.width) }
  }

  private static func isRate(_ interval: FrameIntervals.Interval, _ rate: Double) -> Bool {
    abs(interval.framesPerSecond - rate) <= rate / 100
  }

  /// Returns the candidates of the size `pinned`, or else the largest ones with its aspect ratio.
  private static func candidates(_ candidates: [Candidate], like pinned: Size, _ formats: [Format])
    throws(V4L2Refusal) -> [Candidate]
  {
    let exact = candidates.filter { $0.selection.size == pinned }
    guard exact.isEmpty else { return exact }
    let alike = candidates.filter { $0.selection.size.hasShape(of: pinned) }
    guard !alike.isEmpty else { throw V4L2Refusal.shape(pinned, formats) }
    let most = largest(alike)
    return most.filter { $0.selection.size == most.first?.selection.size }
  }

  private static func formats(_ formats: [Format], _ preferences: V4L2Preferences) throws(V4L2Refusal)
    -> [Format]
  {
    let readable = formats.filter(\.isReadable)
    guard let name = preferences.format else {
      guard !readable.isEmpty else { throw V4L2Refusal.unreadable(formats) }
      return readable
    }
    let named = formats.filter(preferences.allow)
    guard !named.isEmpty else {
      throw readable.isEmpty ? V4L2Refusal.unreadable(formats) : V4L2Refusal.format(name, readable)
    }
    let usable = named.filter(\.isReadable)
    guard !usable.isEmpty else { throw V4L2Refusal.unreadable(name, readable) }
    return usable
  }

  /// Returns the relevant sizes of a range, which may contain thousands.
  private static func sizes(_ sizes: FrameSizes, wanted: Size?, signal: Size?) -> [Size] {
    guard sizes.minimum != sizes.maximum else { return [sizes.minimum] }
    func side(_ wanted: Int, _ minimum: Int, _ maximum: Int, _ step: Int, roundsUp: Bool) -> Int {
      let step = max(step, 1)
      let wanted = min(max(wanted, minimum), maximum)
      let steps = (wanted - minimum + (roundsUp ? step - 1 : 0)) / step
      let side = minimum + steps * step
      return side <= maximum ? side : maximum
    }
    func size(_ wanted: Size, roundsUp: Bool) -> Size {
      Size(
        width: side(
          wanted.width, sizes.minimum.width, sizes.maximum.width, sizes.step.width, roundsUp: roundsUp),
        height: side(
          wanted.height, sizes.minimum.height, sizes.maximum.height, sizes.step.height, roundsUp: roundsUp))
    }
    return [wanted.map { size($0, roundsUp: true) } ?? size(signal ?? usualSize, roundsUp: false)]
  }

  private static func candidate(
    _ format: Format, _ size: Size, _ intervals: [FrameIntervals], rate: Double?
  ) -> Candidate {
    var tier = Tier.jpeg
    var bytes = size.pixelCount / 4
    var hasAlpha = false
    if case .samples(let samples) = format.reading {
      tier = samples.format == .grey ? .grey : .samples
      bytes = size.pixelCount * (format.reading?.bytesPerThousandPixels ?? 0)
      if case .rgb(_, _, _, .some) = samples.format.model { hasAlpha = !samples.isOpaque }
    }
    if format.isEmulated {
      tier = .emulated
      // R'G'B' is preferred, because the range of libv4lconvert's Y'CbCr depends on its input and is not
      // reported.
      if case .samples(let samples) = format.reading, !samples.format.isRGB {
        bytes += size.pixelCount * 4000
      }
    }
    return Candidate(
      selection: V4L2ModeSelection(
        fourCC: format.code, isEmulated: format.isEmulated, size: size,
        interval: interval(intervals, rate: rate)),
      tier: tier, bytes: bytes, hasAlpha: hasAlpha)
  }

  /// Returns the slowest sufficient rate, or else the fastest. Without a wanted rate, returns the fastest up
  /// to 30 per second, or else the slowest.
  static func interval(_ intervals: [FrameIntervals], rate: Double?) -> FrameIntervals.Interval? {
    let wanted = rate ?? usualMostRate
    let choices = intervals.map { range in
      guard range.shortest != range.longest, range.shortest.framesPerSecond > wanted else {
        return range.shortest
      }
      guard range.longest.framesPerSecond < wanted else { return range.longest }
      return FrameIntervals.Interval(numerator: 1000, denominator: Int((wanted * 1000).rounded()))
    }.filter { $0.numerator > 0 && $0.denominator > 0 }.sorted { $0.framesPerSecond < $1.framesPerSecond }
    // A slightly lower rate is sufficient: 29.97 for 30.
    let enough = choices.first { $0.framesPerSecond >= wanted * 0.99 }
    guard rate == nil else { return enough ?? choices.last }
    return choices.last { $0.framesPerSecond <= wanted * 1.01 } ?? choices.first
  }

  // MARK: Selection

  private static func best(_ candidates: [Candidate], size: Size?, rate: Double?) -> Candidate? {
    let rate = rate ?? usualRate
    func isFast(_ candidate: Candidate) -> Bool { candidate.rate.map { $0 >= rate * 0.99 } ?? true }
    let isLarge: (Candidate) -> Bool =
      if let size {
        { $0.selection.size.width >= size.width && $0.selection.size.height >= size.height }
      } else {
        { $0.selection.size.width <= usualSize.width && $0.selection.size.height <= usualSize.height }
      }
    let fit = candidates.filter(isLarge)
    let both = fit.filter(isFast)
    if !both.isEmpty {
      return size == nil ? cheapest(largest(both)) : cheapestKind(both)
    }
    // Size takes precedence over rate: pictures that are too small are useless at any rate.
    if !fit.isEmpty { return cheapest(fastest(size == nil ? fit : smallest(fit))) }
    return cheapest(size == nil ? smallest(candidates) : fastest(largest(candidates)))
  }

  private static func largest(_ candidates: [Candidate]) -> [Candidate] {
    let most = candidates.map(\.selection.size.pixelCount).max()
    return candidates.filter { $0.selection.size.pixelCount == most }
  }

  private static func smallest(_ candidates: [Candidate]) -> [Candidate] {
    let least = candidates.map(\.selection.size.pixelCount).min()
    return candidates.filter { $0.selection.size.pixelCount == least }
  }

  private static func fastest(_ candidates: [Candidate]) -> [Candidate] {
    let most = candidates.compactMap(\.rate).max()
    return candidates.filter { $0.rate == nil || $0.rate == most }
  }

  private static func cheapest(_ candidates: [Candidate]) -> Candidate? {
    candidates.min { cost($0) < cost($1) }
  }

  /// Returns the candidate of the highest rank, in its smallest size.
  private static func cheapestKind(_ candidates: [Candidate]) -> Candidate? {
    let kind = candidates.map(\.tier.rawValue).min()
    return cheapest(smallest(candidates.filter { $0.tier.rawValue == kind }))
  }

  /// Returns the sort key. `min` returns the first of equal elements, which preserves the camera's order.
  private static func cost(_ candidate: Candidate) -> (Int, Int, Int) {
    (candidate.tier.rawValue, candidate.hasAlpha ? 1 : 0, candidate.bytes)
  }
}

/// The error of a request that a camera can't fulfil, with the alternatives.
struct V4L2Refusal: Error, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  static func format(_ name: String, _ formats: [V4L2Camera.Format]) -> V4L2Refusal {
    V4L2Refusal("has no format '\(name)': there are \(list(formats.map(\.fourCC)))")
  }

  static func unreadable(_ name: String, _ formats: [V4L2Camera.Format]) -> V4L2Refusal {
    V4L2Refusal(
      "format '\(name)' is not supported"
        + (formats.isEmpty ? "" : ": there are \(list(formats.map(\.fourCC)))"))
  }

  static func unreadable(_ formats: [V4L2Camera.Format]) -> V4L2Refusal {
    guard !formats.isEmpty else { return V4L2Refusal("offers no format: is its sensor or signal connected?") }
    return V4L2Refusal(
      "none of its formats is supported, not even by libv4lconvert: \(list(formats.map(\.fourCC)))")
  }

  static func size(_ size: Size, _ formats: [V4L2Camera.Format]) -> V4L2Refusal {
    let sizes = formats.flatMap(\.sizes).map(\.description)
    return V4L2Refusal("does not offer \(size)\(named(formats)): there are \(list(sizes))")
  }

  static func shape(_ size: Size, _ formats: [V4L2Camera.Format]) -> V4L2Refusal {
    let sizes = formats.flatMap(\.sizes).map(\.description)
    return V4L2Refusal(
      "does not offer the aspect ratio of \(size), for which its masks and crops are given: there are "
        + list(sizes))
  }

  static func rate(_ rate: Double, _ formats: [V4L2Camera.Format], size: Size?) -> V4L2Refusal {
    let intervals = formats.flatMap(\.sizes).filter { size.map($0.contains) ?? true }
      .flatMap(\.intervals).sorted { $0.shortest.framesPerSecond < $1.shortest.framesPerSecond }
    let rate = V4L2Camera.FrameIntervals.number(rate)
    return V4L2Refusal(
      "does not offer \(rate) frames a second\(size.map { " at \($0)" } ?? "")\(named(formats)): there are "
        + list(intervals.map(\.description)))
  }

  private static func named(_ formats: [V4L2Camera.Format]) -> String {
    formats.count == 1 ? " in \(formats[0].fourCC)" : ""
  }

  /// Lists each item once, in order.
  private static func list(_ words: [String]) -> String {
    var seen: Set<String> = []
    return words.filter { seen.insert($0).inserted }.joined(separator: ", ")
  }
}

extension V4L2Camera.FrameSizes: CustomStringConvertible {
  /// `640x480`, or `32x32...1920x1080 in steps of 16x2`.
  public var description: String {
    guard minimum != maximum else { return "\(minimum)" }
    let steps = step.width > 1 || step.height > 1 ? " in steps of \(step)" : ""
    return "\(minimum)...\(maximum)\(steps)"
  }

  fileprivate func contains(_ size: Size) -> Bool {
    (minimum.width...max(maximum.width, minimum.width)).contains(size.width)
      && (minimum.height...max(maximum.height, minimum.height)).contains(size.height)
  }
}

extension V4L2Camera.FrameIntervals: CustomStringConvertible {
  /// Pictures per second: `30`, `12.5`, `1...60`.
  public var description: String {
    let most = Self.number(shortest.framesPerSecond)
    return shortest == longest ? most : "\(Self.number(longest.framesPerSecond))...\(most)"
  }

  /// Formats a number, rounded to a hundredth.
  static func number(_ value: Double) -> String { ((value * 100).rounded() / 100).shortText }
}
