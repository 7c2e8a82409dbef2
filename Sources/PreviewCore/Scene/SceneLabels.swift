// Presets of labels for a scene.

/// A preset of labels, selected by a parameter.
package enum SceneLabels: String, Sendable, CaseIterable {
  case none
  /// The source's name, at the bottom left of each tile.
  case names
  /// The scene's time, at the top right.
  case time
  case all

  package func add(to scene: inout Scene) {
    if self == .names || self == .all {
      for index in scene.tiles.indices { scene.tiles[index].label = Label(name: scene.tiles[index].source) }
    }
    if self == .time || self == .all {
      scene.labels = [Label(.time(), background: Label.Background(), position: .topRight, margin: 16)]
    }
  }
}
