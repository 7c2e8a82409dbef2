// All routes of the service: the core's, and those of its features.
package import Hummingbird

package struct AllRoutes: Sendable {
  private let core: ServiceCore
  private let views: ViewRoutes
  private let features: [any ServiceFeature]

  package init(_ core: ServiceCore, _ views: ViewRoutes, _ features: [any ServiceFeature]) {
    (self.core, self.views, self.features) = (core, views, features)
  }

  private var cameras: CameraRoutes { CameraRoutes(core: core, features: features) }

  package func add(to group: ServiceRoutes) {
    group.add(middleware: QueryMiddleware())
    for feature in features { feature.addRoutes(to: group) }
    views.add(to: group)
    cameras.add(to: group)
    MoveRoutes(core: core).add(to: group)
    CaptureRoutes(registry: core.registry, snapshots: core.snapshots).add(to: group)
    ControlRoutes(registry: core.registry, logger: core.logger).add(to: group)
    LinkRoutes(access: core.access, directory: core.directory, logger: core.logger).add(to: group)
    EventRoutes(log: core.events.log).add(to: group)
    HealthRoutes(watch: core.watch, renderer: core.renderer).add(to: group)
    MetricsRoutes { core.metricFamilies + features.flatMap(\.metricFamilies) }.add(to: group)
    APIRoutes(version: core.version).add(to: group)
    DashboardRoutes { try await views.compatibility.action($0, $1) }.add(to: group)
  }

  /// From now on, the features answer requests by these routes.
  package func answer(with responder: any HTTPResponder<ServiceContext>) {
    for feature in features { feature.answer(with: responder, listing: cameras.lastingCameras) }
  }
}
