// Clients for tests: nothing is given up because a machine is slow.
import Foundation
import Logging
import Synchronization
import TestSupport
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
