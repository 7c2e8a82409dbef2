// What other nodes say of themselves: their lists of cameras, and their records in the cluster's bucket.
import PreviewCore

@testable import Cluster
@testable import GLPreview
@testable import ServiceCore
@testable import ServiceFoundation

extension FuzzTarget {
  /// A node's answer to `GET /api/cameras`, received by a node that has cameras of the same names, and by one that
  /// has not.
  static let peerListing = FuzzTarget(
    name: "peer-listing", longest: 2048,
    words: [
      #""node":{"name":"shed","instance":"i"}"#, #""cameras":["#, #""name":"door""#,
      #""views":[{"name":"main"}]"#,
      #""state":"live""#, #""enabled":false"#, #""urls":{"whep":"x"}"#, #""source":"rtsp://a:b@c""#,
      #""offers":["door"]"#,
      #""epoch":1"#, "null", "[[[[[[[[", "{", "}", "]", ",", "\"../x\"",
    ],
    seeds: {
      [
        #"{"node": {"name": "shed", "instance": "i"}, "cameras": [{"name": "door", "state": "live", "views": [{"name": "main", "enabled": true, "urls": {"whep": "/x"}}]}]}"#,
        #"{"cameras": [{"name": "a", "views": []}, {"name": "b/c", "views": [{"name": "m"}]}, 5]}"#,
        #"{"node": {"instance": "own"}, "offers": ["door", "/"], "cameras": [{"name": "door", "views": [{"name": "m"}, {"name": "m"}], "source": "x", "epoch": 18446744073709551615}]}"#,
        #"{"node": 5}"#,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      if let listing = NodeListing(json: input) {
        try must(listing.offers.allSatisfy(isName), "it offers \(listing.offers)")
      }
      guard let listing = try? PeerListing(json: input) else { return }
      try must(listing.cameras.count <= PeerListing.mostCameras, "\(listing.cameras.count) cameras")
      try must(Set(listing.cameras.map(\.name)).count == listing.cameras.count, "two cameras of one name")
      for camera in listing.cameras {
        try must(isName(camera.name) && !camera.views.isEmpty, "a camera '\(camera.name)'")
        try must(camera.views.allSatisfy { isName($0.name) }, "views of '\(camera.name)'")
        try must(camera.members["source"] == nil && camera.members["node_url"] == nil, "its source is told")
      }
      try hear(listing)
    })

  /// What becomes of a list in a node that knows two others.
  private static func hear(_ listing: PeerListing) throws(FuzzFault) {
    let (first, second) = ("http://one:80", "http://two:80")
    var state = ClusterState(
      name: "own", instance: "own", peers: [first, second], at: WallTime(sinceEpoch: .seconds(1)))
    let local: Set = ["door"]
    _ = state.received(.success(listing), from: first, local: local)
    _ = state.received(.success(listing), from: second, local: local)
    let routes = state.cameras(besides: local)
    try must(!routes.contains { local.contains($0.camera.name) }, "a camera of this node's is another's")
    try must(Set(routes.map(\.camera.name)).count == routes.count, "a camera has two ways")
    let isItself = listing.instance == "own"
    try must(!isItself || routes.isEmpty, "this node is its own peer")
    _ = state.received(.failure(PeerFailure("is away")), from: first, local: local)
    _ = state.with(name: "own", peers: [second])
  }

  /// A key of the bucket, and in further lines its value.
  static let leaseRecord = FuzzTarget(
    name: "lease-record", longest: 512,
    words: [
      "n.", "c.", "l.", "door", #""instance":"#, #""url":"http://shed:80""#, #""slots":"#, #""leaving":true"#,
      #""node":"#,
      #""epoch":18446744073709551615"#, #""fixed":true"#, #""to":"shed""#, "{", "}", "null", "\n",
      "9223372036854775807",
    ],
    seeds: {
      [
        "n.shed\n" + #"{"instance": "i", "url": "http://shed:80", "slots": 4, "leaving": false}"#,
        "c.door\n" + #"{"node": "shed", "instance": "i", "epoch": 7, "fixed": false, "to": "barn"}"#,
        "c.door\n" + #"{"node": "", "instance": "", "epoch": 9223372036854775807}"#,
        "l.shed\n" + #"{"offers": ["door"], "cameras": []}"#,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let text = input.line()
      if let key = LeaseKey(text) { try must(key.text == text, "'\(text)' is the key '\(key.text)'") }
      let value = input.bytes
      if let node = NodeRecord(json: value) {
        try must((0...ClusterConfiguration.mostSlots).contains(node.slots), "\(node.slots) slots")
        try must(NodeRecord(json: node.jsonBytes) == node, "a node's record is not read back")
      }
      if let camera = CameraRecord(json: value) {
        try must(camera.node.isEmpty || isName(camera.node), "an owner '\(camera.node)'")
        // The next owners count on.
        try must(camera.epoch < UInt64.max / 2, "epoch \(camera.epoch)")
        try must(CameraRecord(json: camera.jsonBytes) == camera, "a camera's record is not read back")
      }
    })

  private static func isName(_ text: String) -> Bool { (try? ViewConfiguration.check(name: text)) != nil }
}
