// What a scene must not say, in one place.

extension Scene {
  /// All but what the layout finds by itself.
  func check() throws(SceneError) {
    try SceneError.check(cornerRadius, in: 0...SceneError.length, "radius")
    try speakingBorder.check("speaking border")
    if case .inset(let inset) = layout {
      try SceneError.check(inset.cornerRadius, in: 0...SceneError.length, "inset radius")
    }
    if case .gradient(let gradient) = background { try gradient.check("background") }
    for (index, tile) in tiles.enumerated() { try tile.check(tile.key(at: index)) }
    for (index, label) in labels.enumerated() { try label.check("label \(index + 1)") }
  }
}

extension Tile {
  fileprivate func check(_ key: String) throws(SceneError) {
    try SceneError.check(opacity, in: 0...1, "\(key) opacity")
    if let cornerRadius { try SceneError.check(cornerRadius, in: 0...SceneError.length, "\(key) radius") }
    try border?.check("\(key) border")
    try label?.check("\(key) label")
    try replicator?.check("\(key) replicator")
  }
}

extension Border {
  fileprivate func check(_ key: String) throws(SceneError) {
    guard width > 0, width <= SceneError.length else {
      throw SceneError(key, "a width of \(width) is not above 0 and at most \(SceneError.length)")
    }
  }
}

extension LinearGradient {
  fileprivate func check(_ key: String) throws(SceneError) {
    try SceneError.check(angle, in: -3600...3600, "\(key) angle")
  }
}

extension Label {
  fileprivate func check(_ key: String) throws(SceneError) {
    let length = ViewConfiguration.maximumSide
    try SceneError.check(Double(font.size), in: 4...512, "\(key) size")
    try SceneError.check(Double(margin), in: 0...Double(length), "\(key) margin")
    if let maximumWidth { try SceneError.check(Double(maximumWidth), in: 1...Double(length), "\(key) width") }
    guard let background else { return }
    try SceneError.check(background.opacity, in: 0...1, "\(key) background opacity")
    try SceneError.check(Double(background.padding), in: 0...Double(length), "\(key) padding")
    try SceneError.check(background.cornerRadius, in: 0...SceneError.length, "\(key) radius")
  }
}

extension Replicator {
  fileprivate func check(_ key: String) throws(SceneError) {
    guard Replicator.instances.contains(instanceCount) else {
      throw SceneError(
        key, "there are \(instanceCount) instances, not 1 to \(Replicator.instances.upperBound)")
    }
    for number in [transform.a, transform.b, transform.c, transform.d] {
      try SceneError.check(number, in: -100...100, "\(key) transform")
    }
    for number in [transform.tx, transform.ty] {
      try SceneError.check(number, in: -SceneError.length...SceneError.length, "\(key) transform")
    }
    for index in 0..<3 {
      try SceneError.check(colorOffset[index], in: -255...255, "\(key) colour offset")
      try SceneError.check(colorScale[index], in: 0...16, "\(key) colour scale")
    }
    try SceneError.check(opacityOffset, in: -1...1, "\(key) opacity offset")
    guard delay >= .zero, delay <= Replicator.longestDelay,
      delay * (instanceCount - 1) <= Replicator.longestDelay
    else {
      throw SceneError(key, "all delays together are not from 0 to \(Replicator.longestDelay)")
    }
  }
}

extension SceneError {
  /// The longest thing in a scene, in pixels.
  fileprivate static let length = Double(ViewConfiguration.maximumSide)

  /// Refuses what is outside, and what is no number.
  fileprivate static func check(_ number: Double, in range: ClosedRange<Double>, _ key: String)
    throws(SceneError)
  {
    guard range.contains(number) else {
      throw SceneError(key, "\(number) is not from \(range.lowerBound) to \(range.upperBound)")
    }
  }
}
