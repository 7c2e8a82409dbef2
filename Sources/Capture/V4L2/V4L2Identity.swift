// Identifies a camera independently of its number, by the kernel's description in /sys, without opening it.

/// The properties that distinguish a camera from others, and that don't change when it is unplugged and
/// plugged in again.
struct V4L2Identity: Sendable, Hashable {
  /// The driver's name for the node: `HD Pro Webcam C920`, `vivid-000-vid-cap`.
  let name: String
  /// The node's number within its device, because cameras have other nodes for metadata.
  let index: String
  /// The device in /sys: its location on the bus.
  let place: String
  /// Vendor and product of a USB device, and its serial number; empty if there are none.
  let product: String
  let serial: String

  /// Returns how likely `other` is the same camera; 0 if it is a different one.
  ///
  /// A different camera may be plugged in at the same place, and the same camera at a different place. At a
  /// different place, only a serial number proves that it is the same, or that there is no other of its kind,
  /// which the search checks.
  func likeness(to other: V4L2Identity) -> Int {
    guard index == other.index, product == other.product, serial == other.serial else { return 0 }
    if place == other.place { return name == other.name || !product.isEmpty ? 3 : 0 }
    if !product.isEmpty { return serial.isEmpty ? 1 : 2 }
    return 0
  }
}

extension V4L2Identity {
  /// Nil if /sys does not list the node.
  init?(of node: String) {
    guard let path = SystemFiles.resolved(node), let name = path.split(separator: "/").last else {
      return nil
    }
    let folder = "/sys/class/video4linux/\(name)"
    guard let title = SystemFiles.line("\(folder)/name"), let place = SystemFiles.resolved("\(folder)/device")
    else { return nil }
    // A USB camera's node belongs to an interface, whose parent has the vendor and product numbers.
    let device = place + "/.."
    let numbers = ["idVendor", "idProduct"].compactMap { SystemFiles.line("\(device)/\($0)") }
    let hasNumbers = numbers.count == 2
    self.init(
      name: title, index: SystemFiles.line("\(folder)/index") ?? "", place: place,
      product: hasNumbers ? numbers.joined(separator: ":") : "",
      serial: hasNumbers ? SystemFiles.line("\(device)/serial") ?? "" : "")
  }
}

enum V4L2Nodes {
  /// Returns `/dev/video0`, `/dev/video1`, ..., in the order of their numbers.
  static func all() -> [String] {
    SystemFiles.names(in: "/dev").compactMap { name in
      name.hasPrefix("video") ? Int(name.dropFirst("video".count)) : nil
    }.sorted().map { "/dev/video\($0)" }
  }

  /// Returns the current node of the camera `identity`; `path` if that is still the same camera.
  ///
  /// `others` are the places of other cameras that were connected at the same time. None of them is accepted,
  /// however similar.
  static func find(_ identity: V4L2Identity, at path: String, besides others: Set<String>) -> String? {
    if let there = V4L2Identity(of: path), there.likeness(to: identity) == 3 { return path }
    let candidates = all().compactMap { node -> (node: String, likeness: Int)? in
      guard let there = V4L2Identity(of: node), !others.contains(there.place) else { return nil }
      return (node, there.likeness(to: identity))
    }
    return choose(candidates)
  }

  /// Returns the places of other cameras that could be mistaken for `identity`.
  static func lookalikes(of identity: V4L2Identity) -> Set<String> {
    Set(
      all().compactMap { V4L2Identity(of: $0) }.filter {
        $0.place != identity.place && $0.likeness(to: identity) > 0
      }.map(\.place))
  }

  /// Returns the most likely node. A match by kind and serial number alone must be unique, because
  /// manufacturers repeat serial numbers.
  static func choose(_ nodes: [(node: String, likeness: Int)]) -> String? {
    guard let most = nodes.map(\.likeness).max(), most > 0 else { return nil }
    let likest = nodes.filter { $0.likeness == most }
    return most < 3 && likest.count > 1 ? nil : likest.first?.node
  }

  /// Returns udev's link to a node, which does not depend on its number: by ID, or else by place.
  static func stablePath(of node: String) -> String? {
    guard let path = SystemFiles.resolved(node) else { return nil }
    for folder in ["/dev/v4l/by-id", "/dev/v4l/by-path"] {
      for name in SystemFiles.names(in: folder) where SystemFiles.resolved("\(folder)/\(name)") == path {
        return "\(folder)/\(name)"
      }
    }
    return nil
  }
}
