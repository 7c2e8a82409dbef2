// Streams of other nodes' cameras. Clients that ask for the same view and words share one stream, which is a source of the session.
internal import GLPreview
internal import Hummingbird
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

final class PeerStreams: Service, CustomStringConvertible {
  private let registry: CameraRegistry
  private let streams: StreamRegistry
  private let videos: VideoStreams
  private let catalogue: PeerCatalogue
  private let certificates: String?
  /// Called after each look at the peers' lists.
  private let follower = Mutex<@Sendable () -> Void>({})
  /// Each holds a source, a connection and a place.
  private let gate = AdmissionLimit(capacity: 256, subject: "streams of other nodes")
  private let sources = Mutex<[Key: Source]>([:])

  /// What is asked of a camera's node.
  enum Kind: Hashable {
    case jpegs, video
  }

  /// A view with words, at its node.
  private struct Key: Hashable {
    let kind: Kind
    let peer: String
    let camera: String
    let view: String
    /// In one order, so that equal ones are equal.
    let words: String

    /// `/api/stream` leaves locked views as they are, as streams of several views need it.
    var url: String {
      let rest = words.isEmpty ? "" : "&\(words)"
      return switch kind {
      case .jpegs: "\(peer)/api/stream?view=\(camera)/\(view)\(rest)"
      case .video: "\(peer)/api/stream.mp4?src=\(camera)/\(view)\(rest)"
      }
    }
  }

  private struct Source {
    let target: ServedPreview
    let guest: Guest
    let permit: AdmissionPermit
    var usedAt: CaptureInstant
    /// Whether the node was asked, and does not refuse the words. It leaves out those that one of several views does not take.
    var isAccepted = false
  }

  /// The words of a video whose clients can't wait long for a key picture: WebRTC's, and MSE's where the camera's own are rare.
  static let frequentKeys = "keyframe=2"

  private static let looksEvery = Duration.seconds(1)
  private static let longestWords = 2048
  /// The parameters that are of this connection alone.
  private static let others: Set<String> = [
    "view", "src", "key", "token", "extra_headers", "advance_headers", "dual_final_frames", "zero_data",
  ]
  /// Of video, also these.
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

  func onFollow(_ action: @escaping @Sendable () -> Void) { follower.withLock { $0 = action } }

  var count: Int { sources.withLock { $0.count } }

  /// A view of another node's camera, with the words of a request; nil if the camera is this node's own, or nobody's.
  /// Requests of other nodes see only this node's cameras.
  ///
  /// - Throws: `Problem`: 404 if the node has no such view, 409 if it is switched off, 503 and 429 if too much is read from
  ///   other nodes.
  func view(
    _ view: String, of camera: String, as kind: Kind = .jpegs, _ request: Request
  ) throws -> ServedPreview? {
    guard !request.isFromPeer else { return nil }
    return try self.view(view, of: camera, as: kind, words: request.uri.query ?? "")
  }

  /// The same of a camera that another node has just had, and whose words that has accepted.
  func known(
    _ view: String, of camera: String, as kind: Kind, _ request: Request
  ) throws -> ServedPreview {
    guard let guest = try self.view(view, of: camera, as: kind, request) else {
      throw Problem.busy(.serviceUnavailable, "the nodes' cameras have just changed", retryAfter: 1)
    }
    if let route = catalogue.route(to: camera) {
      let key = try key(route, view, kind, request.uri.query ?? "")
      sources.withLock { $0[key]?.isAccepted = true }
    }
    return guest
  }

  /// The same with words alone; without a name, the first view.
  func view(
    _ view: String?, of camera: String, as kind: Kind, words: String = ""
  ) throws -> ServedPreview? {
    guard let route = catalogue.route(to: camera) else { return nil }
    let view = view ?? route.camera.views.first?.name ?? ""
    guard let known = route.camera.views.first(where: { $0.name == view }) else {
      let names = route.camera.views.map(\.name).joined(separator: ", ")
      throw Problem.notFound("camera '\(camera)' has no view '\(view)' (it has: \(names))")
    }
    guard known.isEnabled else {
      throw Problem(.conflict, "view '\(view)' of '\(camera)' is switched off")
    }
    return try source(try key(route, view, kind, words))
  }

  /// Whether somebody watches a view with the words of a request already, and its node has accepted them.
  func isAccepted(
    _ view: String, at route: PeerRoute, as kind: Kind, _ request: Request
  ) throws -> Bool {
    let key = try key(route, view, kind, request.uri.query ?? "")
    return sources.withLock { $0[key].map { $0.isAccepted && !$0.guest.isOver } ?? false }
  }

  private func key(_ route: PeerRoute, _ view: String, _ kind: Kind, _ query: String) throws -> Key {
    let words = Self.words(in: query, of: kind)
    guard words.utf8.count <= Self.longestWords else {
      throw Problem(.uriTooLong, "the parameters are too long")
    }
    return Key(kind: kind, peer: route.url, camera: route.camera.name, view: view, words: words)
  }

  /// The parameters that the peer gets, in one order.
  static func words(in query: String, of kind: Kind = .jpegs) -> String {
    let others = kind == .video ? othersOfVideo : others
    return CacheBuster.removed(from: query).filter { word in
      !others.contains(String(word.prefix { $0 != "=" }).percentDecoded)
    }.sorted().joined(separator: "&")
  }

  private func source(_ key: Key) throws -> ServedPreview {
    try sources.withLock { sources in
      if let known = sources[key], !known.guest.isOver {
        sources[key]?.usedAt = CaptureClock.now
        return known.target
      }
      let permit = try gate.enter()
      let guest = Guest { [catalogue] in
        guard let route = catalogue.route(to: key.camera), route.url == key.peer, route.outage == nil,
          route.camera.state.isTrouble
        else { return nil }
        return route.camera.state
      }
      let target = try registry.addGuest(key.camera, key.view, at: key.url, options(key.kind), guest)
      if let old = sources[key] { registry.remove(guest: old.target) }
      sources[key] = Source(target: target, guest: guest, permit: permit, usedAt: CaptureClock.now)
      return target
    }
  }

  private func options(_ kind: Kind) -> SourceOptions {
    var options = CameraConfiguration.usualOptions
    options.takesVideo = kind == .video
    options.live = registry.patience.peerStream
    // What the node has hidden meanwhile is for nobody who comes later.
    options.endedConnections = EndedConnections()
    options.headers = catalogue.client.fields(for: .read).map { .init(name: $0.name, value: $0.value) }
    options.redirects = .none
    options.trustedCertificates = certificates
    return options
  }

  /// Ends streams whose camera another node answers for now, or this one, and of views that are no more or are switched
  /// off; with another token, all. Those of a camera that is between two owners stay.
  func followPeers(isTokenOther: Bool = false) {
    let ended = sources.withLock { sources in
      sources.filter { !$1.guest.isOver && (isTokenOther || !isOffered($0)) }.map(\.value.guest)
    }
    for guest in ended { guest.end() }
    if !ended.isEmpty {
      streams.followViews()
      videos.followViews()
    }
    follower.withLock { $0 }()
  }

  private func isOffered(_ key: Key) -> Bool {
    if let route = catalogue.route(to: key.camera), route.url != key.peer { return false }
    return catalogue.offers(key.view, of: key.camera)
  }

  /// Follows what peers tell, and removes sources that nobody watches any more.
  func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      while !Task.isCancelled {
        try await Task.sleep(for: Self.looksEvery)
        followPeers()
        removeUnwatched(at: CaptureClock.now)
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
        } else if now - source.usedAt >= registry.patience.peerStreamLingers {
          sources[key] = nil
          unwatched.append(source.target)
        }
      }
      return unwatched
    }
    for target in unwatched { registry.remove(guest: target) }
  }
}
