// At which node a camera is.

/// The node that serves a camera.
package enum CameraHome: Sendable, Hashable {
  /// Whichever node takes it.
  case any
  /// This one.
  case node(String)
}

extension CameraConfiguration {
  /// Whether the camera is plugged into a machine, so that another can't have it.
  var isDevice: Bool { SourceLocator(source).kind.origin == .device }

  /// Whether the camera may be at any node of a cluster with leases: as configured, else if it is a network camera.
  var moves: Bool {
    switch home {
    case .any?: true
    case .node?: false
    case nil: SourceLocator(source).kind.origin == .network
    }
  }
}

extension ServerConfiguration {
  /// The cameras of node `name` that are there in any case.
  package func fixedCameras(at name: String, hasLeases: Bool) -> Set<String> {
    Set(
      cameras.filter { camera in
        if case .node(let home)? = camera.home { return home == name }
        return !hasLeases || !camera.moves
      }.map(\.name))
  }

  /// Those of them that nodes do take, because there are leases.
  package var leasedCameras: Set<String> { cluster.broker == nil ? [] : movableCameras }

  /// The cameras that nodes may take by leases.
  var movableCameras: Set<String> { Set(cameras.filter(\.moves).map(\.name)) }

  /// The cameras that are at a node which the configuration names.
  package var homes: [String: String] {
    Dictionary(
      cameras.compactMap { camera in
        if case .node(let home)? = camera.home { (camera.name, home) } else { nil }
      }
    ) { $1 }
  }

  /// What the node serves while it holds leases for some cameras: without the other cameras, and without scenes of those.
  package func served(at node: String, holding held: Set<String>) -> ServerConfiguration {
    let fixed = fixedCameras(at: node, hasLeases: cluster.broker != nil)
    let names = fixed.union(held.intersection(movableCameras))
    var configuration = self
    configuration.cameras.removeAll { !names.contains($0.name) }
    configuration.scenes.removeAll { !Set($0.scene.sourceNames).isSubset(of: names) }
    return configuration
  }
}
