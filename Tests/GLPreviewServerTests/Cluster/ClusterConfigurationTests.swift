// The section `cluster`, and peers that speak TLS.
import Foundation
import GLPreview
import NIOHTTP1
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Cluster configuration", .timeLimit(.minutes(15)))
struct ClusterConfigurationTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  @Test("a node with peers needs no cameras and adds no test pattern")
  func hub() throws {
    let hub = try folder.load("cluster: {peers: ['http://a:8080/', 'https://b/base//']}")
    #expect(hub.cameras.isEmpty)
    #expect(hub.cluster.peers == ["http://a:8080", "https://b/base"])
    #expect(try folder.load("cluster: {name: here}").cameras.count == 1)
    #expect(try folder.load("{cluster: {peers: [http://a]}, cameras: {a: {source: x}}}").cameras.count == 1)
  }

  @Test(
    "a loopback node is reported as unreachable if it has a remote NATS server and no URL",
    arguments: [
      ("bind: '127.0.0.1:80', cluster: {nats: {servers: [nats://far]}}", true),
      ("bind: '127.0.0.1:80', cluster: {nats: {servers: [nats://127.0.0.1, nats://far]}}", true),
      ("bind: '127.0.0.1:80', cluster: {nats: {servers: [nats://127.0.0.1]}}", false),
      ("bind: '127.0.0.1:80', cluster: {url: 'http://here', nats: {servers: [nats://far]}}", false),
      ("bind: '10.0.0.1:80', access: {insecure: true}, cluster: {nats: {servers: [nats://far]}}", false),
      ("cluster: {peers: [http://a]}", false),
    ])
  func unreachable(text: String, isUnreachable: Bool) throws {
    #expect(try (folder.load("{\(text)}").unreachableNode != nil) == isUnreachable)
  }

  @Test("more than 64 peers and repeated peers are rejected, and a token is read from a file")
  func mistakes() throws {
    let many = (0...64).map { "http://h\($0)" }.joined(separator: ", ")
    #expect(try folder.problems("cluster: {peers: [\(many)]}").contains { $0.contains("at most 64") })
    #expect(try folder.problems("cluster: {peers: [http://a, http://a/]}").contains { $0.contains("twice") })
    #expect(
      try folder.problems("cluster: {peers: ['http://u:5ECRET@a']}").allSatisfy { !$0.contains("5ECRET") })
    try folder.write("t0k\n", to: "token")
    let configuration = try folder.load("cluster: {peers: [http://a], token-file: token}")
    #expect(configuration.cluster.token == "t0k" && !"\(configuration.cluster)".contains("t0k"))
  }

  // MARK: TLS

  private static let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  /// A certificate for localhost that it has signed itself, and its key.
  private static let pair = root.appending(path: "Tests/GLPreviewTests/Fixtures/localhost.pem").path

  @Test(
    "a peer's certificate must be trusted, for example by `ca-file`, or the peer is lost")
  func certificates() async throws {
    var owner = StreamTests.configuration()
    owner.tls = TLSFiles(certificateChain: Self.pair, privateKey: Self.pair)
    try await withService(owner) { owner in
      let address = "https://localhost:\(owner.port)"
      let known = edgeConfiguration(of: address) { $0.cluster.certificates = Self.pair }
      try await withService(known) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .up }
        #expect(try await edge.get("/cameras/camera/main.jpg").status == 200)
        let parts = try await edge.parts("/cameras/camera/main.mjpeg", 2).parts
        #expect(parts.allSatisfy { $0.headers["x-source-state"] == "live" && $0.size == "320x180" })
      }
      try await withService(edgeConfiguration(of: address)) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .lost }
        #expect(edge.inside.peers.cluster.peers[0].reason?.contains("ca-file") == true)
      }
    }
  }

  @Test("a `ca-file` without certificates prevents the start")
  func noCertificates() async throws {
    try folder.write("hello", to: "ca.pem")
    let path = "\(folder.path)/ca.pem"
    let configuration = edgeConfiguration(of: "https://localhost:1") { $0.cluster.certificates = path }
    await #expect(throws: ClusterError.self) { try await withService(configuration) { _ in } }
  }
}
