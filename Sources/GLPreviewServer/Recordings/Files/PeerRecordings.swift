// Recordings of other nodes: merges their lists into one, and forwards requests to the node that has the
// recordings.
internal import Cluster
internal import FoundationEssentials
internal import Hummingbird
internal import HummingbirdCore
internal import NIOHTTP1

struct PeerRecordings: Sendable {
  let catalogue: PeerCatalogue
  let forwarder: PeerForwarder
  /// The address of the node that has a file. It may be another if the nodes or their states change.
  private let holders = SingleFlightCache<Place, String>(capacity: 1 << 20) { _ in 0 }
  let gate = AdmissionLimit(capacity: 16, subject: "searches for recordings")

  private struct Place: Hashable {
    let path: String
    let nodes: [String]
  }

  /// A node and its state, with the reason if its recordings are missing.
  struct Node: Encodable, Sendable {
    let name: String
    let state: String
    var reason: String?
  }

  /// The recordings of some nodes.
  struct Found: Sendable {
    var recordings: [Recording.Answer] = []
    var nodes: [Node] = []
  }

  private static let largestList = 2 << 20

  init(catalogue: PeerCatalogue, forwarder: PeerForwarder) {
    (self.catalogue, self.forwarder) = (catalogue, forwarder)
  }

  /// Whether a request also covers other nodes. A request from another node covers only this one.
  func areMeant(by request: Request) -> Bool { catalogue.isShared && !request.isFromPeer }

  /// The name of this node.
  var ownName: String { catalogue.cluster.name }

  /// Whether every client may see what was recorded here before another node took the camera, by how that
  /// node serves the view.
  func shows(_ view: String, of camera: String) -> Bool {
    catalogue.cluster[camera: camera]?.camera.views.contains {
      $0.name == view && $0.isEnabled && !$0.isLocked
    } ?? false
  }

  /// Returns the other nodes' answers to a request for a list.
  func list(_ request: Request, _ context: ServiceContext) async throws -> Found {
    let target = request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
    let peers = catalogue.cluster.counted
    return try await withThrowingTaskGroup(of: (Int, Found).self) { group in
      for (index, peer) in peers.enumerated() {
        group.addTask { (index, try await list(target, context, of: peer)) }
      }
      var answers = [Found](repeating: Found(), count: peers.count)
      for try await (index, found) in group { answers[index] = found }
      return answers.reduce(into: Found()) { all, found in
        all.recordings += found.recordings
        all.nodes += found.nodes
      }
    }
  }

  private struct List: Decodable {
    let recordings: [Recording.Answer]
  }

  private func list(_ target: String, _ context: ServiceContext, of peer: KnownPeer) async throws -> Found {
    func missing(_ state: PeerState, _ reason: String?) -> Found {
      Found(nodes: [Node(name: peer.name, state: state.rawValue, reason: reason)])
    }
    guard peer.state == .up else { return missing(peer.state, peer.reason) }
    do {
      let (status, bytes) = try await forwarder.answer(
        to: .GET, target, context, of: peer, atMost: Self.largestList)
      guard status == .ok else { return missing(.lost, "answered \(status.code)") }
      guard let list = try? JSONDecoder().decode(List.self, from: Data(bytes.readableBytesView)) else {
        return missing(.lost, "sent no list of recordings")
      }
      let valid = list.recordings.filter(\.isValid).map { recording in
        var recording = recording
        recording.node = peer.name
        return recording
      }
      return Found(recordings: valid, nodes: [Node(name: peer.name, state: PeerState.up.rawValue)])
    } catch let error as CancellationError {
      throw error
    } catch {
      return missing(.lost, (error as? Problem)?.detail ?? "broke the connection")
    }
  }

  // MARK: Files

  /// Returns the answer of the node that has a file, or with `isOfQuery` the picture that the query names.
  ///
  /// - Throws: `Problem`: 404 if no node that answers has it, 503 if a node that may have it can't say.
  func pass(
    _ request: Request, _ context: ServiceContext, isOfQuery: Bool = false
  ) async throws -> Response {
    let peers = catalogue.cluster.counted
    let query = isOfQuery ? request.uri.query.map { "?\($0)" } ?? "" : ""
    let place = Place(path: request.uri.path + query, nodes: peers.map { "\($0.url) \($0.state)" })
    let url = try await context.whileClientStays { [self] in
      try await holders.value(place, { try gate.enter() }) {
        // The node that serves the camera has its newest recordings.
        if isOfQuery, let owner = owner(request, in: peers), await has(place.path, context, owner) == true {
          return owner.url
        }
        return try await find(place.path, context, in: peers)
      }
    }
    guard let peer = peers.first(where: { $0.url == url }) else {
      throw Problem.notFound("no such recording")
    }
    return try await context.whileClientStays { [self] in
      try await forwarder.pass(request, context, to: peer)
    }
  }

  /// Whether a node has a file; nil if it gives no clear answer.
  private func has(_ path: String, _ context: ServiceContext, _ peer: KnownPeer) async -> Bool? {
    switch try? await forwarder.answer(to: .HEAD, path, context, of: peer, atMost: 0).0 {
    // A recording that this client may not see, or has to request in another way, exists too.
    case .ok, .forbidden, .badRequest, .conflict: true
    case .notFound: false
    default: nil
    }
  }

  /// The node that serves the camera of a query, if that is another one.
  private func owner(_ request: Request, in peers: [KnownPeer]) -> KnownPeer? {
    let parts = request.uri.path.split(separator: "/")
    guard parts.count > 1 else { return nil }
    let name = String(parts[1]).percentDecoded
    let camera = parts.count > 2 ? name : name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
    let route = catalogue.route(to: camera)
    return peers.first { $0.url == route?.url && $0.state == .up }
  }

  private func find(
    _ path: String, _ context: ServiceContext, in peers: [KnownPeer]
  ) async throws -> String {
    let (holder, silent) = try await withThrowingTaskGroup(of: (KnownPeer, Bool?).self) { group in
      for peer in peers where peer.state == .up {
        group.addTask { (peer, await has(path, context, peer)) }
      }
      defer { group.cancelAll() }
      var silent: [String] = []
      while let (peer, has) = try await group.next() {
        if has == true { return (peer.url as String?, silent) }
        if has == nil { silent.append("'\(peer.name)'") }
      }
      return (nil, silent.sorted())
    }
    if let holder { return holder }
    guard silent.isEmpty else {
      throw Problem(
        .serviceUnavailable,
        "the node of this recording is unknown; no answer from: \(silent.joined(separator: ", "))",
        headers: ["Retry-After": "2"])
    }
    let away = peers.filter { $0.state != .up }.map { "'\($0.name)'" }.joined(separator: ", ")
    throw Problem.notFound(
      "no such recording" + (away.isEmpty ? "" : " on the nodes that answer; unavailable: \(away)"))
  }
}

extension Recording.Answer {
  /// Whether another node's entry has the form that this service produces.
  fileprivate var isValid: Bool {
    let parts = url.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0].isEmpty, parts[1] == "recordings", url.utf8.count <= 512,
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x3F && $0 != 0x23 }),
      StampedFileName(
        camera: String(parts[2]).percentDecoded, file: String(parts[3]).percentDecoded, .recording) != nil
    else { return false }
    return [camera, view].allSatisfy { $0.utf8.count <= 64 } && start.utf8.count <= 32
      && duration.map { $0.isFinite && $0 >= 0 } ?? true && bytes >= 0 && [nil, "control"].contains(file)
  }
}
