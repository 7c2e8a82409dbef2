// Names of topics, and what Home Assistant is told.
import Foundation
import GLPreview
import PreviewCore
import Testing

@testable import MQTT
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("MQTT topics")
struct MQTTTopicsTests {
  private static func topics(_ change: (inout MQTTConfiguration) -> Void = { _ in }) -> MQTTTopics {
    var configuration = MQTTConfiguration()
    change(&configuration)
    return MQTTTopics(configuration, node: "shed", version: "1.2")
  }

  private static func json(_ message: MQTTMessage?) throws -> [String: String] {
    let object = try JSONSerialization.jsonObject(with: Data(try #require(message).payload))
    let members = try #require(object as? [String: Any])
    return members.compactMapValues { $0 as? String }
  }

  @Test("only topics of the form PREFIX/CAMERA/snapshot are parsed as a camera's command")
  func commands() {
    let topics = Self.topics { $0.prefix = "a/b" }
    #expect(
      topics.commands == "a/b/+/snapshot" && topics.camera(ofCommand: "a/b/back.yard/snapshot") == "back.yard"
    )
    for topic in ["a/b//snapshot", "a/b/x/y/snapshot", "a/b/snapshot", "a/x/snapshot", "snapshot", ""] {
      #expect(topics.camera(ofCommand: topic) == nil, "\(topic)")
    }
  }

  @Test("Home Assistant discovery lists a camera's entities with unique ids and their topics")
  func discovery() throws {
    let messages = Self.topics().discovery(of: "back.yard", hasMotion: true)
    #expect(
      messages.map(\.topic)
        == [
          "camera/glpreview_back_2eyard/picture", "binary_sensor/glpreview_back_2eyard/problem",
          "sensor/glpreview_back_2eyard/state", "sensor/glpreview_back_2eyard/fps",
          "button/glpreview_back_2eyard/snapshot", "binary_sensor/glpreview_back_2eyard/motion",
        ].map { "homeassistant/\($0)/config" })
    #expect(messages.allSatisfy { $0.isRetained })

    let entities = try messages.map { try Self.json($0) }
    #expect(Set(entities.map { $0["unique_id"] }).count == entities.count)
    #expect(entities.allSatisfy { $0["availability_topic"] == "glpreview/shed/status" })
    #expect(entities[0]["topic"] == "glpreview/back.yard/picture")
    #expect(
      entities[1]["value_template"] == "{{ 'ON' if value_json.state in ['stalled', 'lost'] else 'OFF' }}")
    #expect(entities[4]["command_topic"] == "glpreview/back.yard/snapshot")
    #expect(entities[5]["state_topic"] == "glpreview/back.yard/motion")
  }

  @Test("discovery omits the motion sensor without motion, and sends nothing when switched off")
  func absent() {
    let kinds = Self.topics().discovery(of: "a", hasMotion: false).map(\.topic)
    #expect(kinds.count == 5 && !kinds.contains { $0.contains("motion") })
    #expect(Self.topics { $0.discovery = nil }.discovery(of: "a", hasMotion: true).isEmpty)
  }

  @Test("a state message has state, reason, node and the frame rate rounded to an integer")
  func state() throws {
    var report = CameraReport(since: .now)
    (report.state, report.reason, report.framesPerSecond) = (.lost, "unplugged", 29.97)
    let object = try JSONSerialization.jsonObject(with: Data(Self.topics().state(report)))
    let members = try #require(object as? [String: Any])
    #expect(members["state"] as? String == "lost" && members["reason"] as? String == "unplugged")
    #expect(members["fps"] as? Int == 30 && members["node"] as? String == "shed")
  }
}
