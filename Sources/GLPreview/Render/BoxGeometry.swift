// The positions of a signal's boxes, computed once for all frames of a plan.
internal import PreviewCore
internal import Shaders

/// The boxes of one signal along both axes.
final class BoxGeometry {
  let signal: PackedSignal
  let columns: BoxAxis
  let rows: BoxAxis

  init(_ signal: PackedSignal) {
    self.signal = signal
    columns = BoxAxis(signal.columns, outputsPerGroup: 4, samplesPerTexel: signal.samplesPerTexel)
    rows = BoxAxis(signal.rows, outputsPerGroup: 1, samplesPerTexel: 1)
  }

  /// The shader variant for the interior, whose boxes may repeat, or for the boxes that reach over the crop's edges.
  func packing(isInterior: Bool) -> BoxVariant.Packing {
    var boxes: BoxVariant.Packing.Boxes?
    if isInterior, let across = columns.period, let down = rows.period {
      boxes = BoxVariant.Packing.Boxes(
        columns: [across.start, columns.ratio], rows: [down.start, rows.ratio])
    }
    return BoxVariant.Packing(
      texels: columns.texelCount, rows: rows.texelCount, samples: signal.samplesPerTexel,
      firstBytes: signal.components.map(\.firstByte),
      columnWeights: columns.isBilinear ? .nearness : .coverage,
      rowWeights: rows.isBilinear ? .nearness : .coverage, boxes: boxes)
  }
}

/// Caches the geometries of plans in use.
final class BoxGeometryCache {
  private var geometries = LRUCache<PackedSignal, BoxGeometry>(capacity: 256)

  /// Called between frames.
  func trim() { geometries.trim() }

  func geometry(_ signal: PackedSignal) -> BoxGeometry {
    if let geometry = geometries[signal] { return geometry }
    let geometry = BoxGeometry(signal)
    geometries.hold(geometry, for: signal)
    return geometry
  }
}
