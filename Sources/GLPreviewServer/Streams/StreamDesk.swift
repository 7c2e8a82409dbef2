// Finds the hub of a stream, or makes it: equal streams are one.
internal import GLPreview
internal import HTTPTypes
internal import Logging
internal import Synchronization

/// All streams of a service.
final class StreamDesk: Sendable {
  let counters: StreamCounters
  private let registry: CameraRegistry
  private let gate: AdHocGate
  private let logger: Logger
  private let hubs = Mutex<[Key: Entry]>([:])

  /// What makes two streams the same.
  private enum Key: Hashable {
    /// A served view: it stays one when it is changed.
    case served(ObjectIdentifier, quality: Int)
    /// Anything else.
    case adHoc(camera: String, ViewConfiguration, quality: Int)
  }

  /// Hubs live as long as somebody holds a ticket.
  private struct Entry {
    weak var hub: StreamHub?
  }

  init(_ registry: CameraRegistry, gate: AdHocGate, counting counters: StreamCounters, logger: Logger) {
    self.registry = registry
    self.gate = gate
    self.counters = counters
    self.logger = logger
  }

  /// Somebody watches a view, as it is served or in another way.
  ///
  /// - Parameters:
  ///   - target: what is served.
  ///   - wanted: what is wanted of it.
  ///   - interval: from a picture to the next; zero is every one.
  /// - Returns: the ticket, to be held for as long as he watches.
  /// - Throws: `Problem`: 503 where too many watch what is not served, 409 where the view is switched off.
  func join(_ target: ServedPreview, as wanted: ServedView, every interval: Duration) throws -> StreamTicket {
    guard target.served.isEnabled else {
      throw Problem(.conflict, "view '\(target.name)' of '\(target.camera)' is switched off")
    }
    let isServed = wanted.view == target.served.view
    let key: Key =
      isServed
      ? .served(ObjectIdentifier(target.preview), quality: wanted.quality)
      : .adHoc(camera: target.camera, wanted.view, quality: wanted.quality)
    return try hubs.withLock { hubs in
      if let ticket = hubs[key]?.hub?.join(every: interval) { return ticket }
      let hub = try isServed ? servedHub(target, wanted) : adHocHub(target, wanted)
      hubs[key] = Entry(hub: hub)
      guard let ticket = hub.join(every: interval) else { throw CancellationError() }
      return ticket
    }
  }

  private func servedHub(_ target: ServedPreview, _ wanted: ServedView) -> StreamHub {
    StreamHub(
      camera: target.camera, view: target.name, target.preview, quality: wanted.quality, counting: counters,
      logger: logger)
  }

  private func adHocHub(_ target: ServedPreview, _ wanted: ServedView) throws -> StreamHub {
    let pass = try gate.enter()
    let preview = try registry.makeAdHocPreview(wanted.view, of: target.camera)
    preview.updateEvery = target.served.updateEvery
    return StreamHub(
      camera: target.camera, view: target.name, preview, quality: wanted.quality, counting: counters,
      logger: logger
    ) { [session = registry.session] in
      session.remove(preview)
      _ = pass
    }
  }

  /// The streams that somebody watches.
  var all: [StreamHub] {
    hubs.withLock { hubs in
      hubs = hubs.filter { $0.value.hub != nil }
      return hubs.values.compactMap(\.hub)
    }
  }

  /// How many watch a view, and how fast its pictures come, over all ways in which it is streamed.
  func use(of camera: String, _ view: String) -> (clients: Int, framesPerSecond: Double) {
    let hubs = all.filter { $0.camera == camera && $0.view == view }
    return (hubs.reduce(0) { $0 + $1.clientCount }, hubs.map(\.framesPerSecond).max() ?? 0)
  }
}
