// Checks of a scene's values.

extension Scene {
  /// Checks everything that the layout does not check itself.
  func check() throws(WordError) {
    try WordError.check(cornerRadius, in: 0...WordError.length, "radius")
    try speakingBorder.check("speaking border")
    if case .inset(let inset) = layout {
      try WordError.check(inset.cornerRadius, in: 0...WordError.length, "inset radius")
    }
    if case .gradient(let gradient) = background { try gradient.check("background") }
    for (index, tile) in tiles.enumerated() { try tile.check(tile.key(at: index)) }
    for (index, label) in labels.enumerated() { try label.check("label \(index + 1)") }
  }
}

extension Tile {
  fileprivate func check(_ key: String) throws(WordError) {
    try WordError.check(opacity, in: 0...1, "\(key) opacity")
    if let cornerRadius { try WordError.check(cornerRadius, in: 0...WordError.length, "\(key) radius") }
    try border?.check("\(key) border")
    for label in labels { try label.check("\(key) label") }
    try replicator?.check("\(key) replicator")
  }
}

extension Border {
  fileprivate func check(_ key: String) throws(WordError) {
    guard width > 0, width <= WordError.length else {
      throw WordError(key, "a width of \(width) is not above 0 and at most \(WordError.length)")
    }
  }
}

extension LinearGradient {
  fileprivate func check(_ key: String) throws(WordError) {
    try WordError.check(angle, in: -3600...3600, "\(key) angle")
  }
}

extension Replicator {
  fileprivate func check(_ key: String) throws(WordError) {
    guard Replicator.instances.contains(instanceCount) else {
      throw WordError(
        key, "there are \(instanceCount) instances, not 1 to \(Replicator.instances.upperBound)")
    }
    for number in [transform.a, transform.b, transform.c, transform.d] {
      try WordError.check(number, in: -100...100, "\(key) transform")
    }
    for number in [transform.tx, transform.ty] {
      try WordError.check(number, in: -WordError.length...WordError.length, "\(key) transform")
    }
    for index in 0..<3 {
      try WordError.check(colorOffset[index], in: -255...255, "\(key) colour offset")
      try WordError.check(colorScale[index], in: 0...16, "\(key) colour scale")
    }
    try WordError.check(opacityOffset, in: -1...1, "\(key) opacity offset")
    guard delay >= .zero, delay <= Replicator.longestDelay,
      delay * (instanceCount - 1) <= Replicator.longestDelay
    else {
      throw WordError(key, "all delays together are not from 0 to \(Replicator.longestDelay)")
    }
  }
}
