// The report of `glpreview lens`: what a lens shows, how straight lines are through it, and what a fit found.
import FoundationEssentials
import GLPreview

/// The report, whose members are those of `--json`. Angles are in degrees, lengths in pixels of the picture,
/// but the fit's numbers in those of the lens's size, as `lens` has them.
struct LensReport: Codable {
  /// A given line.
  struct Line: Codable {
    let points: Int
    let rms: Double
    /// The largest distance, and the point that has it: its number, from 1, and its position.
    let worst: Double
    let worstPoint: Int
    let worstPosition: [Double]

    init(_ line: StraightLine, _ map: LensMap) {
      let distances = line.distances(through: map) ?? []
      let worst = distances.indices.max { distances[$0].magnitude < distances[$1].magnitude } ?? 0
      points = line.points.count
      rms = distances.rms
      self.worst = distances.isEmpty ? 0 : distances[worst].magnitude
      worstPoint = worst + 1
      worstPosition = [line.points[worst].x, line.points[worst].y]
    }
  }

  /// The result of `--fit`.
  struct Fit: Codable {
    /// The points' distances before and after.
    let before: Double
    let after: Double
    let numbers: [Number]
    /// The root mean square error of positions in the picture, and the parameters that the lines hardly
    /// determine.
    let uncertainty: Double
    let uncertain: [String]
    /// The distances by curve, with `--fit curve`.
    let curves: [String: Double]?
  }

  /// A number that was found, with its standard error.
  struct Number: Codable {
    let name: String
    let value: Double
    let error: Double
  }

  /// The lens, as `--lens` takes it.
  let lens: String
  let width: Int
  let height: Int
  let center: [Double]
  let horizontal: Double
  let vertical: Double
  let diagonal: Double
  /// From the axis.
  let largestAngle: Double
  /// Pixels of a degree.
  let centerResolution: Double
  let edgeResolution: Double?
  /// The share of the picture that shows nothing through the lens.
  let outside: Double
  let lines: [Line]
  let fit: Fit?

  init(_ lens: Lens, _ extent: LensExtent, _ lines: [StraightLine], _ fit: LensFit?) {
    let map = extent.map
    self.lens = lens.description
    (width, height) = (map.size.width, map.size.height)
    center = [map.center.x, map.center.y]
    (horizontal, vertical, diagonal) = (extent.horizontal, extent.vertical, extent.diagonal)
    (largestAngle, outside) = (extent.largestAngle, extent.outside)
    (centerResolution, edgeResolution) = (extent.centerResolution, extent.edgeResolution)
    self.lines = lines.map { Line($0, map) }
    self.fit = fit.map { fit in
      let curves = fit.curves.map { ($0.rawValue, $1) }
      return Fit(
        before: fit.before, after: fit.after,
        numbers: fit.numbers.map { Number(name: $0.name, value: $0.value, error: $0.error) },
        uncertainty: fit.uncertainty, uncertain: fit.uncertain.map(\.rawValue),
        curves: curves.isEmpty ? nil : Dictionary(curves) { $1 })
    }
  }

  /// The report for people.
  var text: String {
    var rows = [
      ["lens", lens], ["picture", "\(width)x\(height)"],
      ["centre", "\(Self.short(center[0])),\(Self.short(center[1]))"],
      [
        "field of view",
        "\(Self.short(horizontal)) x \(Self.short(vertical)) degrees, diagonal \(Self.short(diagonal))",
      ],
      ["largest angle", "\(Self.short(largestAngle)) degrees from the axis"],
      [
        "resolution",
        "\(Self.short(centerResolution)) pixels per degree at the centre"
          + (edgeResolution.map { ", \(Self.short($0)) at the edge" } ?? ""),
      ],
      ["outside the lens", "\(Self.short(outside * 100)) % of the picture"],
    ]
    for (number, line) in lines.enumerated() {
      let place = line.worstPosition.map(\.shortText).joined(separator: ",")
      let worst = "\(Self.short(line.worst)) at worst (point \(line.worstPoint) at \(place))"
      rows.append([
        "line \(number + 1)", "\(line.points) points, \(Self.short(line.rms)) pixels rms, \(worst)",
      ])
    }
    if let fit {
      let before = Self.short(fit.before)
      rows.append(["fit", "\(before) pixels rms before, \(Self.short(fit.after)) after"])
      for number in fit.numbers {
        rows.append([number.name, "\(number.value.shortText) ± \(number.shortError)"])
      }
      rows.append(["uncertainty", "\(Self.short(fit.uncertainty)) pixels rms over the picture"])
      for (curve, rms) in (fit.curves ?? [:]).sorted(by: { $0.value < $1.value }) {
        rows.append(["as \(curve)", "\(Self.short(rms)) pixels rms"])
      }
    }
    return TextTable(rows).description
  }

  /// Returns a number with two digits after the point.
  static func short(_ number: Double) -> String { ((number * 100).rounded() / 100).shortText }
}

extension LensReport.Number {
  /// The error with two digits.
  fileprivate var shortError: String {
    var scale = 1.0
    while error * scale < 10, scale < 1e15 { scale *= 10 }
    return ((error * scale).rounded() / scale).shortText
  }
}
