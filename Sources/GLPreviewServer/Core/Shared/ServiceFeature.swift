// A feature of the service: all that the assembly knows of RTSP, MQTT and the like.
package import Hummingbird
package import ServiceLifecycle

/// A part of the service that clients can do without. `ServiceParts` has the one list of all.
///
/// A feature stands in a folder of its own with its routes, metrics and services, and takes what all share from a
/// `ServiceCore`. It needs to say only what it has.
package protocol ServiceFeature: Sendable {
  /// The services that run until the server has ended.
  var services: [any Service] { get }
  /// The services that end before the server does, while clients can still be notified.
  var servicesEndingFirst: [any Service] { get }
  var metricFamilies: [MetricFamily] { get }

  func addRoutes(to group: ServiceRoutes)

  /// All routes of the service are there. Requests that come by other protocols than HTTP can be answered by them, and other
  /// nodes can learn which cameras are served.
  func answer(
    with routes: any HTTPResponder<ServiceContext>,
    listing cameras: @escaping @Sendable () -> [[String: JSONValue]])

  /// The service listens, at `port` unless it is at a local socket.
  func didStart(at port: Int?)

  /// Takes a new configuration over, as far as that needs no restart. Its cameras are served already; `old` is what was served
  /// before.
  func apply(_ new: ValidatedConfiguration, replacing old: ServedState)

  /// The members that the feature adds to a camera in `/api/cameras`.
  func members(of camera: ServedCamera) -> [String: JSONValue]
  /// The members that other nodes learn, which ask only now and then: without all that changes by itself.
  func lastingMembers(of camera: ServedCamera) -> [String: JSONValue]
  /// The paths that the feature adds to `urls` of a view.
  func paths(of view: ServedPreview) -> [String: String]
  /// The description of these members, the names of these paths, and the description of what `extend` adds.
  var cameraMembers: [JSONMember] { get }
  var pathNames: [String] { get }
  var listingMembers: [JSONMember] { get }
  /// Adds to the answer of `/api/cameras`.
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
  package func paths(of view: ServedPreview) -> [String: String] { [:] }
  package var cameraMembers: [JSONMember] { [] }
  package var pathNames: [String] { [] }
  package var listingMembers: [JSONMember] { [] }
  package func extend(_ listing: inout CameraListing, for request: Request, _ role: Role?) {}
}

/// A feature that is one service.
extension ServiceFeature where Self: Service {
  package var services: [any Service] { [self] }
}

extension CustomStringConvertible where Self: Service {
  /// The name in logs, without the content.
  package var description: String { "\(Self.self)" }
}
