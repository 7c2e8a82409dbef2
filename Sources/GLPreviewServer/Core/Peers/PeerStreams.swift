// Streams of other nodes' cameras. Clients that request one view with equal parameters share a stream, which
// is a source of the session.
internal import Hummingbird
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

package final class PeerStreams: Service, CustomStringConvertible {
  private let registry: CameraRegistry
  private let streams: StreamRegistry
  private let videos: VideoStreams
  private let catalogue: PeerCatalogue
  private let certificates: String?
  /// The number of changes after which another node, or this one, may serve a camera.
  let changes = Watched(0)
  /// Limits streams, each of which holds a source and a connection.
  private let gate = AdmissionLimit(capacity: 256, subject: "streams of other nodes")
  private let sources = Mutex<[Key: Source]>([:])

  /// A view with parameters, at its node.
  private struct Key: Hashable {
    let kind: StreamKind
    let peer: String
    let camera: String
    let view: String
    /// The parameters in sorted order, so that equal ones compare equal.
    let parameters: String

    /// The URL at the node. `/api/stream` sends locked views unchanged, as streams of several views need it.
    var url: String {
      let rest = parameters.isEmpty ? "" : "&\(parameters)"
      return switch kind {
      case .jpegs: "\(peer)/api/stream?view=\(camera)/\(view)\(rest)"
      case .video: "\(peer)/api/stream.mp4?src=\(camera)/\(view)\(rest)"
      }
    }
  }

  private struct Source {
    let target: ServedPreview
    let remoteView: RemoteView
    /// The token of the stream's requests.
    let token: String?
    let permit: AdmissionPermit
    var usedAt: CaptureInstant
    /// Whether the node has accepted the parameters. In streams, it ignores parameters that one of several
    /// views does not accept.
    var isAccepted = false
  }

  private static let pollInterval = Duration.seconds(1)
  private static let longestQuery = 2048
  /// The parameters that concern only the client's own connection.
  private static let others: Set<String> = [
    "view", "src", "key", "token", "extra_headers", "advance_headers", "dual_final_frames", "zero_data",
  ]
  /// The corresponding parameters for video.
  private static let othersOfVideo = others.union(["duration", "download"])

  init(
    _ registry: CameraRegistry, _ streams: StreamRegistry, _ videos: VideoStreams, _ catalogue: PeerCatalogue,
    certificates: String?
  ) {
    self.registry = registry
    self.streams = streams
    self.videos = videos
    self.catalogue = catalogue
    self.certificates = certificates
  }

  package var count: Int { sources.withLock { $0.count } }

  /// Returns a view of another node's camera; nil if the camera is this node's own, or unknown.
  ///
  /// - Throws: `Problem`: 404 if the node has no such view, 409 if it is switched off, 503 and 429 if there
  ///   are too many streams of other nodes.
  package func view(_ address: ViewAddress) throws -> ServedPreview? {
    guard let camera = address.camera, let route = catalogue.route(to: camera) else { return nil }
    let view = address.view ?? route.camera.views.first?.name ?? ""
    guard let known = route.camera.views.first(where: { $0.name == view }) else {
      let names = route.camera.views.map(\.name).joined(separator: ", ")
      throw Problem.notFound("camera '\(camera)' has no view '\(view)' (known: \(names))")
    }
    guard known.isEnabled else {
      throw Problem(.conflict, "view '\(view)' of '\(camera)' is switched off")
    }
    return try source(try key(route, view, address), isAccepted: address.isAccepted)
  }

  /// Whether a stream with these parameters exists already, and its node has accepted them.
  package func isAccepted(_ address: ViewAddress, at route: PeerRoute) throws -> Bool {
    let key = try key(route, address.view ?? "", address)
    return sources.withLock { $0[key].map { $0.isAccepted && !$0.remoteView.isOver } ?? false }
  }

  private func key(_ route: PeerRoute, _ view: String, _ address: ViewAddress) throws -> Key {
    let parameters = Self.parameters(in: address.parameters, of: address.kind)
    guard parameters.utf8.count <= Self.longestQuery else {
      throw Problem(.uriTooLong, "the parameters are too long")
    }
    return Key(
      kind: address.kind, peer: route.url, camera: route.camera.name, view: view, parameters: parameters)
  }

  /// Returns the parameters for the peer, in sorted order.
  static func parameters(in query: String, of kind: StreamKind = .jpegs) -> String {
    let others = kind == .video ? othersOfVideo : others
    return CacheBuster.removed(from: query).filter { parameter in
      !others.contains(String(parameter.prefix { $0 != "=" }).percentDecoded)
    }.sorted().joined(separator: "&")
  }

  private func source(_ key: Key, isAccepted: Bool) throws -> ServedPreview {
    try sources.withLock { sources in
      defer { if isAccepted { sources[key]?.isAccepted = true } }
      if let known = sources[key], !known.remoteView.isOver {
        sources[key]?.usedAt = CaptureClock.now
        return known.target
      }
      let permit = try gate.enter()
      let remoteView = RemoteView { [catalogue] in
        guard let route = catalogue.route(to: key.camera), route.url == key.peer, route.outage == nil,
          route.camera.state.isTrouble
        else { return nil }
        return route.camera.state
      }
      let target = try registry.addRemoteView(
        key.camera, key.view, at: key.url, options(key.kind), remoteView)
      if let old = sources[key] { registry.remove(remoteView: old.target) }
      sources[key] = Source(
        target: target, remoteView: remoteView, token: catalogue.client.token, permit: permit,
        usedAt: CaptureClock.now)
      return target
    }
  }

  private func options(_ kind: StreamKind) -> SourceOptions {
    var options = CameraConfiguration.usualOptions
    options.takesVideo = kind == .video
    options.live = registry.timeouts.peerStream
    // Frames of an ended connection are not shown to later clients, because the node may have hidden parts of
    // the view since.
    options.endedConnections = EndedConnections()
    options.headers = catalogue.client.fields(for: .read).map { .init(name: $0.name, value: $0.value) }
    options.redirects = .none
    options.trustedCertificates = certificates
    return options
  }

  /// Ends the streams of cameras that another node or this one serves now, and of views that were removed or
  /// switched off; after a change of the token, all streams. Streams of a camera between two owners continue.
  func followPeers() {
    let token = catalogue.client.token
    let ended = sources.withLock { sources in
      sources.filter { !$1.remoteView.isOver && ($1.token != token || !isOffered($0)) }.map(
        \.value.remoteView)
    }
    for remoteView in ended { remoteView.end() }
    if !ended.isEmpty { registry.grants.revokeLost() }
    changes.update { $0 += 1 }
  }

  private func isOffered(_ key: Key) -> Bool {
    if let route = catalogue.route(to: key.camera), route.url != key.peer { return false }
    return catalogue.offers(key.view, of: key.camera)
  }

  /// Follows changes of this node's and of peers' cameras, and removes streams without viewers after a while.
  package func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      try await withThrowingDiscardingTaskGroup { group in
        group.addTask { [self] in
          while true {
            let known = registry.served.changes
            followPeers()
            try await registry.served(after: known)
          }
        }
        group.addTask { [self] in
          while true {
            let known = catalogue.changes
            followPeers()
            try await catalogue.change(after: known)
          }
        }
        while true {
          try await Task.sleep(for: Self.pollInterval)
          removeUnwatched(at: CaptureClock.now)
        }
      }
    }
  }

  func removeUnwatched(at now: CaptureInstant) {
    let unwatched = sources.withLock { sources -> [ServedPreview] in
      var unwatched: [ServedPreview] = []
      for (key, source) in sources {
        let preview = source.target.preview
        if streams.clientCount(of: preview) + videos.clientCount(of: preview) > 0 {
          sources[key]?.usedAt = now
        } else if now - source.usedAt >= registry.timeouts.peerStreamLingers {
          sources[key] = nil
          unwatched.append(source.target)
        }
      }
      return unwatched
    }
    for target in unwatched { registry.remove(remoteView: target) }
  }
}
