// Publishes what happens in a service, to the event log and to the snapshot destinations.
internal import FoundationEssentials
internal import GLPreview
internal import Logging

/// Publishes events.
struct ServiceEvents: Sendable {
  let log = EventLog()
  let logger: Logger

  /// The largest snapshot event, in bytes; it contains a thumbnail.
  private static let snapshotBytes = 24_000
  private static let thumbnail = Size(width: 160, height: 160)

  private struct CameraEvent: Encodable {
    let type = "camera"
    let camera: String
    let state: String
    let reason: String?
    let since: String
  }

  private struct ViewEvent: Encodable {
    let type = "view"
    let camera: String
    let view: String
  }

  private struct ServiceEvent: Encodable {
    let type = "service"
    let what: String
    var reason: String?
  }

  /// The renderer started or stopped working.
  func rendererChanged(_ state: RendererWatch.State) {
    publish(
      ServiceEvent(what: state.failure == nil ? "renderer-works" : "renderer-fails", reason: state.failure),
      as: "service")
  }

  /// A new configuration is in effect.
  func configurationChanged() { publish(ServiceEvent(what: "configuration"), as: "service") }

  /// A camera's state changed.
  func cameraChanged(_ camera: String, _ report: CameraReport) {
    publish(
      CameraEvent(
        camera: camera, state: report.state.rawValue, reason: report.reason, since: report.since.description),
      as: "camera")
  }

  /// A client changed a view.
  func viewChanged(_ camera: String, _ view: String) {
    publish(ViewEvent(camera: camera, view: view), as: "view")
  }

  /// A snapshot was taken; the event contains a thumbnail of its first picture.
  func took(_ snapshot: Snapshot) {
    do throws(EncodingError) {
      let event = try snapshot.event(
        maxEventBytes: Self.snapshotBytes, quality: 70, fitting: Self.thumbnail)
      log.publish(type: "snapshot", data: event.json)
    } catch {
      logger.error(
        "snapshot event not sent", metadata: ["camera": "\(snapshot.camera)", "reason": "\(error)"])
    }
  }

  private func publish(_ event: some Encodable, as type: String) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(event) else { return }
    log.publish(type: type, data: Array(data))
  }
}
