// A peer's answer to `GET /api/cameras`, which describes the peer and its cameras. It is validated, because
// another machine's answer can't be trusted.
internal import FoundationEssentials

/// The part of a peer's view that this node needs.
package struct PeerView: Sendable, Hashable {
  package let name: String
  package let isEnabled: Bool
  package var isLocked = false
}

/// A peer's camera or scene.
package struct PeerCamera: Sendable, Hashable {
  package let name: String
  /// At least one.
  package let views: [PeerView]
  package let state: SourceState
  /// The members in the peer's answer for clients with the role `read`, including unknown ones.
  let members: [String: JSONValue]
}

/// A peer's answer.
package struct PeerListing: Sendable, Hashable {
  /// The peer's name; nil if it gives none, or an invalid one.
  var name: String?
  /// An ID that differs for each process; nil if the peer gives none.
  var instance: String?
  /// The cameras; their names are unique.
  var cameras: [PeerCamera] = []
  /// The number of cameras that were omitted, because there are too many or their names are invalid or not
  /// unique.
  var refusedCount = 0

  package static let largestAnswer = 4 << 20
  static let mostCameras = 1000
  private static let mostViews = 64

  /// Parses an answer. Views and cameras with invalid names are omitted.
  ///
  /// - Throws: `PeerFailure` if it is not a list of cameras.
  init(json bytes: [UInt8]) throws(PeerFailure) {
    guard let decoded = try? JSONDecoder().decode(ListedMembers.self, from: Data(bytes)),
      let listing = PeerListing(decoded)
    else { throw PeerFailure("sent no list of cameras: is it a GLPreview service?") }
    self = listing
  }

  /// Nil if there is no list of cameras.
  package init?(_ decoded: ListedMembers) {
    guard let cameras = decoded.cameras else { return nil }
    if case .object(let node) = decoded.node {
      name = node["name"]?.text.flatMap(Self.checked)
      instance = node["instance"]?.text.flatMap(Self.checked)
    }
    var names: Set<String> = []
    for value in cameras {
      guard self.cameras.count < Self.mostCameras, case .object(let members) = value,
        let camera = Self.camera(members), names.insert(camera.name).inserted
      else {
        refusedCount += 1
        continue
      }
      self.cameras.append(camera)
    }
  }

  package init(name: String? = nil, instance: String? = nil, cameras: [PeerCamera] = []) {
    (self.name, self.instance, self.cameras) = (name, instance, cameras)
  }

  /// Returns a name if it is valid in URLs.
  private static func checked(_ name: String) -> String? {
    (try? ViewConfiguration.check(name: name)).map { name }
  }

  private static func camera(_ members: [String: JSONValue]) -> PeerCamera? {
    guard let name = members["name"]?.text.flatMap(checked), case .array(let all) = members["views"] else {
      return nil
    }
    var (views, shown): ([PeerView], [JSONValue]) = ([], [])
    for case .object(var view) in all.prefix(mostViews) {
      guard let viewName = view["name"]?.text.flatMap(checked),
        !views.contains(where: { $0.name == viewName })
      else { continue }
      views.append(
        PeerView(
          name: viewName, isEnabled: view["enabled"] != .bool(false), isLocked: view["locked"] == .bool(true))
      )
      view["urls"] = urls(of: view["urls"], "/cameras/\(name)/\(viewName)")
      // Only for the role `control`: an older peer may not know that this list is for all clients.
      view["watchers"] = nil
      shown.append(.object(view))
    }
    guard !views.isEmpty else { return nil }
    let state = members["state"]?.text.flatMap(SourceState.init(rawValue:)) ?? .idle
    var members = members
    for key in ["source", "node", "node_url"] { members[key] = nil }
    members["state"] = .string(state.rawValue)
    members["views"] = .array(shown)
    return PeerCamera(name: name, views: views, state: state, members: members)
  }

  /// Builds the URLs on this node, because pages follow them.
  private static func urls(of listed: JSONValue?, _ path: String) -> JSONValue {
    var urls: [String: JSONValue] = [
      "stream": .string(path + ".mjpeg"), "mp4": .string(path + ".mp4"), "jpeg": .string(path + ".jpg"),
      "png": .string(path + ".png"),
    ]
    if case .object(let listed) = listed, listed["whep"] != nil { urls["whep"] = .string(path + "/whep") }
    return .object(urls)
  }
}

/// The reason why a peer gives no list. The text contains neither the peer's address nor any of its data,
/// because every client may read it.
package struct PeerFailure: Error, Sendable, Hashable {
  package var reason: String
  var kind = Kind.lost

  package enum Kind: Sendable, Hashable {
    case lost, unauthorized
    /// It does not check the token now, because it received too many wrong ones.
    case refused
  }

  package init(_ reason: String, _ kind: Kind = .lost) { (self.reason, self.kind) = (reason, kind) }
}

extension JSONValue {
  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}

/// The members of a node's answer that are read.
package struct ListedMembers: Decodable {
  let node: JSONValue?
  /// Nil if it is not an array, or nested too deeply.
  let cameras: [JSONValue]?
  /// The movable cameras that the node can take.
  package let offers: [String]?

  private enum CodingKeys: CodingKey { case node, cameras, offers }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    node = (try? members.decodeIfPresent(DecodedJSON.self, forKey: .node))?.value
    cameras = (try? members.decodeIfPresent([DecodedJSON].self, forKey: .cameras))?.map(\.value)
    offers = try members.decodeIfPresent([String].self, forKey: .offers)
  }
}

/// Any JSON value that is not nested too deeply.
private struct DecodedJSON: Decodable {
  let value: JSONValue

  private static let deepest = 16

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
  }

  struct TooDeep: Error {}

  init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count < Self.deepest else { throw TooDeep() }
    // Strings are tried first, because they are the most frequent: each wrong guess costs an error.
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      value = .string(text)
    } else if let object = try? decoder.container(keyedBy: Key.self) {
      var members: [String: JSONValue] = [:]
      for key in object.allKeys {
        members[key.stringValue] = try object.decode(DecodedJSON.self, forKey: key).value
      }
      value = .object(members)
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !list.isAtEnd { values.append(try list.decode(DecodedJSON.self).value) }
      value = .array(values)
    } else {
      let single = try decoder.singleValueContainer()
      if let whole = try? single.decode(Int.self) {
        value = .integer(whole)
      } else if let number = try? single.decode(Double.self) {
        value = .number(number)
      } else if let flag = try? single.decode(Bool.self) {
        value = .bool(flag)
      } else {
        value = .null
      }
    }
  }
}
