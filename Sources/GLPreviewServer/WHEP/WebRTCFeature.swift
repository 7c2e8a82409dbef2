// WebRTC as a feature of the service.
internal import GLPreview
internal import Hummingbird
internal import ServiceLifecycle

struct WebRTCFeature: ServiceFeature {
  let sessions: WHEPSessions
  let routes: WHEPRoutes

  init(_ core: ServiceCore) {
    sessions = WHEPSessions(
      core.directory, core.configuration.webRTC, at: core.configuration.bind,
      capacity: core.configuration.limits.webRTCSessions, logger: core.logger)
    routes = WHEPRoutes(
      registry: core.registry, sessions: sessions, videos: core.videos, directory: core.directory)
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
