// MQTT as a feature of the service.
package import ServiceLifecycle

package struct MQTTFeature: ServiceFeature {
  /// Nil without a server.
  let publisher: MQTTPublisher?

  /// - Throws: `ConfigurationError` for certificates that can't be read.
  package init(_ core: ServiceCore) throws {
    publisher = try core.configuration.mqtt.map { try MQTTPublisher($0, core) }
  }

  package var services: [any Service] { publisher.map { [$0] } ?? [] }

  package var metricFamilies: [MetricFamily] {
    guard let publisher else { return [] }
    return [
      MetricFamily(
        "glpreview_mqtt_connected", value: publisher.client.isConnected ? 1 : 0,
        help: "1 while the MQTT server is connected.")
    ]
  }
}
