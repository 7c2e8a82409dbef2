// Who answers for a camera, decided from what peers said: values alone.
import GLPreview
import PreviewCore
import Testing

@testable import ServiceCore

@Suite("ClusterState")
struct ClusterStateTests {
  private static func listing(_ name: String, _ cameras: String..., instance: String? = nil) -> PeerListing {
    PeerListing(
      name: name, instance: instance ?? "i-\(name)",
      cameras: cameras.map {
        PeerCamera(name: $0, views: [PeerView(name: "main", isEnabled: true)], state: .live, members: [:])
      })
  }

  private static func cluster(_ peers: String...) -> ClusterState {
    ClusterState(name: "here", instance: "me", peers: peers)
  }

  @Test("the first listed peer that has a camera serves it, and the conflict is reported once")
  func order() {
    var cluster = Self.cluster("http://a", "http://b")
    let second = cluster.received(.success(Self.listing("b", "door", "yard")), from: "http://b", local: [])
    #expect(second == [.connected(node: "b", url: "http://b", cameras: 2)])
    #expect(cluster[camera: "door"]?.node == "b")

    let first = cluster.received(.success(Self.listing("a", "door")), from: "http://a", local: [])
    #expect(first.contains(.conflict(camera: "door", node: "b", by: "a")))
    #expect(cluster[camera: "door"]?.node == "a" && cluster[camera: "yard"]?.node == "b")
    #expect(cluster.cameras(besides: []).map(\.camera.name) == ["door", "yard"])
    #expect(cluster.conflicts(of: cluster.peers[1], local: []) == ["door"])

    #expect(cluster.received(.success(Self.listing("a", "door")), from: "http://a", local: []) == [])
  }

  @Test("a node's own camera takes precedence over a peer's camera of the same name")
  func local() {
    var cluster = Self.cluster("http://a")
    let notices = cluster.received(
      .success(Self.listing("a", "door", "yard")), from: "http://a", local: ["door"])
    #expect(notices.contains(.conflict(camera: "door", node: "a", by: "here")))
    #expect(cluster.cameras(besides: ["door"]).map(\.camera.name) == ["yard"])
    #expect(cluster.conflicts(of: cluster.peers[0], local: ["door"]) == ["door"])
  }

  @Test("the cameras of a peer that fails stay listed as lost until the peer answers again")
  func loss() {
    var cluster = Self.cluster("http://a")
    _ = cluster.received(.success(Self.listing("a", "door")), from: "http://a", local: [])
    let lost = cluster.received(.failure(PeerFailure("is away")), from: "http://a", local: [])
    #expect(lost == [.lost(node: "a", url: "http://a", reason: "is away")])
    #expect(cluster[camera: "door"]?.outage == "is away" && cluster[camera: "door"]?.state == .lost)
    #expect(cluster.received(.failure(PeerFailure("is away")), from: "http://a", local: []) == [])

    let back = cluster.received(.success(Self.listing("a", "door")), from: "http://a", local: [])
    #expect(back == [.connected(node: "a", url: "http://a", cameras: 1)])
    #expect(cluster[camera: "door"]?.state == .live && cluster.peers[0].reason == nil)
  }

  private static func leased(_ name: String, _ epoch: Int?, in store: String = "s") -> PeerListing {
    let views = [PeerView(name: "main", isEnabled: true)]
    let members = epoch.map { ["epoch": JSONValue.integer($0), "lease_store": .string(store)] } ?? [:]
    return PeerListing(
      name: name, cameras: [PeerCamera(name: "door", views: views, state: .live, members: members)])
  }

  @Test("epochs of different lease stores are not compared, and equal camera names conflict")
  func stores() {
    var cluster = Self.cluster("http://a", "http://b")
    _ = cluster.received(.success(Self.leased("a", 1, in: "s")), from: "http://a", local: [])
    let notices = cluster.received(.success(Self.leased("b", 9, in: "t")), from: "http://b", local: [])
    #expect(cluster[camera: "door"]?.node == "a")
    #expect(notices.contains(.conflict(camera: "door", node: "b", by: "a")))
    #expect(cluster.conflicts(of: cluster.peers[1], local: []) == ["door"])
  }

  @Test(
    "a peer that answers takes precedence over a lost peer, whatever their epochs", arguments: ["s", "new"])
  func deadEpoch(store: String) {
    var cluster = Self.cluster("http://a", "http://b")
    _ = cluster.received(.success(Self.leased("a", 9)), from: "http://a", local: [])
    _ = cluster.received(.failure(PeerFailure("is dead")), from: "http://a", local: [])
    _ = cluster.received(.success(Self.leased("b", 1, in: store)), from: "http://b", local: [])
    #expect(cluster[camera: "door"]?.node == "b" && cluster[camera: "door"]?.outage == nil)
  }

  @Test("of two peers that answer, the one with the later epoch serves a camera, without a conflict")
  func laterEpoch() {
    var cluster = Self.cluster("http://a", "http://b")
    _ = cluster.received(.success(Self.leased("a", 2)), from: "http://a", local: [])
    var notices = cluster.received(.success(Self.leased("b", 1)), from: "http://b", local: [])
    #expect(cluster[camera: "door"]?.node == "a", "an earlier epoch takes nothing")
    notices += cluster.received(.success(Self.leased("b", 3)), from: "http://b", local: [])
    #expect(cluster[camera: "door"]?.node == "b")
    // The order in which they answer does not matter.
    notices += cluster.received(.success(Self.leased("a", 2)), from: "http://a", local: [])
    #expect(cluster[camera: "door"]?.node == "b")
    notices += cluster.received(.success(Self.leased("a", 4)), from: "http://a", local: [])
    #expect(cluster[camera: "door"]?.node == "a")
    #expect(notices == [.connected(node: "b", url: "http://b", cameras: 1)])
    #expect(cluster.cameras(besides: []).count == 1)
  }

  @Test("a peer with a later epoch takes over a lost peer's camera without a conflict")
  func epochs() {
    var cluster = Self.cluster("http://a", "http://b")
    _ = cluster.received(.success(Self.leased("a", 1)), from: "http://a", local: [])
    _ = cluster.received(.failure(PeerFailure("is dead")), from: "http://a", local: [])
    let notices = cluster.received(.success(Self.leased("b", 2)), from: "http://b", local: [])
    #expect(cluster[camera: "door"]?.node == "b" && cluster[camera: "door"]?.outage == nil)
    #expect(notices.count == 1 && cluster.cameras(besides: []).count == 1)
    // The lost peer is back with its old lease, which takes nothing.
    _ = cluster.received(.success(Self.leased("a", 1)), from: "http://a", local: [])
    #expect(cluster[camera: "door"]?.node == "b")
    // A camera without a lease stays where it was first.
    _ = cluster.received(.success(Self.leased("a", nil)), from: "http://a", local: [])
    #expect(cluster[camera: "door"]?.node == "a")
  }

  @Test("a peer that is this node is ignored and reported once")
  func itself() {
    var cluster = Self.cluster("http://a")
    let mine = Self.listing("here", "door", instance: "me")
    #expect(
      cluster.received(.success(mine), from: "http://a", local: ["door"]) == [.isItself(url: "http://a")])
    #expect(cluster.peers[0].state == .itself && cluster[camera: "door"] == nil)
    _ = cluster.received(.failure(PeerFailure("is away")), from: "http://a", local: ["door"])
    #expect(cluster.received(.success(mine), from: "http://a", local: ["door"]) == [])
  }

  @Test("a node at two URLs counts once, at the first URL that answers")
  func duplicates() {
    var cluster = Self.cluster("http://a", "http://b")
    let node = Self.listing("shed", "door")
    _ = cluster.received(.success(node), from: "http://a", local: [])
    let notices = cluster.received(.success(node), from: "http://b", local: [])
    #expect(notices == [.isDuplicate(url: "http://b", of: "shed")])
    #expect(cluster.cameras(besides: []).map(\.url) == ["http://a"])

    _ = cluster.received(.failure(PeerFailure("is away")), from: "http://a", local: [])
    #expect(cluster.cameras(besides: []).map(\.url) == ["http://b"])
    #expect(cluster[camera: "door"]?.outage == nil)
  }

  @Test("two nodes of the same name are reported, and both serve their cameras")
  func sameName() {
    var cluster = Self.cluster("http://a", "http://b")
    let mine = cluster.received(.success(Self.listing("here", "door")), from: "http://a", local: [])
    #expect(mine.contains(.sameName(node: "here", url: "http://a")))
    let other = cluster.received(
      .success(Self.listing("here", "yard", instance: "another")), from: "http://b", local: [])
    #expect(other.contains(.sameName(node: "here", url: "http://b")))
    #expect(cluster.cameras(besides: []).count == 2)
  }

  @Test("a new list of peers keeps the state of the peers that remain")
  func reload() {
    var cluster = Self.cluster("http://a", "http://b")
    _ = cluster.received(.success(Self.listing("a", "door")), from: "http://a", local: [])
    _ = cluster.received(.success(Self.listing("b", "yard")), from: "http://b", local: [])
    let next = cluster.with(name: "there", peers: ["http://b", "http://c"])
    #expect(next[camera: "door"] == nil && next[camera: "yard"]?.node == "b")
    #expect(next.peers.map(\.state) == [.up, .asking] && next.name == "there")
  }

  // MARK: Answers

  private static func parsed(_ json: String) throws -> PeerListing {
    try PeerListing(json: Array(json.utf8))
  }

  @Test("a peer listing keeps unknown members and drops sources, watchers and invalid views")
  func answers() throws {
    let listing = try Self.parsed(
      """
      {"version": "9", "new": [1, 2.5, null], "node": {"name": "shed", "instance": "x1"}, "cameras": [
        {"name": "door", "state": "live", "source": "rtsp://u:p@h", "future": {"a": true}, "views": [
          {"name": "main", "watchers": [1], "enabled": true, "urls": {"jpeg": "javascript:alert(1)", "whep": 1}},
          {"name": "off", "enabled": false}, {"name": "a/b"}, 5]}]}
      """)
    #expect(listing.name == "shed" && listing.instance == "x1" && listing.refusedCount == 0)
    let camera = try #require(listing.cameras.first)
    #expect(camera.state == .live && camera.views.map(\.name) == ["main", "off"])
    #expect(camera.views.map(\.isEnabled) == [true, false])
    let text = String(decoding: camera.members.json, as: UTF8.self)
    #expect(text.contains(#""future":{"a":true}"#) && text.contains(#""whep":"/cameras/door/main/whep""#))
    for secret in ["rtsp:", "watchers", "javascript"] { #expect(!text.contains(secret)) }
  }

  @Test(
    "JSON that is not a camera list throws PeerFailure",
    arguments: [
      "", "hello", "5", "[]", "{}", #"{"cameras": 5}"#, #"{"cameras": {"a": 1}}"#,
      #"{"cameras": "# + String(repeating: "[", count: 10_000),
      #"{"cameras": [{"deep": "# + String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        + "}]}",
    ])
  func nonsense(json: String) {
    #expect(throws: PeerFailure.self) { try Self.parsed(json) }
  }

  @Test(
    "cameras with an invalid or repeated name or invalid views are left out",
    arguments: [
      #"{"name": "../x", "views": [{"name": "main"}]}"#, #"{"name": 5, "views": [{"name": "main"}]}"#,
      #"{"name": "a", "views": []}"#, #"{"name": "a"}"#, #"{"name": "a", "views": [{"name": "<b>"}]}"#, "5",
      #"{"name": "good", "views": [{"name": "main"}]}"#,
    ])
  func refused(camera: String) throws {
    let listing = try Self.parsed(
      #"{"cameras": [{"name": "good", "state": 7, "views": [{"name": "main"}]}, \#(camera)]}"#)
    #expect(listing.cameras.map(\.name) == ["good"] && listing.refusedCount == 1)
    #expect(listing.cameras[0].state == .idle && listing.name == nil)
  }

  @Test("a listing of 10,000 cameras is cut to 1,000")
  func many() throws {
    let cameras = (0..<10_000).map { #"{"name": "c\#($0)", "views": [{"name": "m"}]}"# }
    let listing = try Self.parsed(#"{"cameras": [\#(cameras.joined(separator: ","))]}"#)
    #expect(listing.cameras.count == 1000 && listing.refusedCount == 9000)
  }
}
