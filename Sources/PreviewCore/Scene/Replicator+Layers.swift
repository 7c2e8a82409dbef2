// The changes of a layer from instance to instance.

extension Replicator {
  /// The age of instance `index`'s frame relative to instance 0's.
  func delay(of index: Int) -> Duration { delay * index }

  /// The opacity of instance `index`, if instance 0 has `opacity`.
  func opacity(of index: Int, from opacity: Double) -> Double {
    min(max(opacity + opacityOffset * Double(index), 0), 1)
  }

  /// The transform of instance `index`, about the centre of `frame`.
  func transform(of index: Int) -> AffineTransform {
    (0..<index).reduce(.identity) { whole, _ in whole.followed(by: transform) }
  }

  /// The colour adjustment of instance `index`.
  func adjustment(of index: Int) -> ColorAdjustment {
    (0..<index).reduce(.none) { whole, _ in
      whole.followed(by: ColorAdjustment(scale: colorScale, offset: colorOffset))
    }
  }
}

extension ColorAdjustment {
  /// Applies `self`, then `next`; exact as long as codes stay within 0...255 in between.
  package func followed(by next: ColorAdjustment) -> ColorAdjustment {
    ColorAdjustment(scale: scale * next.scale, offset: offset * next.scale + next.offset)
  }
}

extension Layer {
  /// The same layer with a further transform about `center`, instead of about the layer's own.
  func transformed(by further: AffineTransform, about center: SIMD2<Double>) -> Layer {
    guard further != .identity else { return self }
    let own = frame.center - center
    var layer = self
    layer.transform =
      transform.followed(by: .translation(x: own.x, y: own.y)).followed(by: further)
      .followed(by: .translation(x: -own.x, y: -own.y))
    return layer
  }
}

extension Rectangle {
  var center: SIMD2<Double> { [Double(x) + Double(width) / 2, Double(y) + Double(height) / 2] }
}
