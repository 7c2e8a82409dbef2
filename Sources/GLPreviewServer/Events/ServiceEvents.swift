// What happens in a service, as events: in the log that browsers follow, and for those who keep snapshots.
internal import FoundationEssentials
internal import GLPreview
internal import Logging

/// Tells what happens.
struct ServiceEvents: Sendable {
  let log = EventLog()
  let logger: Logger

  /// The most bytes of a snapshot's event: its picture is a thumbnail.
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

  /// The renderer began or ceased to work.
  func rendererChanged(_ state: RendererWatch.State) {
    publish(
      ServiceEvent(what: state.failure == nil ? "renderer-works" : "renderer-fails", reason: state.failure),
      as: "service")
  }

  /// Another configuration holds.
  func configurationChanged() { publish(ServiceEvent(what: "configuration"), as: "service") }

  /// A camera is another way.
  func cameraChanged(_ camera: String, _ report: CameraReport) {
    publish(
      CameraEvent(
        camera: camera, state: report.state.rawValue, reason: report.reason, since: report.since.description),
      as: "camera")
  }

  /// A view was changed by somebody.
  func viewChanged(_ camera: String, _ view: String) {
    publish(ViewEvent(camera: camera, view: view), as: "view")
  }

  /// A snapshot was taken: its first picture is told, small.
  func took(_ snapshot: Snapshot) {
    do throws(EncodingError) {
      let event = try snapshot.event(
        maxEventBytes: Self.snapshotBytes, quality: 70, fitting: Self.thumbnail)
      log.publish(type: "snapshot", data: event.json)
    } catch {
      logger.error(
        "a snapshot has no event", metadata: ["camera": "\(snapshot.camera)", "reason": "\(error)"])
    }
  }

  private func publish(_ event: some Encodable, as type: String) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(event) else { return }
    log.publish(type: type, data: Array(data))
  }
}
