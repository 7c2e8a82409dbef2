// Motion as a feature of the service.
internal import Hummingbird
package import ServiceLifecycle

package struct MotionFeature: ServiceFeature {
  private let core: ServiceCore
  let motion: MotionWatch

  /// `onChange` is called for changes of a camera's motion, after they were published as events.
  package init(
    _ core: ServiceCore, onChange: @escaping @Sendable (_ camera: String, MotionEpisodes.Change) -> Void
  ) {
    self.core = core
    motion = MotionWatch(core.registry, logger: core.logger) {
      [registry = core.registry, events = core.events] in
      events.motionChanged($0, $1, showsAll: registry.served[camera: $0]?.showsAll ?? false)
      onChange($0, $1)
    }
  }

  /// Events in progress end while clients can still be notified.
  package var servicesEndingFirst: [any Service] { [motion] }

  package func addRoutes(to group: ServiceRoutes) {
    MotionRoutes(registry: core.registry, motion: motion, watch: core.watch).add(to: group)
  }

  package func members(of camera: ServedCamera) -> [String: JSONValue] {
    motion.json(of: camera).map { ["motion": .object($0)] } ?? [:]
  }

  package var cameraMembers: [JSONMember] {
    [.optional("motion", WatchedMotion.schema, "for a camera with motion detection")]
  }

  package func lastingMembers(of camera: ServedCamera) -> [String: JSONValue] {
    motion[camera].map { ["motion": ["watched": .bool($0.settings != nil)]] } ?? [:]
  }

  package var metricFamilies: [MetricFamily] {
    let watched = core.registry.cameras.compactMap { camera in
      motion[camera].map { (camera.configuration.name, $0) }
    }
    func family(
      _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: (WatchedMotion) -> Double
    ) -> MetricFamily {
      let samples = watched.map { camera, motion in
        MetricFamily.Sample(labels: [("camera", camera)], value: value(motion))
      }
      return MetricFamily(name, kind, samples, help: help)
    }
    return [
      family(
        "glpreview_motion_active", .gauge,
        "1 during a motion event of a camera with motion detection, else 0."
      ) { $0.episodes.current == nil ? 0 : 1 },
      family(
        "glpreview_motion_events_total", .counter, "Motion events of a camera that have begun."
      ) { Double($0.events) },
      family(
        "glpreview_motion_pictures_total", .counter, "Frames of a camera that were checked for motion."
      ) { Double($0.pictures) },
    ]
  }
}
