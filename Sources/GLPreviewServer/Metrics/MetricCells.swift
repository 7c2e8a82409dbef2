// The storage of metrics: one cell per name and set of labels.
internal import CoreMetrics
internal import Synchronization

/// A counter with integer steps, updated atomically.
final class CounterCell: CounterHandler {
  private let count = Atomic<Int64>(0)

  var value: Double { Double(count.load(ordering: .relaxed)) }

  func increment(by amount: Int64) {
    if amount > 0 { count.wrappingAdd(amount, ordering: .relaxed) }
  }

  func reset() { count.store(0, ordering: .relaxed) }
}

/// A counter with fractional steps, or a gauge.
final class GaugeCell: FloatingPointCounterHandler, MeterHandler, RecorderHandler {
  private let bits = Atomic<UInt64>(0)
  private let onlyGrows: Bool

  init(onlyGrows: Bool = false) { self.onlyGrows = onlyGrows }

  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func set(_ value: Int64) { set(Double(value)) }

  func record(_ value: Double) { set(value) }

  func record(_ value: Int64) { set(Double(value)) }

  func increment(by amount: Double) {
    guard amount.isFinite, !onlyGrows || amount > 0 else { return }
    var known = bits.load(ordering: .relaxed)
    while true {
      let next = (Double(bitPattern: known) + amount).bitPattern
      let (isDone, now) = bits.weakCompareExchange(expected: known, desired: next, ordering: .relaxed)
      if isDone { return }
      known = now
    }
  }

  func decrement(by amount: Double) { increment(by: -amount) }

  func reset() { set(0.0) }
}

/// A histogram.
final class HistogramCell: RecorderHandler, TimerHandler {
  private struct State {
    /// The number of values up to each bound and above the previous one; the last counts those above all bounds.
    var counts: [Int]
    var sum = 0.0
  }

  /// For durations in seconds: a stage of a picture takes one to ten milliseconds, a request up to ten seconds.
  static let seconds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]
  /// For anything else, such as bytes.
  static let values = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000].map(Double.init)

  private let bounds: [Double]
  private let state: Mutex<State>

  /// - Parameter bounds: the largest value of each bucket, in ascending order.
  init(_ bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: [Int](repeating: 0, count: bounds.count + 1)))
  }

  func record(_ value: Double) {
    guard !value.isNaN else { return }
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += value
    }
  }

  func record(_ value: Int64) { record(Double(value)) }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  /// The samples with `labels`. Buckets are cumulative, as Prometheus requires.
  func samples(_ labels: [(name: String, value: String)]) -> [MetricFamily.Sample] {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total = 0
    var samples: [MetricFamily.Sample] = []
    for (count, bound) in zip(counts, bounds + [.infinity]) {
      total += count
      let labels = labels + [("le", MetricFamily.text(of: bound))]
      samples.append(.init(suffix: "_bucket", labels: labels, value: Double(total)))
    }
    samples.append(.init(suffix: "_sum", labels: labels, value: sum))
    samples.append(.init(suffix: "_count", labels: labels, value: Double(total)))
    return samples
  }
}
