// The configured destinations of snapshots: a folder, a webhook.
internal import GLPreview
internal import Logging
internal import ServiceLifecycle

/// The destinations of a service's snapshots. None of them delays the client that takes one.
struct SnapshotSinks: Sendable {
  private let folder: SnapshotFolder?
  private let webhook: WebhookSender?
  private let logger: Logger

  init(_ destinations: SnapshotDestinations, metrics: ServiceMetrics, logger: Logger) {
    folder = destinations.folder.map { SnapshotFolder($0, metrics: metrics, logger: logger) }
    webhook = destinations.webhook.map { WebhookSender($0, metrics: metrics, logger: logger) }
    self.logger = logger
  }

  /// The services that run for them.
  var services: [any Service] { [folder as (any Service)?, webhook].compactMap(\.self) }

  /// Passes a snapshot to all destinations; returns before they are done.
  func take(_ snapshot: Snapshot) {
    folder?.add(snapshot)
    guard let webhook else { return }
    Task {
      for picture in snapshot.pictures {
        do throws(EncodingError) {
          webhook.send(try snapshot.event(view: picture.name, maxEventBytes: webhook.maximumEventBytes))
        } catch {
          logger.error(
            "snapshot too large for the webhook",
            metadata: ["camera": "\(snapshot.camera)", "view": "\(picture.name)", "reason": "\(error)"])
        }
      }
    }
  }
}
