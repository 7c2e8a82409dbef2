// The metrics that this program and its libraries report through swift-metrics, for Prometheus.
internal import CoreMetrics
internal import Synchronization

/// A metrics factory and its text output.
///
/// It is not installed globally; a program can do so with `MetricsSystem.bootstrap`, once. Dimensions become labels.
/// Names are made valid for Prometheus; counters end in `_total`, timers in `_seconds`.
final class PrometheusMetrics: MetricsFactory {
  /// Supplies metrics whose values are kept elsewhere, each time that the text is requested.
  typealias Collector = @Sendable () async -> [MetricFamily]

  private enum Cell {
    case counter(CounterCell)
    case gauge(GaugeCell)
    case histogram(HistogramCell)

    /// The identity of the cell, whatever its type.
    var object: AnyObject {
      switch self {
      case .counter(let cell): cell
      case .gauge(let cell): cell
      case .histogram(let cell): cell
      }
    }

    func samples(_ labels: [(name: String, value: String)]) -> [MetricFamily.Sample] {
      switch self {
      case .counter(let cell): [.init(labels: labels, value: cell.value)]
      case .gauge(let cell): [.init(labels: labels, value: cell.value)]
      case .histogram(let cell): cell.samples(labels)
      }
    }
  }

  private struct Series {
    let name: String
    let kind: MetricFamily.Kind
    let labels: [(name: String, value: String)]
    let cell: Cell
  }

  private struct State {
    /// By name and labels, as in the text.
    var series: [String: Series] = [:]
    var kinds: [String: MetricFamily.Kind] = [:]
    var refused = 0
    var collectors: [Collector] = []
  }

  private let capacity: Int
  private let state = Mutex(State())

  /// - Parameter capacity: the most combinations of name and labels. Further ones are not stored but counted in
  ///   `glpreview_metrics_refused_total`, so that labels chosen by clients can't exhaust memory.
  init(capacity: Int = 4096) { self.capacity = capacity }

  /// Adds a collector, which is called each time that the text is requested.
  func addCollector(_ collector: @escaping Collector) { state.withLock { $0.collectors.append(collector) } }

  /// The current values of all metrics.
  func text() async -> String {
    let (series, collectors, refused) = state.withLock { ($0.series, $0.collectors, $0.refused) }
    var families = series.sorted { $0.key < $1.key }.map { _, series in
      MetricFamily(series.name, series.kind, series.cell.samples(series.labels))
    }
    families.append(MetricFamily("glpreview_metrics_refused_total", .counter, value: Double(refused)))
    for collector in collectors { families += await collector() }
    return MetricFamily.text(of: families)
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    let cell = cell(Self.name(label, "_total"), .counter, dimensions) { .counter(CounterCell()) }
    return if case .counter(let counter)? = cell { counter } else { CounterCell() }
  }

  func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    gauge(Self.name(label, "_total"), .counter, dimensions)
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    gauge(Self.name(label), .gauge, dimensions)
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    guard aggregate else { return gauge(Self.name(label), .gauge, dimensions) }
    return histogram(Self.name(label), dimensions, HistogramCell.values)
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(Self.name(label, "_seconds"), dimensions, HistogramCell.seconds)
  }

  func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

  func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }

  func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

  func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

  func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

  private func gauge(
    _ name: String, _ kind: MetricFamily.Kind, _ dimensions: [(String, String)]
  ) -> GaugeCell {
    let cell = cell(name, kind, dimensions) { .gauge(GaugeCell(onlyGrows: kind == .counter)) }
    return if case .gauge(let gauge)? = cell { gauge } else { GaugeCell() }
  }

  private func histogram(
    _ name: String, _ dimensions: [(String, String)], _ bounds: [Double]
  ) -> HistogramCell {
    let cell = cell(name, .histogram, dimensions) { .histogram(HistogramCell(bounds)) }
    return if case .histogram(let histogram)? = cell { histogram } else { HistogramCell(bounds) }
  }

  /// The cell of a name and labels; nil if the capacity is reached or the name has another type.
  private func cell(
    _ name: String, _ kind: MetricFamily.Kind, _ dimensions: [(String, String)], _ make: () -> Cell
  ) -> Cell? {
    let labels = dimensions.map { (name: Self.labelName($0.0), value: $0.1) }.sorted { $0.name < $1.name }
    // Names and labels can't contain these characters, and values are delimited by their lengths.
    let key = labels.reduce(name) { "\($0),\($1.name)=\($1.value.utf8.count):\($1.value)" }
    return state.withLock { state in
      if let known = state.series[key], known.kind == kind { return known.cell }
      guard state.kinds[name] ?? kind == kind, state.series.count < capacity else {
        state.refused += 1
        return nil
      }
      let cell = make()
      state.series[key] = Series(name: name, kind: kind, labels: labels, cell: cell)
      state.kinds[name] = kind
      return cell
    }
  }

  private func remove(_ handler: AnyObject) {
    state.withLock { state in
      guard let key = state.series.first(where: { $0.value.cell.object === handler })?.key else { return }
      state.series[key] = nil
    }
  }

  private static func name(_ label: String, _ suffix: String = "") -> String {
    let name = allowed(label) { $0 == ":" }
    return name.hasSuffix(suffix) ? name : name + suffix
  }

  private static func labelName(_ name: String) -> String { allowed(name) { _ in false } }

  /// `name` with each character that Prometheus does not allow replaced by `_`.
  private static func allowed(_ name: String, _ isAllowedToo: (Character) -> Bool) -> String {
    let letters = name.map { letter in
      letter.isASCII && (letter.isLetter || letter.isNumber) || isAllowedToo(letter) ? letter : "_"
    }
    return (letters.first?.isNumber ?? true ? "_" : "") + String(letters)
  }
}
