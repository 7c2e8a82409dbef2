// Finds or creates the hub of a stream: equal streams share one.
internal import GLPreview
internal import HTTPTypes
internal import Logging
internal import Synchronization

final class StreamRegistry: Sendable {
  private let metrics: ServiceMetrics
  private let registry: CameraRegistry
  private let gate: AdmissionLimit
  private let logger: Logger
  private let hubs = Mutex<[Key: Entry]>([:])

  /// The identity of a stream.
  private enum Key: Hashable {
    /// A served view, which stays the same when it is changed. A different quality is another stream.
    case served(ObjectIdentifier, quality: Int?)
    /// Any other view; without a quality, it may be the camera's own JPEGs.
    case adHoc(ObjectIdentifier, ViewConfiguration, quality: Int?)
  }

  /// A hub lives while someone holds a subscription for it.
  private struct Entry {
    weak var hub: StreamHub?
    /// The served view that the stream is derived from.
    let target: ServedPreview
    /// Whether it is the view as served.
    let isServed: Bool
    /// Whether it uses the view's own quality.
    let followsQuality: Bool
  }

  init(_ registry: CameraRegistry, gate: AdmissionLimit, counting metrics: ServiceMetrics, logger: Logger) {
    self.registry = registry
    self.gate = gate
    self.metrics = metrics
    self.logger = logger
  }

  /// Joins the stream of a view, as served or with changed parameters, with a minimum time between pictures. The
  /// subscription is to be held while watching.
  ///
  /// - Throws: `Problem`: 503 if too many other views are being drawn, 409 if the view is switched off.
  func join(_ target: ServedPreview, as wanted: ServedView, every interval: Duration) throws
    -> StreamSubscription
  {
    let isServed = wanted.view == target.served.view
    let mayPass = target.preview.mayPass(wanted.view)
    let followsQuality =
      isServed
      && (wanted.quality == target.served.quality
        || !mayPass && wanted.encodedQuality == target.served.encodedQuality)
    let key: Key =
      isServed
      ? .served(ObjectIdentifier(target.preview), quality: followsQuality ? nil : wanted.encodedQuality)
      : .adHoc(
        ObjectIdentifier(target.preview), wanted.view,
        quality: mayPass ? wanted.quality : wanted.encodedQuality)
    return try hubs.withLock { hubs in
      // Under the lock, so that `followViews()` finds streams of views that are switched off from here on.
      try registry.check(target, isServed: isServed)
      var subscription = hubs[key]?.hub?.join(every: interval)
      if subscription == nil {
        hubs = hubs.filter { $0.value.hub != nil }
        let hub = try makeHub(target, wanted, isServed: isServed, followsQuality: followsQuality)
        hubs[key] = Entry(
          hub: hub, target: target, isServed: isServed, followsQuality: followsQuality)
        subscription = hub.join(every: interval)
      }
      guard let subscription else { throw CancellationError() }
      if wanted.quality != nil, target.served.quality == nil { subscription.hub.encodeAll() }
      return subscription
    }
  }

  /// Applies changes of the served views: ends streams of views that were removed or switched off, and changed
  /// streams of views that are now locked.
  func followViews() {
    let entries = hubs.withLock { Array($0.values) }
    for entry in entries {
      guard let hub = entry.hub else { continue }
      guard registry.isShown(entry.target, isServed: entry.isServed) else {
        hub.end()
        continue
      }
      if entry.followsQuality, entry.target.guest == nil,
        let now = try? registry.view(hub.view, of: hub.camera)
      {
        hub.follow(now.served)
      }
    }
  }

  private func makeHub(
    _ target: ServedPreview, _ wanted: ServedView, isServed: Bool, followsQuality: Bool
  ) throws -> StreamHub {
    // A served view is drawn anyway, but another quality must be encoded once more.
    let permit = try followsQuality ? nil : gate.enter()
    let preview = try isServed ? target.preview : registry.makeAdHocPreview(wanted.view, of: target)
    var onEnd: (@Sendable () -> Void)?
    if !isServed { onEnd = { [session = registry.session] in session.remove(preview) } }
    return StreamHub(
      camera: target.camera, view: target.name, preview, as: wanted, counting: metrics,
      logger: logger, holding: permit, within: registry.budget, trouble: target.guest?.trouble, onEnd: onEnd)
  }

  /// The streams with clients.
  var all: [StreamHub] { hubs.withLock { $0.values.compactMap(\.hub) } }

  /// The number of clients of one preview.
  func clientCount(of preview: Preview) -> Int {
    all.reduce(0) { $0 + ($1.preview === preview ? $1.clientCount : 0) }
  }

  /// The number of clients of a view and its frame rate, over all of its streams.
  func use(of camera: String, _ view: String) -> (clients: Int, framesPerSecond: Double) {
    let hubs = all.filter { $0.camera == camera && $0.view == view }
    return (hubs.reduce(0) { $0 + $1.clientCount }, hubs.map(\.framesPerSecond).max() ?? 0)
  }
}

extension CameraRegistry {
  /// Throws if a view may not be streamed any more, as served or with changed parameters; it may have changed since it
  /// was looked up.
  func check(_ target: ServedPreview, isServed: Bool) throws(Problem) {
    if let guest = target.guest {
      if guest.isOver { throw .reconfigured(target) }
      return
    }
    let now = try view(target.name, of: target.camera)
    guard now.preview === target.preview, isServed || !now.served.isLocked else {
      throw .reconfigured(target)
    }
    guard now.served.isEnabled else { throw .switchedOff(target) }
  }

  func isShown(_ target: ServedPreview, isServed: Bool) -> Bool {
    (try? check(target, isServed: isServed)) != nil
  }
}

/// Keeps a client in a stream while this object exists.
final class StreamSubscription: Sendable {
  let hub: StreamHub
  let id: Int
  let since = CaptureClock.now
  /// Parts sent to the client in the last whole second.
  let framesPerSecond = Atomic(0)
  private let names = Mutex<(address: String, key: String?)>(("", nil))

  init(_ hub: StreamHub, _ id: Int) {
    self.hub = hub
    self.id = id
  }

  deinit { hub.leave(id) }

  /// Sets the client's address and its name for itself.
  func name(address: String, key: String?) { names.withLock { $0 = (address, key) } }

  var address: String { names.withLock { $0.address } }
  var key: String? { names.withLock { $0.key } }
}

struct WeakSubscription: Sendable {
  weak var subscription: StreamSubscription?
}
