// Checks of a scene's values.

extension Scene {
  /// Checks everything that the layout does not check itself.
  func check() throws(ParameterError) {
    try ParameterError.check(cornerRadius, in: 0...ParameterError.length, "radius")
    try speakingBorder.check("speaking border")
    if case .inset(let inset) = layout {
      try ParameterError.check(inset.cornerRadius, in: 0...ParameterError.length, "inset radius")
    }
    if case .gradient(let gradient) = background { try gradient.check("background") }
    for (index, tile) in tiles.enumerated() { try tile.check(tile.key(at: index)) }
    for (index, label) in labels.enumerated() { try label.check("label \(index + 1)") }
  }
}

extension Tile {
  fileprivate func check(_ key: String) throws(ParameterError) {
    try ParameterError.check(opacity, in: 0...1, "\(key) opacity")
    if let cornerRadius {
      try ParameterError.check(cornerRadius, in: 0...ParameterError.length, "\(key) radius")
    }
    try border?.check("\(key) border")
    for label in labels { try label.check("\(key) label") }
    try replicator?.check("\(key) replicator")
  }
}

extension Border {
  fileprivate func check(_ key: String) throws(ParameterError) {
    guard width > 0, width <= ParameterError.length else {
      throw ParameterError(key, "a width of \(width) is not above 0 and at most \(ParameterError.length)")
    }
  }
}

extension LinearGradient {
  fileprivate func check(_ key: String) throws(ParameterError) {
    try ParameterError.check(angle, in: -3600...3600, "\(key) angle")
  }
}

extension Replicator {
  fileprivate func check(_ key: String) throws(ParameterError) {
    guard Replicator.instances.contains(instanceCount) else {
      throw ParameterError(
        key, "there are \(instanceCount) instances, not 1 to \(Replicator.instances.upperBound)")
    }
    for number in [transform.a, transform.b, transform.c, transform.d] {
      try ParameterError.check(number, in: -100...100, "\(key) transform")
    }
    for number in [transform.tx, transform.ty] {
      try ParameterError.check(number, in: -ParameterError.length...ParameterError.length, "\(key) transform")
    }
    for index in 0..<3 {
      try ParameterError.check(colorOffset[index], in: -255...255, "\(key) colour offset")
      try ParameterError.check(colorScale[index], in: 0...16, "\(key) colour scale")
    }
    try ParameterError.check(opacityOffset, in: -1...1, "\(key) opacity offset")
    guard delay >= .zero, delay <= Replicator.longestDelay,
      delay * (instanceCount - 1) <= Replicator.longestDelay
    else {
      throw ParameterError(key, "all delays together are not from 0 to \(Replicator.longestDelay)")
    }
  }
}
