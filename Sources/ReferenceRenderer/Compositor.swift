// Draws a composition's layers pixel by pixel, as docs/semantics.md specifies under "Compositions".
internal import PreviewCore

struct Compositor {
  private let size: Size
  private var bytes: [UInt8]

  /// Draws all layers. Content that needs a missing frame is not drawn.
  init(_ composition: PlannedComposition, _ frames: [Frame?]) {
    size = composition.size
    bytes = (0..<size.pixelCount).flatMap { _ -> [UInt8] in [0, 0, 0, 255] }
    for layer in composition.layers {
      guard let painter = LayerPainter(layer, frames) else { continue }
      draw(painter, within: layer.bounds)
    }
  }

  /// The picture as a frame, for the passes that convert it; nil if a frame can't be that large.
  var frame: Frame? { try? Frame(tight: Frame.Format(composed: size), bytes: bytes) }

  private mutating func draw(_ layer: LayerPainter, within bounds: Rectangle) {
    for y in bounds.y..<bounds.y + bounds.height {
      for x in bounds.x..<bounds.x + bounds.width {
        let (color, amount) = layer.sample(at: [Double(x) + 0.5, Double(y) + 0.5])
        let first = (y * size.width + x) * 4
        for channel in 0..<3 {
          let below = Double(bytes[first + channel])
          bytes[first + channel] = code(below * (1 - amount) + color[channel] * amount)
        }
      }
    }
  }
}

/// One layer: its colour and coverage at a point.
private struct LayerPainter {
  private let layer: PlannedLayer
  private let content: ContentSampler

  init?(_ layer: PlannedLayer, _ frames: [Frame?]) {
    guard let content = ContentSampler(layer, frames) else { return nil }
    self.layer = layer
    self.content = content
  }

  /// Returns the colour and coverage at a position in the composition.
  func sample(at point: SIMD2<Double>) -> (color: SIMD3<Double>, amount: Double) {
    let position = layer.placement.position(of: point)
    let distance = distance(position, to: layer.shape, radius: layer.cornerRadius)
    let edge = self.distance(position, to: Rectangle(all: layer.size), radius: 0)
    let coverage = covered(max(distance, edge))
    let (content, alpha) = content.sample(at: position)
    let adjusted = (content * layer.adjustment.scale + layer.adjustment.offset)
      .clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))
    guard let border = layer.border else { return (adjusted, coverage * layer.opacity * alpha) }
    let inside = covered(distance + border.width)
    return (
      border.color.codes * (1 - inside) + adjusted * inside,
      coverage * layer.opacity * (1 - inside + alpha * inside)
    )
  }

  /// Returns the distance to a rectangle with rounded corners; negative inside.
  private func distance(_ position: SIMD2<Double>, to shape: Rectangle, radius: Double) -> Double {
    let half = SIMD2(Double(shape.width), Double(shape.height)) / 2
    let centre = SIMD2(Double(shape.x), Double(shape.y)) + half
    let offset = position - centre
    let beyond = SIMD2(abs(offset.x), abs(offset.y)) - half + radius
    let outside = SIMD2(max(beyond.x, 0), max(beyond.y, 0))
    return (outside * outside).sum().squareRoot() + min(max(beyond.x, beyond.y), 0) - radius
  }

  /// Returns the fraction of a pixel inside an edge at this distance from its centre.
  private func covered(_ distance: Double) -> Double { min(max(0.5 - distance, 0), 1) }
}

/// A layer's content, sampled at positions in the layer.
private struct ContentSampler {
  private enum Source {
    case color(SIMD3<Double>)
    case gradient(from: SIMD3<Double>, to: SIMD3<Double>, GradientRamp)
    case pixels(Picture)
    case samples(Picture)
  }

  private let source: Source
  private let size: Size
  private let placement: LayerPlacement

  init?(_ layer: PlannedLayer, _ frames: [Frame?]) {
    size = layer.size
    placement = layer.placement
    func picture(_ input: Int, _ view: PlannedView) -> Picture? {
      frames.indices.contains(input) ? frames[input].map { Picture(view, of: [$0]) } : nil
    }
    switch layer.content {
    case .color(let color): source = .color(color.codes)
    case .gradient(let gradient):
      source = .gradient(
        from: gradient.start.codes, to: gradient.end.codes, GradientRamp(gradient, over: layer.size))
    case .bitmap(let bitmap):
      source = .pixels(Picture(tight: bitmap.size, format: .rgba, bytes: bitmap.bytes))
    case .view(let input, let view):
      guard let picture = picture(input, view) else { return nil }
      source = .pixels(picture)
    case .blurred(let input, let view):
      guard let picture = picture(input, view) else { return nil }
      source = .samples(picture)
    }
  }

  /// Returns R', G', B' as codes, and alpha 0...1.
  func sample(at position: SIMD2<Double>) -> (SIMD3<Double>, alpha: Double) {
    switch source {
    case .color(let color): return (color, 1)
    case .gradient(let start, let end, let ramp):
      let along = min(max(ramp.part(at: position), 0), 1)
      return (start * (1 - along) + end * along, 1)
    case .samples(let picture): return (spline(picture, position), 1)
    case .pixels(let picture):
      guard case .transformed = placement else {
        let pixel = picture.pixel(Int(position.x.rounded(.down)), Int(position.y.rounded(.down)))
        return (pixel.color, pixel.alpha)
      }
      return bilinear(picture, position)
    }
  }

  /// Interpolates four pixels, weighted by their alpha.
  private func bilinear(_ picture: Picture, _ position: SIMD2<Double>) -> (SIMD3<Double>, alpha: Double) {
    let corner = (position - 0.5).rounded(.down)
    let fraction = position - 0.5 - corner
    var (color, alpha) = (SIMD3<Double>.zero, 0.0)
    for (x, weightX) in [(0, 1 - fraction.x), (1, fraction.x)] {
      for (y, weightY) in [(0, 1 - fraction.y), (1, fraction.y)] {
        let pixel = picture.pixel(Int(corner.x) + x, Int(corner.y) + y)
        let weight = weightX * weightY * pixel.alpha
        color += pixel.color * weight
        alpha += weight
      }
    }
    return alpha > 0 ? (color / alpha, alpha) : (.zero, 0)
  }

  /// Evaluates quadratic B-splines over the samples, whose grid is stretched over the layer.
  private func spline(_ picture: Picture, _ position: SIMD2<Double>) -> SIMD3<Double> {
    let across = position.x * Double(picture.size.width) / Double(size.width)
    let down = position.y * Double(picture.size.height) / Double(size.height)
    var sum = SIMD3<Double>.zero
    for x in Int(across.rounded(.down)) - 1...Int(across.rounded(.down)) + 1 {
      for y in Int(down.rounded(.down)) - 1...Int(down.rounded(.down)) + 1 {
        sum += picture.pixel(x, y).color * (bell(across - Double(x) - 0.5) * bell(down - Double(y) - 0.5))
      }
    }
    return sum
  }

  /// Returns the quadratic B-spline at a distance from its centre (Unser 1999, equation 2 of order 2).
  private func bell(_ distance: Double) -> Double {
    let distance = abs(distance)
    guard distance >= 0.5 else { return 0.75 - distance * distance }
    return distance < 1.5 ? (1.5 - distance) * (1.5 - distance) / 2 : 0
  }
}

extension Picture {
  /// Returns a pixel of an `rgba` picture; positions beyond its edges use the edge pixels.
  fileprivate func pixel(_ x: Int, _ y: Int) -> (color: SIMD3<Double>, alpha: Double) {
    let (x, y) = (min(max(x, 0), size.width - 1), min(max(y, 0), size.height - 1))
    let first = planes[0].offset + y * planes[0].bytesPerRow + x * 4
    return (
      [Double(bytes[first]), Double(bytes[first + 1]), Double(bytes[first + 2])],
      Double(bytes[first + 3]) / 255
    )
  }
}
