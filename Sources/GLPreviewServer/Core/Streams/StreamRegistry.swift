// Finds or creates the hub of a stream: equal streams share one.
internal import HTTPTypes
internal import Logging
internal import Synchronization

final class StreamRegistry: Sendable {
  private let metrics: ServiceMetrics
  private let registry: CameraRegistry
  private let gate: AdmissionLimit
  private let logger: Logger
  private let hubs = Mutex<[Key: WeakHub]>([:])

  /// The identity of a stream.
  private enum Key: Hashable {
    /// A served view, which keeps its identity when it is changed. Another quality is a separate stream.
    case served(ObjectIdentifier, quality: Int?)
    /// Any other view; without a quality, the camera's original JPEGs may be passed through. One that follows the
    /// served view keeps its identity when that moves.
    case adHoc(ObjectIdentifier, ViewConfiguration, follows: Bool, quality: Int?)
  }

  /// A hub exists as long as there are subscriptions for it.
  private struct WeakHub {
    weak var hub: StreamHub?
  }

  init(_ registry: CameraRegistry, gate: AdmissionLimit, counting metrics: ServiceMetrics, logger: Logger) {
    self.registry = registry
    self.gate = gate
    self.metrics = metrics
    self.logger = logger
  }

  /// Joins the stream of a view, as served or with changed parameters, with a minimum interval between
  /// pictures. The caller holds the subscription while it watches.
  ///
  /// - Throws: `Problem`: 503 or 429 if too many other views are being drawn, 409 if the view is switched off.
  func join(_ target: ServedPreview, as wanted: ServedView, every interval: Duration) throws
    -> StreamSubscription
  {
    let isServed = target.serves(wanted)
    let mayPass = target.preview.mayPass(wanted.view)
    let followsQuality =
      isServed
      && (wanted.quality == target.served.quality
        || !mayPass && wanted.encodedQuality == target.served.encodedQuality)
    let key: Key =
      isServed
      ? .served(ObjectIdentifier(target.preview), quality: followsQuality ? nil : wanted.encodedQuality)
      : .adHoc(
        ObjectIdentifier(target.preview), wanted.subject, follows: !wanted.setsPose,
        quality: mayPass ? wanted.quality : wanted.encodedQuality)
    let right = ViewRight(target, isServed: isServed)
    try registry.check(right)
    return try hubs.withLock { hubs in
      var subscription = hubs[key]?.hub?.join(every: interval)
      if subscription == nil {
        hubs = hubs.filter { $0.value.hub != nil }
        let hub = try makeHub(right, wanted, followsQuality: followsQuality)
        hubs[key] = WeakHub(hub: hub)
        subscription = hub.join(every: interval)
      }
      guard let subscription else { throw Problem.reconfigured(target) }
      if wanted.quality != nil, target.served.quality == nil { subscription.hub.encodeAll() }
      return subscription
    }
  }

  /// Creates a hub that ends with its own grant.
  private func makeHub(_ right: ViewRight, _ wanted: ServedView, followsQuality: Bool) throws -> StreamHub {
    let (target, registry) = (right.target, registry)
    // A served view is drawn anyway, but another quality needs an encoding of its own.
    let permit = try followsQuality ? nil : gate.enter()
    let grant = try registry.grants.grant(right)
    var (preview, onEnd) = (target.preview, (@Sendable () -> Void)?.none)
    if case .withParameters = right.terms {
      if !target.preview.mayPass(wanted.view) { try registry.checkGPU() }
      let adHoc = try registry.makeAdHocPreview(
        wanted.view, of: target, following: wanted.setsPose ? nil : target.preview)
      (preview, onEnd) = (adHoc, { registry.session.remove(adHoc) })
    }
    var quality: (@Sendable () -> Int?)?
    if followsQuality, target.remoteView == nil {
      quality = { ((try? registry.view(target.name, of: target.camera)) ?? target).served.quality }
    }
    let hub = StreamHub(
      grant, preview, quality: quality ?? { wanted.quality }, counting: metrics, logger: logger,
      holding: permit, within: registry.budget, onEnd: onEnd)
    grant.whenRevoked { [weak hub] in hub?.end() }
    return hub
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

/// Keeps a client in a stream as long as this object exists.
final class StreamSubscription: Sendable {
  let hub: StreamHub
  let id: Int
  let since = CaptureClock.now
  /// The number of parts sent to the client in the last whole second.
  let framesPerSecond = Atomic(0)
  private let names = Mutex<(address: String, key: String?)>(("", nil))

  init(_ hub: StreamHub, _ id: Int) {
    self.hub = hub
    self.id = id
  }

  deinit { hub.leave(id) }

  /// Sets the client's address and the name that it gives itself.
  func name(address: String, key: String?) { names.withLock { $0 = (address, key) } }

  var address: String { names.withLock { $0.address } }
  var key: String? { names.withLock { $0.key } }
}

struct WeakSubscription: Sendable {
  weak var subscription: StreamSubscription?
}
