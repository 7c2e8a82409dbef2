// WebRTC as a feature of the service.
internal import Hummingbird
package import ServiceLifecycle

package struct WebRTCFeature: ServiceFeature {
  let sessions: WHEPSessions
  package let routes: WHEPRoutes

  package init(_ core: ServiceCore) {
    sessions = WHEPSessions(
      core.directory, core.configuration.webRTC, at: core.configuration.bind,
      capacity: core.configuration.limits.webRTCSessions, logger: core.logger)
    routes = WHEPRoutes(
      registry: core.registry, sessions: sessions, videos: core.videos, directory: core.directory)
  }

  package var services: [any Service] { [sessions] }
  package var metricFamilies: [MetricFamily] { sessions.counters.families }

  package func addRoutes(to group: ServiceRoutes) { routes.add(to: group) }

  package func apply(_ new: ValidatedConfiguration, replacing old: ServedState) {
    sessions.apply(new.webRTC)
  }

  package var pathNames: [String] { ["whep"] }

  package func paths(of view: ServedPreview) -> [String: String] {
    sessions.hasAddress ? ["whep": "/cameras/\(view.camera)/\(view.name)/whep"] : [:]
  }
}
