// A store and nodes of which the tests move the clock: what is written arrives at the others with the next steps.
import Testing

@testable import Cluster

/// A bucket with compare-and-set, and nodes that hear of it what they can reach.
struct LeaseWorld {
  struct Node {
    var leases: LeaseState
    /// Changes that are on their way to it.
    var inbox: [(key: LeaseKey, node: NodeRecord?, camera: CameraRecord?, revision: UInt64)] = []
    var isReachable = true
    var isRunning = true
    var sinceBeat = Duration.zero
    /// How often it had read all keys again.
    var readings = 0
    /// Cameras that it served at some time, with their epochs.
    var epochs: Set<String> = []
  }

  static let step = Duration.milliseconds(250)

  var nodes: [String: Node] = [:]
  private(set) var stored: [LeaseKey: (node: NodeRecord?, camera: CameraRecord?, revision: UInt64)] = [:]
  private var revision: UInt64 = 0
  var isStoreUp = true
  let cameras: Set<String>
  /// The longest time that a camera was without an owner, by camera, and how long it is now.
  private(set) var gaps: [String: Duration] = [:]
  private var gapNow: [String: Duration] = [:]
  /// Camera-seconds with two owners.
  private(set) var doubled = Duration.zero
  private(set) var notices: [(node: String, notice: LeaseState.Notice)] = []

  init(_ names: [String], cameras count: Int, slots: Int = 16) {
    cameras = Set((1...count).map { "camera\($0)" })
    for name in names { start(name, slots: slots) }
  }

  /// Starts a node, or starts it anew.
  mutating func start(_ name: String, slots: Int = 16, instance: String? = nil, fixed: Set<String> = []) {
    var node = Node(
      leases: LeaseState(
        .init(
          node: name, instance: instance ?? "\(name)-\(revision)", url: "http://\(name)", slots: slots,
          movable: cameras.subtracting(fixed), fixed: fixed)))
    for other in nodes.keys { node.leases.receivedOffers(other, cameras) }
    for other in nodes.keys { nodes[other]?.leases.receivedOffers(name, cameras) }
    for (key, value) in stored { node.inbox.append((key, value.node, value.camera, value.revision)) }
    node.inbox.sort { $0.revision < $1.revision }
    nodes[name] = node
    if isStoreUp {
      deliver(to: name)
      nodes[name]?.leases.reachedStore()
    }
  }

  mutating func kill(_ name: String) { nodes[name] = nil }

  /// Cuts a node off from the store, or joins it again: then it hears what it missed.
  mutating func reach(_ name: String, _ isReachable: Bool) {
    nodes[name]?.isReachable = isReachable
    if !isReachable { nodes[name]?.leases.lostStore() }
  }

  /// The store loses everything.
  mutating func replaceStore() {
    (stored, revision) = ([:], 0)
    for name in nodes.keys {
      nodes[name]?.inbox = []
      nodes[name]?.leases.resetStore()
      nodes[name]?.leases.reachedStore()
    }
  }

  mutating func pass(_ time: Duration) {
    var left = time
    while left > .zero {
      tick()
      left -= Self.step
    }
  }

  private mutating func tick() {
    for name in nodes.keys.sorted() where nodes[name]?.isRunning == true {
      readAgain(name)
      deliver(to: name)
      nodes[name]?.leases.step(Self.step)
      nodes[name]?.sinceBeat += Self.step
      for handover in nodes[name]?.leases.handovers ?? [] {
        // The new owner delivers as soon as it serves.
        if nodes[handover.to]?.leases.served.contains(handover.camera) == true {
          nodes[name]?.leases.handedOver(handover.camera)
        }
      }
      if nodes[name].map({ $0.sinceBeat >= $0.leases.times.beat }) == true
        || nodes[name]?.leases.hasJoined == false
      {
        beat(name)
      }
      for write in nodes[name]?.leases.decide() ?? [] {
        let result = put(.camera(write.camera), nil, write.record, at: write.revision, by: name)
        nodes[name]?.leases.wrote(write, revision: result)
      }
      for item in nodes[name]?.leases.takeNotices() ?? [] { notices.append((name, item)) }
    }
    check()
  }

  mutating func beat(_ name: String) {
    nodes[name]?.sinceBeat = .zero
    guard let write = nodes[name]?.leases.nodeWrite() else { return }
    if let revision = put(.node(name), write.record, nil, at: write.revision, by: name) {
      nodes[name]?.leases.wroteNode(write.record, revision: revision)
    }
  }

  private mutating func put(
    _ key: LeaseKey, _ node: NodeRecord?, _ camera: CameraRecord?, at expected: UInt64, by name: String
  ) -> UInt64? {
    guard isStoreUp, nodes[name]?.isReachable == true, stored[key]?.revision ?? 0 == expected else {
      return nil
    }
    revision += 1
    stored[key] = (node, camera, revision)
    for other in nodes.keys { nodes[other]?.inbox.append((key, node, camera, revision)) }
    return revision
  }

  /// Delivers all keys to a node that needs them.
  private mutating func readAgain(_ name: String) {
    guard isStoreUp, var node = nodes[name], node.isReachable, node.readings != node.leases.readings else {
      return
    }
    node.readings = node.leases.readings
    node.inbox = stored.map { ($0.key, $0.value.node, $0.value.camera, $0.value.revision) }
    node.inbox.sort { $0.revision < $1.revision }
    nodes[name] = node
    deliver(to: name)
    nodes[name]?.leases.reachedStore()
  }

  private mutating func deliver(to name: String) {
    guard isStoreUp, nodes[name]?.isReachable == true else { return }
    let inbox = nodes[name]?.inbox ?? []
    nodes[name]?.inbox = []
    for (key, node, camera, revision) in inbox {
      switch key {
      case .node(let other): nodes[name]?.leases.receivedNode(other, node, revision: revision)
      case .camera(let camera_): nodes[name]?.leases.receivedCamera(camera_, camera, revision: revision)
      case .listing: break
      }
    }
  }

  // MARK: What must hold

  func owners(of camera: String) -> [String] {
    nodes.filter { $0.value.leases.served.contains(camera) }.map(\.key).sorted()
  }

  /// Cameras that nobody serves.
  var ownerless: Int { cameras.count { owners(of: $0).isEmpty } }

  private mutating func check() {
    var holders: [String: String] = [:]
    for (name, node) in nodes {
      for (camera, epoch) in node.leases.held where epoch > 0 {
        let key = "\(camera)#\(epoch)"
        if let other = holders[key] { Issue.record("\(key) is held by \(other) and \(name)") }
        holders[key] = name
      }
    }
    for camera in cameras {
      let owners = owners(of: camera)
      if owners.count > 1 { doubled += Self.step * (owners.count - 1) }
      gapNow[camera] = owners.isEmpty ? (gapNow[camera] ?? .zero) + Self.step : .zero
      gaps[camera] = max(gaps[camera] ?? .zero, gapNow[camera] ?? .zero)
    }
  }

  /// Forgets gaps and doubles up to now.
  mutating func startCounting() { (gaps, gapNow, doubled) = ([:], [:], .zero) }

  var longestGap: Duration { gaps.values.max() ?? .zero }
}
