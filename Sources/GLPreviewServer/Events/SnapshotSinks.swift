// Where snapshots go beside the one who asked: a folder, a server, as the configuration has it.
internal import GLPreview
internal import Logging
internal import ServiceLifecycle

/// The destinations of a service's snapshots. None of them holds up who takes one.
struct SnapshotSinks: Sendable {
  private let folder: SnapshotFolder?
  private let webhook: WebhookSender?
  private let logger: Logger

  init(_ destinations: SnapshotDestinations, metrics: ServiceMetrics, logger: Logger) {
    folder = destinations.folder.map { SnapshotFolder($0, metrics: metrics, logger: logger) }
    webhook = destinations.webhook.map { WebhookSender($0, metrics: metrics, logger: logger) }
    self.logger = logger
  }

  /// What runs for them.
  var services: [any Service] { [folder as (any Service)?, webhook].compactMap(\.self) }

  /// Has a snapshot kept, and told; returns before that is done.
  func take(_ snapshot: Snapshot) {
    folder?.add(snapshot)
    guard let webhook else { return }
    Task {
      for picture in snapshot.pictures {
        do throws(EncodingError) {
          webhook.send(try snapshot.event(view: picture.name, maxEventBytes: webhook.maximumEventBytes))
        } catch {
          logger.error(
            "a snapshot is too large for the webhook",
            metadata: ["camera": "\(snapshot.camera)", "view": "\(picture.name)", "reason": "\(error)"])
        }
      }
    }
  }
}
