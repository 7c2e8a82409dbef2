// The real MQTT server and its clients, on a port of its own, gone with its last user.
package import Foundation
package import Testing

/// A mosquitto on loopback.
package final class Mosquitto: Sendable {
  /// Where clients connect, and where a later server may listen.
  package let reserved: ReservedPort
  package var port: Int { reserved.number }
  private let server: ServerProcess
  /// Its files, gone with its last user.
  package var folder: URL { server.folder }

  private static func path(_ name: String) -> String? {
    ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"].map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Whether it and its clients are there.
  package static let isInstalled = ["mosquitto", "mosquitto_pub", "mosquitto_sub"].allSatisfy {
    path($0) != nil
  }
  /// What is said where they are not.
  package static let isMissing = Comment(
    "mosquitto or mosquitto-clients is missing: scripts/setup installs them")

  /// Started, and listening. `configuration` has lines of its configuration file, in which FOLDER is a folder of its own.
  package init(
    _ configuration: String = "allow_anonymous true", port: ReservedPort? = nil, files: [String: String] = [:]
  )
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "glpreview-mqtt-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
    let log = folder.appending(path: "log")
    let reserved = try port ?? ReservedPort()
    self.reserved = reserved
    let text = """
      listener \(reserved.number) 127.0.0.1
      user \(NSUserName())
      persistence false
      log_dest file \(log.path)
      \(configuration.replacing("FOLDER", with: folder.path))

      """
    let file = folder.appending(path: "mosquitto.conf")
    try Data(text.utf8).write(to: file)
    server = try await ServerProcess(try #require(Self.path("mosquitto")), ["-c", file.path], in: folder) {
      _ in
      (try? String(contentsOf: log, encoding: .utf8))?.contains(" running") == true
    }
  }

  /// Ends it at once, and returns when it is gone.
  package func kill9() async { await server.kill9() }

  package func stop() { kill(server.process.id, SIGSTOP) }
  package func goOn() { kill(server.process.id, SIGCONT) }

  // MARK: Its clients

  /// Publishes by mosquitto_pub, and returns when that has ended.
  package func publish(_ topic: String, _ text: String, _ options: String...) async throws {
    let process = try ChildProcess(
      try #require(Self.path("mosquitto_pub")),
      ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-t", topic, "-m", text] + options, environment: [:],
      in: folder.path, writingTo: nil)
    let status = await ChildProcess.status(of: process.id)
    try #require(status == 0, "mosquitto_pub")
  }

  /// What mosquitto_sub hears, from now on.
  package func subscribe(to pattern: String = "#", _ options: String...) throws -> Subscriber {
    let file = folder.appending(path: "\(UUID().uuidString).heard")
    try Data().write(to: file)
    let process = try ChildProcess(
      try #require(Self.path("mosquitto_sub")),
      // It does not give up a server that stands still for minutes.
      ["-h", "127.0.0.1", "-p", "\(port)", "-k", "3600", "-t", pattern, "-F", "%r %t %x"] + options,
      environment: [:],
      in: folder.path, writingTo: file.path)
    return Subscriber(process, file)
  }

  /// A running mosquitto_sub; killed with its last user.
  package final class Subscriber: Sendable {
    package struct Message: Sendable, Equatable {
      package let topic: String
      package let payload: [UInt8]
      package let isRetained: Bool

      package var text: String { String(decoding: payload, as: UTF8.self) }
    }

    private let process: ChildProcess
    private let file: URL

    fileprivate init(_ process: ChildProcess, _ file: URL) { (self.process, self.file) = (process, file) }

    deinit { process.end() }

    /// All messages so far.
    package var messages: [Message] {
      let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
      // The last line may be cut.
      return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { line in
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3 else { return nil }
        let digits = Array(words[2].utf8)
        let payload = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
          UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
        }
        return Message(topic: String(words[1]), payload: payload, isRetained: words[0] == "1")
      }
    }

    /// What was published last to each topic.
    package var newest: [String: Message] {
      Dictionary(messages.map { ($0.topic, $0) }) { $1 }
    }

    /// Returns when a message to a topic is as wanted, whatever has followed it.
    package func hears(_ topic: String, _ isRight: (Message) -> Bool = { _ in true }) async {
      await until { messages.contains { $0.topic == topic && isRight($0) } }
    }

    package func hears(_ topic: String, saying text: String) async { await hears(topic) { $0.text == text } }
  }
}
