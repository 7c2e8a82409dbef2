// Clients for tests: nothing is given up because a machine is slow.
import Foundation
import Logging
import Synchronization
import Testing

@testable import NATS

extension NATSConfiguration {
  /// Of servers on loopback, in their order, with all the time there is.
  static func patient(_ ports: Int...) -> NATSConfiguration { patient(ports) }

  static func patient(_ ports: [Int]) -> NATSConfiguration {
    var configuration = NATSConfiguration(
      servers: ports.map { NATSServerAddress(host: "127.0.0.1", port: $0) })
    configuration.order = .given
    configuration.connectTimeout = allTheTimeThereIs
    configuration.requestTimeout = allTheTimeThereIs
    configuration.pingInterval = allTheTimeThereIs
    return configuration
  }
}

/// Logs nothing.
let silent = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }

/// A connected client that never pauses, for as long as `work` takes.
func withClient<Result>(
  _ configuration: NATSConfiguration, _ work: (NATSClient) async throws -> Result
) async throws -> Result {
  let client = try NATSClient(configuration, logger: silent) { _ in }
  try await client.start()
  do {
    let result = try await work(client)
    await client.close()
    return result
  } catch {
    await client.close()
    throw error
  }
}

extension AsyncStream where Element: Sendable {
  /// The first element that `choose` takes.
  func first<Chosen>(_ choose: (Element) -> Chosen?) async throws -> Chosen {
    for await element in self { if let chosen = choose(element) { return chosen } }
    throw CancellationError()
  }

  /// Returns when an element has come that `isIt` holds for.
  func hear(_ isIt: (Element) -> Bool) async throws {
    for await element in self where isIt(element) { return }
    throw CancellationError()
  }
}

extension NATSSubscription {
  /// The next message, which there must be.
  func message() async throws -> NATSMessage { try #require(try await next()) }
}

extension NATSMessage {
  var text: String { String(decoding: payload, as: UTF8.self) }
}

extension [UInt8] {
  init(text: String) { self = Array(text.utf8) }
}

/// Certificates that openssl makes: an authority, and what it has signed.
struct Certificates {
  let folder: URL
  var authority: String { folder.appending(path: "ca.pem").path }
  var server: String { folder.appending(path: "server.pem").path }
  var serverKey: String { folder.appending(path: "server.key").path }
  var client: String { folder.appending(path: "client.pem").path }
  var clientKey: String { folder.appending(path: "client.key").path }

  static let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The server's is for 127.0.0.1 and localhost, the other one for another.example.
  init(in folder: URL) async throws {
    self.folder = folder
    try await run(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca"
    )
    for name in ["server", "client", "other"] {
      try await run(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key -out \(name).csr -subj /CN=\(name)"
      )
      let names = Data(
        "subjectAltName=\(name == "other" ? "DNS:another.example" : "IP:127.0.0.1,DNS:localhost")\n".utf8)
      try names.write(to: folder.appending(path: "names"))
      try await run(
        "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out \(name).pem"
      )
    }
  }

  private func run(_ words: String) async throws {
    let openssl = try #require(Self.openssl)
    let process = try ChildProcess(
      openssl, words.split(separator: " ").map(String.init), environment: [:], in: folder.path, writingTo: nil
    )
    let status = await ChildProcess.status(of: process.id)
    try #require(status == 0, "openssl \(words)")
  }
}
