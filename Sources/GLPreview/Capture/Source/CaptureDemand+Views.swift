// The demand of views on a source with several sizes; shared by `glpreview render` and sessions.
package import PreviewCore

extension CaptureDemand {
  /// The reference size if a view has a crop; otherwise the size of the largest view, if each view has one.
  package init(for views: [ViewConfiguration]) {
    self =
      views.contains { $0.crop != nil }
      ? CaptureDemand(isPinned: true) : CaptureDemand(atLeast: views.map(\.wantedSize))
  }

  /// The maximum of `sizes`; no demand if there are none or one is nil.
  init(atLeast sizes: [Size?]) {
    self.init()
    guard !sizes.isEmpty, !sizes.contains(nil) else { return }
    minimumSize = sizes.compactMap(\.self).reduce(Size(width: 1, height: 1)) {
      Size(width: max($0.width, $1.width), height: max($0.height, $1.height))
    }
  }
}

extension ViewConfiguration {
  /// The size of the view's pictures in the source's stored orientation; nil if it has a crop or no size of its own.
  var wantedSize: Size? {
    guard crop == nil, width != nil || height != nil else { return nil }
    let size = Size(width: width ?? 1, height: height ?? 1)
    // An invalid size is reported when the view is drawn.
    let sides = 1...Size.maximumSide
    guard sides.contains(size.width), sides.contains(size.height) else { return nil }
    return Orientation(rotation).swapsAxes ? size.transposed : size
  }
}
