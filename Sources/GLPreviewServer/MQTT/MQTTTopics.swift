// The topics and messages of a node and its cameras, including Home Assistant's discovery. Values, no I/O.

/// Names of topics. Names of cameras and nodes have neither wildcards nor slashes
/// (`ViewConfiguration.check(name:)`).
struct MQTTTopics: Sendable {
  let prefix: String
  /// The prefix of Home Assistant's discovery; nil for none.
  let discovery: String?
  let node: String
  /// This program's version.
  let version: String

  init(_ configuration: MQTTConfiguration, node: String, version: String) {
    (prefix, discovery) = (configuration.prefix, configuration.discovery)
    (self.node, self.version) = (node, version)
  }

  /// Whether the node is online: `online` or `offline`.
  var status: String { "\(prefix)/\(node)/status" }
  /// The topics that clients publish to for a snapshot.
  var commands: String { "\(prefix)/+/snapshot" }

  func state(_ camera: String) -> String { "\(prefix)/\(camera)/state" }
  func picture(_ camera: String) -> String { "\(prefix)/\(camera)/picture" }
  func motion(_ camera: String) -> String { "\(prefix)/\(camera)/motion" }
  func snapshot(_ camera: String) -> String { "\(prefix)/\(camera)/snapshot" }
  func event(_ type: String) -> String { "\(prefix)/\(MQTTConfiguration.events)/\(type)" }

  /// The camera that a topic of `commands` is about.
  func camera(ofCommand topic: String) -> String? {
    guard topic.hasPrefix("\(prefix)/"), topic.hasSuffix("/snapshot") else { return nil }
    let name = topic.dropFirst(prefix.count + 1).dropLast("/snapshot".count)
    return name.isEmpty || name.contains("/") ? nil : String(name)
  }

  // MARK: Discovery

  /// The id of a camera's device in Home Assistant: letters, digits, `-` and `_`. Other bytes are escaped.
  private func device(_ camera: String) -> String {
    var id = ""
    for byte in "\(prefix)_\(camera)".utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        id.append(Character(UnicodeScalar(byte)))
      default: id += "_\(Hexadecimal.text(of: [byte]))"
      }
    }
    return id
  }

  /// The messages by which Home Assistant discovers a camera: its picture, its state, whether it has a
  /// problem, its frame rate, and a button for a snapshot. With `hasMotion` also a motion sensor.
  func discovery(of camera: String, hasMotion: Bool) -> [MQTTMessage] {
    var entities: [Entity] = [
      Entity("camera", "picture", "Picture", ["topic": picture(camera)]),
      Entity(
        "binary_sensor", "problem", "Problem",
        [
          "state_topic": state(camera), "device_class": "problem", "entity_category": "diagnostic",
          "value_template": "{{ 'ON' if value_json.state in [\(Self.troubles)] else 'OFF' }}",
        ]),
      Entity(
        "sensor", "state", "State",
        [
          "state_topic": state(camera), "entity_category": "diagnostic", "icon": "mdi:cctv",
          "value_template": "{{ value_json.state }}",
        ]),
      Entity(
        "sensor", "fps", "Frame rate",
        [
          "state_topic": state(camera), "entity_category": "diagnostic", "state_class": "measurement",
          "unit_of_measurement": "fps", "value_template": "{{ value_json.fps }}",
        ]),
      Entity(
        "button", "snapshot", "Take snapshot",
        ["command_topic": snapshot(camera), "payload_press": "snapshot", "icon": "mdi:camera"]),
    ]
    if hasMotion {
      entities.append(
        Entity(
          "binary_sensor", "motion", "Motion", ["state_topic": motion(camera), "device_class": "motion"]))
    }
    return entities.compactMap { message(of: $0, camera) }
  }

  /// The states of a camera that does not work. A camera without viewers is idle.
  private static let troubles = SourceState.allCases.filter(\.isTrouble).map { "'\($0.rawValue)'" }
    .joined(separator: ", ")

  private struct Entity {
    let kind: String
    let id: String
    let name: String
    let members: [String: String]

    init(_ kind: String, _ id: String, _ name: String, _ members: [String: String]) {
      (self.kind, self.id, self.name, self.members) = (kind, id, name, members)
    }
  }

  private func message(of entity: Entity, _ camera: String) -> MQTTMessage? {
    guard let discovery else { return nil }
    let device = device(camera)
    var json = entity.members.mapValues(JSONValue.string)
    json["name"] = .string(entity.name)
    json["unique_id"] = .string("\(device)_\(entity.id)")
    json["availability_topic"] = .string(status)
    json["device"] = .object([
      "identifiers": .array([.string(device)]), "name": .string(camera), "manufacturer": "GLPreview",
      "model": .string("camera of \(node)"), "sw_version": .string(version),
    ])
    json["origin"] = .object(["name": "GLPreview", "sw_version": .string(version)])
    return MQTTMessage(
      topic: "\(discovery)/\(entity.kind)/\(device)/\(entity.id)/config", payload: json.json, isRetained: true
    )
  }

  /// A camera's state, as JSON. The frame rate is rounded, so that it rarely changes.
  func state(_ report: CameraReport) -> [UInt8] {
    let state: [String: JSONValue?] = [
      "state": .string(report.state.rawValue), "reason": report.reason.map(JSONValue.string),
      "since": .string(report.since.description), "node": .string(node),
      "fps": .integer(Int(report.framesPerSecond.rounded())),
    ]
    return state.compactMapValues { $0 }.json
  }
}
