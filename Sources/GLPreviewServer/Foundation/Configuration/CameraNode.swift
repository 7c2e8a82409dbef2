// The assignment of cameras to nodes.

/// The node that serves a camera.
package enum CameraNode: Sendable, Hashable {
  /// Any node that takes a lease for the camera.
  case any
  /// The node with this name.
  case node(String)
}

extension CameraConfiguration {
  /// Whether the camera is a device of its machine, so that no other node can open it.
  var isDevice: Bool { SourceLocator(source).kind.origin == .device }

  /// Whether any node of a cluster with leases may own the camera: as configured; by default only for network
  /// cameras.
  var moves: Bool {
    switch home {
    case .any?: true
    case .node?: false
    case nil: SourceLocator(source).kind.origin == .network
    }
  }
}

extension ServerConfiguration {
  /// The cameras that node `name` serves without a lease.
  package func fixedCameras(at name: String, hasLeases: Bool) -> Set<String> {
    Set(
      cameras.filter { camera in
        if case .node(let home)? = camera.home { return home == name }
        return !hasLeases || !camera.moves
      }.map(\.name))
  }

  /// The cameras that nodes take by leases; empty without NATS servers.
  package var leasedCameras: Set<String> { cluster.broker == nil ? [] : movableCameras }

  /// The cameras that nodes may take by leases, if there are NATS servers.
  var movableCameras: Set<String> { Set(cameras.filter(\.moves).map(\.name)) }

  /// The nodes of the cameras for which the configuration names one.
  package var homes: [String: String] {
    Dictionary(
      cameras.compactMap { camera in
        if case .node(let home)? = camera.home { (camera.name, home) } else { nil }
      }
    ) { $1 }
  }

  /// Returns the configuration that `node` serves while it holds the leases of `held`. It omits all other
  /// cameras, and the scenes that show one of these.
  package func served(at node: String, holding held: Set<String>) -> ServerConfiguration {
    let fixed = fixedCameras(at: node, hasLeases: cluster.broker != nil)
    let names = fixed.union(held.intersection(movableCameras))
    var configuration = self
    configuration.cameras.removeAll { !names.contains($0.name) }
    configuration.scenes.removeAll { !Set($0.scene.sourceNames).isSubset(of: names) }
    return configuration
  }
}
