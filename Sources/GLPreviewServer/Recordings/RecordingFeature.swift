// Recordings as a feature of the service.
package import Cluster
internal import Hummingbird
package import ServiceLifecycle

package struct RecordingFeature: ServiceFeature {
  private let core: ServiceCore
  /// Nil if nothing is recorded.
  package let recorders: Recorders?
  private let rights: RecordingRights
  private let moments: RecordedMoments?

  /// `forwarder` requests the recordings of other nodes.
  package init(_ core: ServiceCore, _ forwarder: PeerForwarder) {
    self.core = core
    recorders = core.configuration.recordings.map {
      Recorders(
        core.registry, core.videos, RecordingFolder($0, metrics: core.metrics, logger: core.logger),
        core.events, logger: core.logger)
    }
    rights = RecordingRights(
      registry: core.registry, assignment: core.assignment,
      others: PeerRecordings(catalogue: core.peers, forwarder: forwarder), metrics: core.metrics,
      folder: recorders?.folder)
    moments = recorders.map {
      RecordedMoments(
        $0.folder, within: core.registry.budget, maximumPixels: core.configuration.limits.pixels)
    }
  }

  package var services: [any Service] { recorders.map { [$0.folder, $0] } ?? [] }

  package func addRoutes(to group: ServiceRoutes) {
    RecordingRoutes(registry: core.registry, recorders: recorders, rights: rights).add(to: group)
    let pictures = StillPictures(core.registry, core.snapshots, counting: core.metrics)
    let spans = RecordedSpanRoutes(rights: rights, folder: recorders?.folder)
    RecordedMomentRoutes(rights: rights, moments: moments, pictures: pictures, spans: spans).add(to: group)
    StoryboardRoutes(rights: rights, moments: moments, pictures: pictures).add(to: group)
  }

  package func apply(_ new: ValidatedConfiguration, replacing old: ServedState) {
    recorders?.masksChanged(from: old.cameras.map(\.configuration), to: new.cameras)
  }

  package func members(of camera: ServedCamera) -> [String: JSONValue] {
    members(of: camera) { ["active": .bool(recorders?.isRecording($0) ?? false)] }
  }

  package var cameraMembers: [JSONMember] {
    [
      .optional(
        "recording", .object([.init("when", .text), .optional("active", .boolean)]),
        "for a camera that can be recorded")
    ]
  }

  package func lastingMembers(of camera: ServedCamera) -> [String: JSONValue] {
    members(of: camera) { _ in [:] }
  }

  private func members(
    of camera: ServedCamera, and others: (_ camera: String) -> [String: JSONValue]
  ) -> [String: JSONValue] {
    let when = camera.configuration.record.when
    guard when != .never else { return [:] }
    let members: [String: JSONValue] = ["when": .string(when.rawValue)]
    return ["recording": .object(members.merging(others(camera.configuration.name)) { $1 })]
  }

  package var metricFamilies: [MetricFamily] {
    [MetricFamily("glpreview_cameras_recording", value: Double(recorders?.count ?? 0))]
  }
}
