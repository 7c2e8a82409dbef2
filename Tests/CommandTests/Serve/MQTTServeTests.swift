// `glpreview serve` and the real mosquitto, where the process dies or is told what to do.
import Foundation
import TestSupport
import Testing

@Suite(
  "`glpreview serve` with an MQTT broker",
  .enabled(if: Mosquitto.isInstalled, Mosquitto.isMissing), .timeLimit(.minutes(15)))
struct MQTTServeTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func configuration(_ server: Mosquitto, _ rest: String = "") throws -> String {
    let text = """
      cluster: {name: shed}
      mqtt: {server: "mqtt://127.0.0.1:\(server.port)"\(rest)}
      cameras: {door: {source: "pattern:smpte,size=64x36,fps=20"}}
      """
    try folder.write(Array(text.utf8), to: "c.yaml")
    return folder.url.appending(path: "c.yaml").path
  }

  @Test("the MQTT broker publishes `offline` for a killed service and retains its pictures and status")
  func will() async throws {
    let server = try await Mosquitto()
    let heard = try server.subscribe()
    var service: ServedCommand? = try await ServedCommand("--config", configuration(server), in: folder)
    await heard.hears("glpreview/shed/status", saying: "online")
    await heard.hears("glpreview/door/picture")

    withExtendedLifetime(service) {}
    service = nil
    await heard.hears("glpreview/shed/status", saying: "offline")
    let late = try server.subscribe()
    await late.hears("glpreview/door/picture") { $0.isRetained }
    await late.hears("glpreview/shed/status") { $0.isRetained && $0.text == "offline" }
  }
}
