// How a configuration and the leases in the store describe one node.

extension ServerConfiguration {
  /// The identity of this configuration's node as the process `instance`. Its address is set later.
  func identity(of name: String, _ instance: String) -> LeaseState.Identity {
    LeaseState.Identity(
      node: name, instance: instance, url: "", slots: cluster.slots, movable: leasedCameras,
      fixed: cluster.broker == nil ? [] : fixedCameras(at: name, hasLeases: true))
  }
}

extension LeaseView {
  /// The epochs of these cameras' leases; nil for cameras without one.
  func epochs(of cameras: Set<String>, at node: String) -> [String: UInt64?] {
    Dictionary(
      uniqueKeysWithValues: cameras.map { camera in
        let owner = owners[camera].flatMap { $0.node == node ? $0 : nil }
        return (camera, served[camera] ?? owner?.epoch)
      })
  }
}
