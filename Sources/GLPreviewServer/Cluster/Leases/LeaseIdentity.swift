// What a configuration and the leases in the store say of one node.

extension ServerConfiguration {
  /// What the node of this configuration is to others, as the process `instance`. Its address comes later.
  func identity(of name: String, _ instance: String) -> LeaseState.Identity {
    LeaseState.Identity(
      node: name, instance: instance, url: "", slots: cluster.slots, movable: leasedCameras,
      fixed: cluster.broker == nil ? [] : fixedCameras(at: name, hasLeases: true))
  }
}

extension LeaseView {
  /// These cameras of `node` with the epochs of their leases; nil for those without.
  func epochs(of cameras: Set<String>, at node: String) -> [String: UInt64?] {
    Dictionary(
      uniqueKeysWithValues: cameras.map { camera in
        let owner = owners[camera].flatMap { $0.node == node ? $0 : nil }
        return (camera, served[camera] ?? owner?.epoch)
      })
  }
}
