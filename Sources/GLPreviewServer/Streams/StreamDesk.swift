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
    /// A served view: it stays one when it is changed. A quality that is not its own is another stream.
    case served(ObjectIdentifier, quality: Int?)
    /// Anything else.
    case adHoc(ObjectIdentifier, ViewConfiguration, quality: Int)
  }

  /// Hubs live as long as somebody holds a ticket.
  private struct Entry {
    weak var hub: StreamHub?
    /// The served view that it is of.
    let target: Preview
    /// Whether it is that view as it is served.
    let isServed: Bool
    /// Whether its quality is the view's own.
    let followsQuality: Bool
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
    let isServed = wanted.view == target.served.view
    let followsQuality = isServed && wanted.quality == target.served.quality
    let key: Key =
      isServed
      ? .served(ObjectIdentifier(target.preview), quality: followsQuality ? nil : wanted.quality)
      : .adHoc(ObjectIdentifier(target.preview), wanted.view, quality: wanted.quality)
    return try hubs.withLock { hubs in
      // Under the lock: what is switched off from here on is found by `followViews()`.
      try check(target, isServed: isServed)
      if let ticket = hubs[key]?.hub?.join(every: interval) { return ticket }
      hubs = hubs.filter { $0.value.hub != nil }
      let hub =
        if isServed {
          try servedHub(target, wanted, followsQuality: followsQuality)
        } else {
          try adHocHub(target, wanted)
        }
      hubs[key] = Entry(
        hub: hub, target: target.preview, isServed: isServed, followsQuality: followsQuality)
      guard let ticket = hub.join(every: interval) else { throw CancellationError() }
      return ticket
    }
  }

  /// Whether a view may be streamed as it is now: it may have been changed since it was looked up.
  private func check(_ target: ServedPreview, isServed: Bool) throws(Problem) {
    let now = try registry.view(target.name, of: target.camera)
    guard now.preview === target.preview, isServed || !now.served.isLocked else {
      throw .reconfigured(target)
    }
    guard now.served.isEnabled else { throw .switchedOff(target) }
  }

  /// Takes over what has become of the served views: streams of those that are gone or switched off end, and those of a view
  /// that is locked now but was asked for in another way.
  func followViews() {
    let entries = hubs.withLock { Array($0.values) }
    for entry in entries {
      guard let hub = entry.hub else { continue }
      guard let now = try? registry.view(hub.view, of: hub.camera), now.preview === entry.target,
        now.served.isEnabled, entry.isServed || !now.served.isLocked
      else {
        hub.end()
        continue
      }
      if entry.followsQuality { hub.quality.store(now.served.quality, ordering: .relaxed) }
    }
  }

  private func servedHub(
    _ target: ServedPreview, _ wanted: ServedView, followsQuality: Bool
  ) throws -> StreamHub {
    // Drawn anyway, but encoded once more.
    let pass = try followsQuality ? nil : gate.enter()
    return StreamHub(
      camera: target.camera, view: target.name, target.preview, quality: wanted.quality, counting: counters,
      logger: logger, holding: pass, within: registry.budget)
  }

  private func adHocHub(_ target: ServedPreview, _ wanted: ServedView) throws -> StreamHub {
    let pass = try gate.enter()
    let preview = try registry.makeAdHocPreview(wanted.view, of: target)
    preview.updateEvery = target.served.updateEvery
    return StreamHub(
      camera: target.camera, view: target.name, preview, quality: wanted.quality, counting: counters,
      logger: logger, holding: pass, within: registry.budget
    ) { [session = registry.session] in session.remove(preview) }
  }

  /// The streams that somebody watches.
  var all: [StreamHub] { hubs.withLock { $0.values.compactMap(\.hub) } }

  /// How many watch a view, and how fast its pictures come, over all ways in which it is streamed.
  func use(of camera: String, _ view: String) -> (clients: Int, framesPerSecond: Double) {
    let hubs = all.filter { $0.camera == camera && $0.view == view }
    return (hubs.reduce(0) { $0 + $1.clientCount }, hubs.map(\.framesPerSecond).max() ?? 0)
  }
}
