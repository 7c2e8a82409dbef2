// What views ask of a source that has a choice of sizes: `glpreview render` and sessions ask for the same.
package import PreviewCore

extension CaptureDemand {
  /// The reference size where a view has a crop; else as large as the largest view, where each says how large it is.
  package init(for views: [ViewConfiguration]) {
    self =
      views.contains { $0.crop != nil }
      ? CaptureDemand(isPinned: true) : CaptureDemand(atLeast: views.map(\.wantedSize))
  }

  /// As large as the largest of `sizes`; nothing in particular where there is none, or one of them is not known.
  init(atLeast sizes: [Size?]) {
    self.init()
    guard !sizes.isEmpty, !sizes.contains(nil) else { return }
    minimumSize = sizes.compactMap(\.self).reduce(Size(width: 1, height: 1)) {
      Size(width: max($0.width, $1.width), height: max($0.height, $1.height))
    }
  }
}

extension ViewConfiguration {
  /// The size of the view's pictures as the source stores them; nil where it shows a part, or all in whatever size it has.
  var wantedSize: Size? {
    guard crop == nil, width != nil || height != nil else { return nil }
    let size = Size(width: width ?? 1, height: height ?? 1)
    // What is wrong with it is told when it is to be drawn.
    let sides = 1...Size.maximumSide
    guard sides.contains(size.width), sides.contains(size.height) else { return nil }
    return Orientation(rotation).swapsAxes ? size.transposed : size
  }
}
