// The requirements of a scene on its sources.

extension Scene {
  /// The names of all sources that it shows.
  package var sourceNames: Set<String> {
    var names = Set(tiles.map(\.source))
    if case .blur(let source) = background { names.insert(source) }
    return names
  }

  /// The age of the oldest frame that it shows of a source.
  func longestDelay(of source: String) -> Duration {
    let replicators = tiles.filter { $0.source == source }.compactMap(\.replicator)
    // An invalid replicator is reported when the scene is drawn.
    return replicators.filter { Replicator.instances.contains($0.instanceCount) }
      .map { min(max($0.delay, .zero), Replicator.longestDelay) * ($0.instanceCount - 1) }.max() ?? .zero
  }

  /// The sources that are shown with a crop.
  var croppedSources: Set<String> { Set(tiles.filter(\.view.isCropped).map(\.source)) }

  /// The warped views of each source, in the sizes of their tiles.
  var warpedViews: [String: [ViewConfiguration]] {
    guard tiles.contains(where: \.view.isWarped),
      let rectangles = try? layout.rectangles(for: tiles, in: size, gap: gap, tileAspect: tileAspect)
    else { return [:] }
    var views: [String: [ViewConfiguration]] = [:]
    for (tile, rectangle) in zip(tiles, rectangles) where tile.view.isWarped {
      var view = tile.view
      (view.width, view.height) = (rectangle.width, rectangle.height)
      views[tile.source, default: []].append(view)
    }
    return views
  }

  /// The largest size at which each source is shown, in stored orientation; sources with a crop are omitted.
  var tileSizes: [String: Size] {
    guard let rectangles = try? layout.rectangles(for: tiles, in: size, gap: gap, tileAspect: tileAspect)
    else { return [:] }
    var sizes: [String: Size] = [:]
    var cropped: Set<String> = []
    for (tile, rectangle) in zip(tiles, rectangles) {
      guard !tile.view.isCropped else {
        cropped.insert(tile.source)
        continue
      }
      let size = Orientation(tile.view.rotation).seen(rectangle.size)
      let other = sizes[tile.source] ?? size
      sizes[tile.source] = Size(width: max(size.width, other.width), height: max(size.height, other.height))
    }
    return sizes.filter { !cropped.contains($0.key) }
  }

  /// Whether it changes even if no source does.
  var showsTime: Bool { (labels + tiles.flatMap(\.labels)).contains(where: \.isTime) }
}
