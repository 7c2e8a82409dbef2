// Splits a drawing into the groups of outputs whose boxes lie inside the crop, and those whose boxes may reach over
// its edges.

extension Rectangle {
  /// `interior` and the strips around it, in drawing order, without empty ones.
  package func parts(interior: Rectangle) -> [(part: Rectangle, isInterior: Bool)] {
    ([(interior, true)] + strips(around: interior).map { ($0, false) }).filter { !$0.0.isEmpty }
  }

  /// The rest without `inner`: above, below, left and right of it.
  package func strips(around inner: Rectangle) -> [Rectangle] {
    guard inner.width > 0, inner.height > 0 else { return [self] }
    let (right, bottom) = (inner.x + inner.width, inner.y + inner.height)
    return [
      Rectangle(x: x, y: y, width: width, height: inner.y - y),
      Rectangle(x: x, y: bottom, width: width, height: y + height - bottom),
      Rectangle(x: x, y: inner.y, width: inner.x - x, height: inner.height),
      Rectangle(x: right, y: inner.y, width: x + width - right, height: inner.height),
    ]
  }
}
