// What nodes write into the cluster's bucket: a key for each node, which it renews, and one for each camera, which
// changes with its owner.
internal import FoundationEssentials

/// The value of `n.NODE`. Its revision grows with each renewal, which is all that tells others that the node lives.
package struct NodeRecord: Codable, Sendable, Hashable {
  /// This process among all of the node's name.
  package var instance: String
  /// The address at which other nodes reach it.
  package var url: String
  /// How many cameras that move it takes.
  package var slots: Int
  /// It is about to stop. Its cameras may be taken at once.
  package var leaving = false
}

/// The value of `c.CAMERA`.
package struct CameraRecord: Codable, Sendable, Hashable {
  /// The owner's name; empty if it has released the camera.
  package var node: String
  /// The owner's process.
  package var instance: String
  /// Grows by one with each owner. 0 is none.
  package var epoch: UInt64
  /// The camera never moves.
  package var fixed: Bool?
  /// The node that shall take it from this one.
  package var to: String?
}

/// The value of `l.NODE`.
struct NodeListing: Sendable, Hashable {
  /// The cameras that move which the node can take.
  var offers: Set<String>
  /// Its own cameras, as it lists them.
  var cameras: PeerListing
}

extension NodeListing {
  /// Nil for what no node writes. A node without cameras lists none.
  init?(json bytes: [UInt8]) {
    guard bytes.count <= PeerListing.largestAnswer,
      let decoded = try? JSONDecoder().decode(ListedMembers.self, from: Data(bytes))
    else { return nil }
    let names = (decoded.offers ?? []).prefix(Self.mostOffers).filter {
      (try? ViewConfiguration.check(name: $0)) != nil
    }
    offers = Set(names)
    cameras = PeerListing(decoded) ?? PeerListing()
  }

  private static let mostOffers = 10_000
}

/// Keys of the bucket. Names of nodes and cameras follow the rules of the configuration, which keys allow.
enum LeaseKey: Hashable, Sendable {
  case node(String)
  case camera(String)
  case listing(String)

  /// Nil for keys of other kinds: later versions may have them.
  init?(_ text: String) {
    let name = String(text.dropFirst(2))
    guard !name.isEmpty, (try? ViewConfiguration.check(name: name)) != nil else { return nil }
    switch text.prefix(2) {
    case "n.": self = .node(name)
    case "c.": self = .camera(name)
    case "l.": self = .listing(name)
    default: return nil
    }
  }

  var text: String {
    switch self {
    case .node(let name): "n.\(name)"
    case .camera(let name): "c.\(name)"
    case .listing(let name): "l.\(name)"
    }
  }
}

extension NodeRecord {
  /// Nil for what no node writes.
  init?(json bytes: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
      (0...ClusterConfiguration.mostSlots).contains(record.slots), record.instance.utf8.count <= 64
    else { return nil }
    self = record
  }
}

extension CameraRecord {
  /// The owner of a camera that moves.
  var mover: String? { fixed == true || node.isEmpty ? nil : node }

  /// Nil for what no node writes.
  init?(json bytes: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
      record.node.isEmpty || (try? ViewConfiguration.check(name: record.node)) != nil,
      record.instance.utf8.count <= 64,
      record.epoch < UInt64.max / 2
    else { return nil }
    self = record
  }
}

extension Encodable {
  /// JSON, with its members in one order.
  var jsonBytes: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map(Array.init) ?? []
  }
}
