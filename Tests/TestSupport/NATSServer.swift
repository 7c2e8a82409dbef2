// The real server, on ports of its own, gone with its last user.
package import Foundation
import Testing

/// A nats-server on loopback.
package final class NATSServer: Sendable {
  /// Where clients connect, and where a later server may listen.
  package let reserved: ReservedPort
  package var port: Int { reserved.number }
  private let server: ServerProcess
  package var process: ChildProcess { server.process }
  /// Its files, gone with its last user.
  package var folder: URL { server.folder }

  private static let path = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map { $0 + "/nats-server" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Whether there is one.
  package static let isInstalled = path != nil

  /// Started, and listening. `configuration` has lines of its configuration file, in which FOLDER is a folder of its own, or
  /// the one of an earlier server, as its port may be.
  package init(_ configuration: String = "", port: ReservedPort? = nil, folder: URL? = nil) async throws {
    let path = try #require(Self.path)
    let folder = folder ?? Self.makeFolder()
    let reserved = try port ?? ReservedPort()
    self.reserved = reserved
    let ports = folder.appending(path: "ports-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: ports, withIntermediateDirectories: true)
    let text = """
      listen: "127.0.0.1:\(reserved.number)"
      ports_file_dir: "\(ports.path)"
      log_file: "\(folder.path)/log"
      \(configuration.replacing("FOLDER", with: folder.path).replacing(#/(?<block>authorization|tls) \{/#) { "\($0.block) { timeout: 3600," })

      """
    let file = folder.appending(path: "nats.conf")
    try Data(text.utf8).write(to: file)
    server = try await ServerProcess(path, ["-c", file.path], in: folder) { process in
      Self.isListening(ports.appending(path: "nats-server_\(process.id).ports"))
    }
  }

  /// A folder that a server removes in the end.
  package static func makeFolder() -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: "glpreview-nats-\(UUID().uuidString)")
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  /// Ends it at once, and returns when it is gone.
  package func kill9() async { await server.kill9() }

  private static func isListening(_ file: URL) -> Bool {
    struct Ports: Decodable { let nats: [String] }
    return (try? JSONDecoder().decode(Ports.self, from: Data(contentsOf: file)))?.nats.isEmpty == false
  }
}
