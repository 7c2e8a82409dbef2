// An event of another node, restricted to the members that events of this service have.
internal import FoundationEssentials

package struct RelayedEvent: Sendable, Hashable {
  package let type: String
  /// The camera of the event; nil if it concerns the node.
  package var camera: String? { if case .string(let name) = members["camera"] { name } else { nil } }
  private let members: [String: JSONValue]

  /// Returns the key of the rate limit for which the event counts. Changes of views have one of their own, because
  /// there are many while a client turns a view, and a node's other events must not be dropped for them. Names and
  /// addresses of nodes have no spaces.
  package func rateKey(of node: String) -> String {
    ["view", "move"].contains(type) ? "\(node) views" : node
  }

  /// The longest event that is parsed, in bytes. A snapshot event contains a thumbnail.
  package static let longest = 32_000
  private static let longestText = 512

  private struct Body: Decodable {
    let type: String
    /// Set in events that a node received from other nodes. Those are ignored: each node sends its own.
    var node: String?
    var camera: String?
    var schedule: String?
    var view: String?
    var what: String?
    var state: String?
    var reason: String?
    var since: String?
    var timestamp: String?
    var snapshot: String?
    var sequence: Int?
    var width: Int?
    var height: Int?
    var bytes: Int?
    // Members of motion events.
    var event: Int?
    var last: String?
    var best: String?
    var label: String?
    var picture: String?
    var score: Double?
    var box: [Double]?
    var zones: [String]?
    var replay: [String: Double]?
    // Members of moves.
    var from: [String: Double]?
    var to: [String: Double]?
    var start: String?
    var end: String?

    /// Whether a state is one of such events.
    var hasKnownState: Bool {
      guard let state else { return true }
      return type == "move"
        ? state == "started" || ViewMove.End(rawValue: state) != nil : SourceState(rawValue: state) != nil
    }

    /// The poses of a move, by their names. A key that poses lack is an error, for which this is nil.
    var poses: [String: JSONValue]? {
      let poses = ["from": from, "to": to].compactMapValues { $0 }
      let numbers = poses.values.flatMap { $0 }
      guard numbers.allSatisfy({ PoseChange.keys.contains($0.key) && $0.value.isFinite }) else { return nil }
      return poses.mapValues { JSONValue.object($0.mapValues(JSONValue.number)) }
    }
  }

  /// Parses an event; nil if it is not an event of this service. All viewers see its texts, so URLs in them
  /// are redacted.
  package init?(json bytes: [UInt8]) {
    guard bytes.count <= Self.longest, let body = try? JSONDecoder().decode(Body.self, from: Data(bytes)),
      ServerEvent.types.contains(body.type), body.node == nil
    else { return nil }
    let isOfCamera = body.type != "service"
    let names = [body.camera, body.view, body.schedule].compactMap { $0 }
    guard names.allSatisfy({ (try? ViewConfiguration.check(name: $0)) != nil }),
      !isOfCamera || body.camera != nil,
      body.hasKnownState, let poses = body.poses
    else { return nil }
    let zones = body.zones ?? []
    let texts =
      [
        body.what, body.reason, body.since, body.timestamp, body.last, body.best, body.label, body.start,
        body.end,
      ].compactMap { $0 } + zones
    guard texts.allSatisfy({ $0.utf8.count <= Self.longestText }),
      body.snapshot?.utf8.allSatisfy(Self.isBase64) ?? true,
      zones.count <= MotionSettings.mostZones, body.box.map({ $0.count == 4 }) ?? true,
      ((body.box ?? []) + [body.score].compactMap { $0 }).allSatisfy((0...1).contains)
    else { return nil }
    type = body.type
    var members: [String: JSONValue?] = ["type": .string(body.type)]
    members["what"] = body.what.map { .string(Redaction.message($0)) }
    members["reason"] = body.reason.map { .string(Redaction.message($0)) }
    if isOfCamera {
      for (key, text) in [
        ("camera", body.camera), ("view", body.view), ("schedule", body.schedule), ("state", body.state),
        ("since", body.since),
        ("timestamp", body.timestamp), ("snapshot", body.snapshot), ("last", body.last), ("best", body.best),
        ("label", body.label.map { Redaction.message($0) }), ("start", body.start), ("end", body.end),
      ] { members[key] = text.map(JSONValue.string) }
      for (key, number) in [
        ("sequence", body.sequence), ("width", body.width), ("height", body.height), ("bytes", body.bytes),
        ("event", body.event),
      ] { members[key] = number.map(JSONValue.integer) }
      for (name, pose) in poses { members[name] = pose }
      // This node forwards requests for the picture.
      if body.picture != nil, let camera = body.camera, let event = body.event {
        members["picture"] = .string("/api/cameras/\(camera)/motion/\(event).jpg")
      }
      members["score"] = body.score.map(JSONValue.number)
      members["box"] = body.box.map { .array($0.map(JSONValue.number)) }
      members["zones"] = body.zones.map { .array($0.map { .string(Redaction.message($0)) }) }
      if let replay = body.replay, let from = replay["from"], let to = replay["to"] {
        members["replay"] = ["from": .number(from), "to": .number(to)]
      }
    }
    self.members = members.compactMapValues { $0 }
  }

  /// Returns the event for clients of this node.
  func json(from node: String) -> [UInt8] {
    var members = members
    members["node"] = .string(node)
    return members.json
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): true
    default: false
    }
  }
}

/// Limits the events that each node may publish here, so that none can push other nodes' events out of the
/// log.
package struct EventRates: Sendable {
  private struct Bucket {
    var tokens: Double
    var time: CaptureInstant
  }

  private static let rate = 20.0
  private static let burst = 100.0
  private static let mostNodes = 512

  private var buckets: [String: Bucket] = [:]

  package init() {}

  /// Counts an event of `node`, and returns whether it may be published.
  package mutating func allows(_ node: String, at now: CaptureInstant) -> Bool {
    // Names are easy to invent: beyond the limit, nodes share one bucket.
    let key = buckets[node] != nil || buckets.count < Self.mostNodes ? node : ""
    var bucket = buckets[key] ?? Bucket(tokens: Self.burst, time: now)
    bucket.tokens = min(Self.burst, bucket.tokens + (now - bucket.time) / .seconds(1) * Self.rate)
    bucket.time = now
    defer { buckets[key] = bucket }
    guard bucket.tokens >= 1 else { return false }
    bucket.tokens -= 1
    return true
  }
}
