// The interface of a feature, such as RTSP or MQTT, to the rest of the service.
package import Hummingbird
package import ServiceLifecycle

/// An optional part of the service. `ServiceParts` has the only list of all features.
///
/// A feature has its own folder with its routes, metrics and services, and uses the shared parts in
/// `ServiceCore`. It implements only the members that it needs.
package protocol ServiceFeature: Sendable {
  /// The services that run until the server has ended.
  var services: [any Service] { get }
  /// The services that end before the server does, while clients can still be notified.
  var servicesEndingFirst: [any Service] { get }
  var metricFamilies: [MetricFamily] { get }

  func addRoutes(to group: ServiceRoutes)

  /// Called when all routes have been added. The feature can use them to answer requests of other protocols
  /// than HTTP, and can send the list of served cameras to other nodes.
  func answer(
    with routes: any HTTPResponder<ServiceContext>,
    listing cameras: @escaping @Sendable () -> [[String: JSONValue]])

  /// Called when the service listens; `port` is nil for a Unix socket.
  func didStart(at port: Int?)

  /// Applies a new configuration, as far as that needs no restart. Its cameras are already served; `old` is
  /// the state that was served before.
  func apply(_ new: ValidatedConfiguration, replacing old: ServedState)

  /// The members that the feature adds to a camera in `/api/cameras`.
  func members(of camera: ServedCamera) -> [String: JSONValue]
  /// The members for other nodes, which poll only now and then: without values that change by themselves.
  func lastingMembers(of camera: ServedCamera) -> [String: JSONValue]
  /// The members that the feature adds to a scene.
  func members(of scene: ServedScene) -> [String: JSONValue]
  func lastingMembers(of scene: ServedScene) -> [String: JSONValue]
  /// The paths that the feature adds to `urls` of a view.
  func paths(of view: ServedPreview) -> [String: String]
  /// The schemas of these members, the names of these paths, and the schemas of the members that `extend`
  /// adds.
  var cameraMembers: [JSONMember] { get }
  var pathNames: [String] { get }
  var listingMembers: [JSONMember] { get }
  /// Extends the answer of `/api/cameras`.
  func extend(_ listing: inout CameraListing, for request: Request, _ role: Role?)
}

/// The answer of `/api/cameras`.
package struct CameraListing {
  package var cameras: [[String: JSONValue]]
  /// All other members.
  package var members: [String: JSONValue]
}

extension ServiceFeature {
  package var services: [any Service] { [] }
  package var servicesEndingFirst: [any Service] { [] }
  package var metricFamilies: [MetricFamily] { [] }
  package func addRoutes(to group: ServiceRoutes) {}
  package func answer(
    with routes: any HTTPResponder<ServiceContext>,
    listing cameras: @escaping @Sendable () -> [[String: JSONValue]]
  ) {}
  package func didStart(at port: Int?) {}
  package func apply(_ new: ValidatedConfiguration, replacing old: ServedState) {}
  package func members(of camera: ServedCamera) -> [String: JSONValue] { [:] }
  package func lastingMembers(of camera: ServedCamera) -> [String: JSONValue] { [:] }
  package func members(of scene: ServedScene) -> [String: JSONValue] { [:] }
  package func lastingMembers(of scene: ServedScene) -> [String: JSONValue] { [:] }
  package func paths(of view: ServedPreview) -> [String: String] { [:] }
  package var cameraMembers: [JSONMember] { [] }
  package var pathNames: [String] { [] }
  package var listingMembers: [JSONMember] { [] }
  package func extend(_ listing: inout CameraListing, for request: Request, _ role: Role?) {}
}

/// A feature that is itself its only service.
extension ServiceFeature where Self: Service {
  package var services: [any Service] { [self] }
}

extension CustomStringConvertible where Self: Service {
  /// The name in logs, without the content.
  package var description: String { "\(Self.self)" }
}
