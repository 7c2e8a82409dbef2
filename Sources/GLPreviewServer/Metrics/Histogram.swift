// Counts durations by their length.
internal import Synchronization

/// The durations of one stage, in seconds.
final class Histogram: Sendable {
  private struct State {
    /// The number of durations up to each bound and above the previous one; the last counts those above all bounds.
    var counts: [Int]
    var sum = 0.0
  }

  /// A stage of a picture takes one to ten milliseconds, a request up to ten seconds.
  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  private let state = Mutex(State(counts: [Int](repeating: 0, count: Histogram.bounds.count + 1)))

  func record(_ duration: Duration) {
    let seconds = duration / .seconds(1)
    let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += seconds
    }
  }

  /// The samples with `labels`. Buckets are cumulative, as Prometheus requires.
  func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total = 0
    var samples: [MetricFamily.Sample] = []
    for (count, bound) in zip(counts, Self.bounds + [.infinity]) {
      total += count
      let labels = labels + [("le", MetricFamily.text(of: bound))]
      samples.append(.init(suffix: "_bucket", labels: labels, value: Double(total)))
    }
    samples.append(.init(suffix: "_sum", labels: labels, value: sum))
    samples.append(.init(suffix: "_count", labels: labels, value: Double(total)))
    return samples
  }
}
