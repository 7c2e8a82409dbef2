// What nodes write into the cluster's bucket: a key for each node, which the node renews, and one for each
// camera, which changes with its owner.
internal import FoundationEssentials

/// The value of `n.NODE`. Its revision grows with each renewal. Other nodes know only by that that the node
/// is alive.
package struct NodeRecord: Codable, Sendable, Hashable {
  /// Identifies this process among all processes with the node's name.
  package var instance: String
  /// The address at which other nodes reach it.
  package var url: String
  /// How many movable cameras the node takes.
  package var slots: Int
  /// Whether the node is about to stop, so that its cameras may be taken at once.
  package var leaving = false
}

/// The value of `c.CAMERA`.
package struct CameraRecord: Codable, Sendable, Hashable {
  /// The owner's name; empty if it has released the camera.
  package var node: String
  /// The owner's process.
  package var instance: String
  /// Grows by one with each owner. 0 means none.
  package var epoch: UInt64
  /// Whether the camera never moves.
  package var fixed: Bool?
  /// The node that should take the camera from this one.
  package var to: String?
}

/// The value of `l.NODE`.
struct NodeListing: Sendable, Hashable {
  /// The movable cameras that the node can take.
  var offers: Set<String>
  /// Its own cameras, as it lists them.
  var cameras: PeerListing
}

extension NodeListing {
  /// Nil for a value that no node writes. A node without cameras lists none.
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

/// The keys of the bucket. Names of nodes and cameras follow the rules of the configuration, so they are
/// valid in keys.
enum LeaseKey: Hashable, Sendable {
  case node(String)
  case camera(String)
  case listing(String)

  /// Nil for keys of other kinds, which later versions may have.
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
  /// Nil for a value that no node writes.
  init?(json bytes: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
      (0...ClusterConfiguration.mostSlots).contains(record.slots), record.instance.utf8.count <= 64
    else { return nil }
    self = record
  }
}

extension CameraRecord {
  /// The owner of a movable camera; nil if the camera is fixed or released.
  var mover: String? { fixed == true || node.isEmpty ? nil : node }

  /// Nil for a value that no node writes.
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
  /// JSON with sorted keys.
  var jsonBytes: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map(Array.init) ?? []
  }
}
