// The peers and their cameras in the answer of `/api/cameras`.

extension PeerRoute {
  /// Returns the camera as its node lists it, with the node. A camera whose node does not answer is lost.
  package func json(for role: Role?) -> [String: JSONValue] {
    var members = camera.members
    members["node"] = .string(node)
    if isMember { members["epoch"] = epoch.map { .integer(Int(clamping: $0)) } }
    if role != .read { members["node_url"] = .string(url) }
    guard let outage else { return members }
    members["state"] = .string(state.rawValue)
    members["reason"] = .string("node '\(node)' \(outage)")
    members["since"] = .string("\(since)")
    members["fps"] = 0
    return members
  }
}

extension PeerCatalogue {
  /// Returns the peers in the order of the configuration. Their addresses are omitted for clients with the
  /// role `read`.
  package func json(for role: Role?) -> [JSONValue] {
    let (known, local) = (cluster, localNames())
    return known.peers.map { peer in
      var members: [String: JSONValue] = [
        "name": .string(peer.name), "state": .string(peer.state.rawValue), "since": .string("\(peer.since)"),
        "cameras": .integer(peer.listing.cameras.count),
      ]
      if role != .read { members["url"] = .string(peer.url) }
      members["reason"] = peer.reason.map(JSONValue.string)
      let conflicts = known.conflicts(of: peer, local: local)
      if !conflicts.isEmpty { members["conflicts"] = .array(conflicts.map(JSONValue.string)) }
      return .object(members)
    }
  }
}
