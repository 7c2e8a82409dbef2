// The parts of a configuration that belong to features.
import GLPreviewServer
import MQTT
import RTSP
import Recordings
import Testing

@testable import ServiceFoundation

@Suite("Configuration sections")
struct ConfigurationSectionTests {
  @Test("a section that is reset to its defaults equals one that was never set")
  func usual() {
    var configuration = ServerConfiguration()
    configuration.rtsp.listen = .at(host: "127.0.0.1", port: 554)
    configuration.recordings = FolderConfiguration(path: "/a")
    #expect(configuration != ServerConfiguration())
    #expect(configuration.rtsp.address == .host("127.0.0.1", port: 554))
    configuration.recordings = nil
    configuration.rtsp.listen = .off
    #expect(configuration == ServerConfiguration())
    #expect(configuration.hashValue == ServerConfiguration().hashValue)
  }

  @Test("configurations with the same sections are equal, whatever the order of setting them")
  func order() {
    var (one, other) = (ServerConfiguration(), ServerConfiguration())
    one.rtsp.listen = .at(host: "::1", port: 1)
    one.recordings = FolderConfiguration(path: "/a")
    other.recordings = FolderConfiguration(path: "/a")
    #expect(one != other)
    other.rtsp.listen = .at(host: "::1", port: 1)
    #expect(one == other && one.hashValue == other.hashValue)
    other.recordings?.maximumCount = 3
    #expect(one != other)
  }

  @Test("conflicts in a section are reported at its keys")
  func problems() {
    var camera = CameraConfiguration(source: "pattern:bars")
    camera.record.when = .always
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.rtsp.listen = .at(host: "0.0.0.0", port: 554)
    let error = #expect(throws: ConfigurationError.self) { try ValidatedConfiguration(configuration) }
    let places = error?.problems.map { $0.path.joined(separator: ".") }
    #expect(places == ["cameras.camera.record.when", "rtsp.listen"])
  }

  @Test("a reload keeps the listen address of a section and applies the other sections")
  func addresses() {
    var (start, new) = (ServerConfiguration(), ServerConfiguration())
    start.rtsp.listen = .at(host: "127.0.0.1", port: 554)
    start.recordings = FolderConfiguration(path: "/a")
    new.rtsp.listen = .at(host: "127.0.0.1", port: 555)
    new.recordings = FolderConfiguration(path: "/b")
    new.sections.keepAddresses(of: start.sections)
    #expect(new.rtsp == start.rtsp && new.recordings?.path == "/b")
  }

  @Test("the key of a feature that the schema lacks is an unknown key")
  func schema() throws {
    let folder = try ConfigurationFolder()
    try folder.write("rtsp:\n  listen: 554\n", to: "a.yaml")
    let core = ConfigurationSchema(ConfigurationKeys.access)
    let loader = ConfigurationLoader(core, files: ["\(folder.path)/a.yaml"], environment: [:])
    let error = #expect(throws: ConfigurationError.self) { try loader.load() }
    #expect(error?.problems.first?.description.contains("rtsp: unknown key") == true)
  }
}
