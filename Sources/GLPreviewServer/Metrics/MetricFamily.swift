// Metrics in Prometheus's text format, version 0.0.4.

/// All samples of one metric name.
struct MetricFamily: Sendable {
  /// The type of a metric.
  enum Kind: String, Sendable, Hashable {
    /// Only increases.
    case counter
    /// Increases and decreases.
    case gauge
    /// Counts values by size; its samples have the suffixes `_bucket`, `_sum` and `_count`.
    case histogram
  }

  /// One value.
  struct Sample: Sendable {
    var suffix = ""
    var labels: [(name: String, value: String)] = []
    let value: Double
  }

  let name: String
  let help: String
  let kind: Kind
  var samples: [Sample]

  /// - Parameters:
  ///   - name: lower snake case with the unit as suffix; counters end in `_total`.
  ///   - help: nil uses the text of `ServiceMetrics`.
  ///   - kind: the type of the metric.
  ///   - samples: values with different labels.
  init(_ name: String, help: String? = nil, _ kind: Kind = .gauge, _ samples: [Sample]) {
    self.name = name
    self.help = help ?? ServiceMetrics.help[name] ?? name
    self.kind = kind
    self.samples = samples
  }

  /// A single value without labels.
  init(_ name: String, help: String? = nil, _ kind: Kind = .gauge, value: Double) {
    self.init(name, help: help, kind, [Sample(value: value)])
  }

  /// The text of `families`, sorted by name. Families of the same name are merged, as the format requires.
  static func text(of families: [MetricFamily]) -> String {
    var known: [String: MetricFamily] = [:]
    for family in families {
      guard let first = known[family.name] else {
        known[family.name] = family
        continue
      }
      if first.kind == family.kind { known[family.name]?.samples += family.samples }
    }
    var text = ""
    for family in known.values.sorted(by: { $0.name < $1.name }) where !family.samples.isEmpty {
      family.write(to: &text)
    }
    return text
  }

  private func write(to text: inout String) {
    text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      text += name + sample.suffix
      if !sample.labels.isEmpty {
        let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
        text += "{\(labels.joined(separator: ","))}"
      }
      text += " \(Self.text(of: sample.value))\n"
    }
  }

  /// A number in the text format.
  static func text(of value: Double) -> String {
    guard value.isFinite else { return value.isNaN ? "NaN" : value > 0 ? "+Inf" : "-Inf" }
    if let whole = Int(exactly: value), whole.magnitude < 1 << 53 { return "\(whole)" }
    return "\(value)"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
