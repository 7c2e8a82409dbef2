// What a configuration says of an MQTT server.
import MQTT
import Testing

@testable import ServiceFoundation

@Suite("MQTT configuration")
struct MQTTConfigurationTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func mqtt(_ text: String) throws -> MQTTConfiguration? {
    try folder.load("cameras: {door: {source: \"pattern:smpte\"}}\nmqtt: {\(text)}").configuration.mqtt
  }

  private func problems(_ text: String, camera: String = "door") throws -> String {
    try folder.problems("cameras: {\(camera): {source: \"pattern:smpte\"}}\nmqtt: {\(text)}")
      .joined(separator: "\n")
  }

  @Test(
    "an MQTT URL without a port gets port 1883 or, with TLS, 8883",
    arguments: [
      ("mqtt://home", "mqtt://home:1883"), ("mqtts://home", "mqtts://home:8883"),
      ("mqtt://h:99/", "mqtt://h:99"),
      ("mqtt://[::1]", "mqtt://[::1]:1883"), ("mqtts://[::1]:7", "mqtts://[::1]:7"),
      ("mqtt://10.0.0.7", "mqtt://10.0.0.7:1883"),
    ])
  func addresses(text: String, expected: String) throws {
    #expect(try mqtt("server: '\(text)'")?.server.description == expected)
  }

  @Test("MQTT is off without an `mqtt` section; a section without a server is an error")
  func absent() throws {
    #expect(try folder.load("cameras: {door: {source: \"pattern:smpte\"}}").configuration.mqtt == nil)
    #expect(try problems("prefix: a").contains("mqtt: has no server"))
  }

  @Test(
    "invalid MQTT URLs are rejected without repeating their password",
    arguments: ["http://h", "mqtt://", "mqtt://h:0", "mqtt://h:x", "mqtt://ann:hush@h", "mqtt://h/x", "home"])
  func bad(text: String) throws {
    let problems = try problems("server: '\(text)'")
    #expect(problems.contains("mqtt.server: ") && !problems.contains("hush"))
  }

  @Test("contradictory or invalid MQTT settings are reported with their keys")
  func contradictions() throws {
    try folder.write("x", to: "a.pem")
    #expect(try problems("server: 'mqtt://h', password: x").contains("mqtt.password: "))
    #expect(try problems("server: 'mqtts://h', certificate: a.pem").contains("mqtt.certificate: "))
    #expect(
      try problems("server: 'mqtt://h', ca-file: a.pem").contains("mqtt.server: certificates need mqtts://"))
    #expect(try problems("server: 'mqtt://h'", camera: "events").contains("cameras.events: "))
    #expect(try problems("server: 'mqtt://h', prefix: 'a/#'").contains("mqtt.prefix: "))
    #expect(try problems("server: 'mqtt://h', prefix: 'a//b'").contains("mqtt.prefix: "))
    #expect(try problems("server: 'mqtt://h', pictures: 10ms").contains("mqtt.pictures: "))
  }

  @Test("discovery, pictures and prefix have defaults, and discovery can be switched off")
  func words() throws {
    let usual = try #require(try mqtt("server: 'mqtt://h'"))
    #expect(usual.discovery == "homeassistant" && usual.pictures == nil && usual.prefix == "glpreview")
    let other = try #require(
      try mqtt("server: 'mqtt://h', discovery: false, pictures: 10s, prefix: site/cams"))
    #expect(other.discovery == nil && other.pictures == .seconds(10) && other.prefix == "site/cams")
  }
}
