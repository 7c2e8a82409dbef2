// WebRTC as a feature of the service.
internal import GLPreview
internal import Hummingbird
internal import ServiceLifecycle

struct WebRTCFeature: ServiceFeature {
  let sessions: WHEPSessions
  let routes: WHEPRoutes

  init(_ core: ServiceCore) {
    let (peers, peerStreams) = (core.peers, core.peerStreams)
    let sessions = WHEPSessions(
      core.registry, core.configuration.webRTC, at: core.configuration.bind,
      elsewhere: .init(moves: { peers.moves($0) }, offers: { peers.offers($0, of: $1) }),
      capacity: core.configuration.limits.webRTCSessions, logger: core.logger)
    self.sessions = sessions
    peerStreams.onFollow { sessions.followViews() }
    routes = WHEPRoutes(registry: core.registry, sessions: sessions, videos: core.videos) {
      try peerStreams.view($0, of: $1, as: .video, words: PeerStreams.frequentKeys)
    }
  }

  var services: [any Service] { [sessions] }
  var metricFamilies: [MetricFamily] { sessions.counters.families }

  func addRoutes(to group: ServiceRoutes) { routes.add(to: group) }

  func apply(_ new: ValidatedConfiguration, replacing old: ServedState) {
    sessions.apply(new.webRTC)
  }

  func paths(of view: ServedPreview) -> [String: String] {
    sessions.hasAddress ? ["whep": "/cameras/\(view.camera)/\(view.name)/whep"] : [:]
  }
}
