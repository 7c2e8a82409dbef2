// Files of recorded spans that are being sent when a token is taken away, or when the recordings are hidden:
// which transfers end.
import FoundationEssentials
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Recorded spans and tokens", .timeLimit(.minutes(15)))
struct RecordedTokenTests {
  /// A change of the configuration while spans are sent.
  enum Change: CaseIterable {
    case readerRemoved, controllerRemoved, controllerLowered
    case viewDisabled, viewLocked, maskAdded
    case viewDisabledAndControllerLowered

    /// The tokens whose transfers end.
    var ended: Set<String> {
      switch self {
      case .readerRemoved, .viewDisabled, .viewLocked, .maskAdded: ["look"]
      case .controllerRemoved: ["rule"]
      // Everything of the span is shown to both roles.
      case .controllerLowered: []
      case .viewDisabledAndControllerLowered: ["look", "rule"]
      }
    }

    func apply(to configuration: inout ServerConfiguration) throws {
      switch self {
      case .readerRemoved: configuration.access.tokens.removeAll { $0.secret == "look" }
      case .controllerRemoved: configuration.access.tokens.removeAll { $0.secret == "rule" }
      case .controllerLowered: RecordedTokenTests.lower(&configuration)
      case .viewDisabled: configuration.cameras[0].views[0].isEnabled = false
      case .viewLocked:
        configuration.cameras[0].views[0].view.crop = Rectangle(x: 0, y: 0, width: 80, height: 90)
        configuration.cameras[0].views[0].isLocked = true
      case .maskAdded: configuration.cameras[0].options.masks = [try PrivacyMask(parsing: "40x40+0+0")]
      case .viewDisabledAndControllerLowered:
        configuration.cameras[0].views[0].isEnabled = false
        RecordedTokenTests.lower(&configuration)
      }
    }
  }

  /// Gives the first token of the role `control` the role `read`.
  private static func lower(_ configuration: inout ServerConfiguration) {
    for index in configuration.access.tokens.indices
    where configuration.access.tokens[index].secret == "rule" {
      configuration.access.tokens[index].role = .read
    }
  }

  private static let access: AccessConfiguration = {
    var access = AccessConfiguration()
    access.tokens = [
      .init(secret: "look", role: .read), .init(secret: "rule", role: .control),
      .init(secret: "other", role: .control),
    ]
    return access
  }()

  /// The size of all pictures of the span.
  private static let byteCount = UnreadRecordedTests.large.count * 8 << 20

  /// Runs `work` with a service that has the recordings of `UnreadRecordedTests.span`.
  private static func withSpan(
    _ change: @escaping (inout ServerConfiguration) -> Void = { _ in },
    _ work: @escaping @Sendable (RunningService, ServerConfiguration) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder async throws in
      for recording in UnreadRecordedTests.large { try recording.write(to: folder) }
      var changed = RecordedCounter.configuration(folder)
      changed.access = access
      change(&changed)
      let configuration = changed
      try await withService(configuration) { service in
        await until { service.recordings.count == UnreadRecordedTests.large.count }
        try await work(service, configuration)
      }
    }
  }

  /// Clients to which the span is being sent, by their tokens. They have read its beginning.
  private static func clients(
    _ tokens: [String], at service: RunningService
  ) async throws -> [String: HeldConnection] {
    var clients: [String: HeldConnection] = [:]
    for token in tokens {
      let client = try await HeldConnection(
        to: service.port,
        sending: "GET \(UnreadRecordedTests.span) HTTP/1.1\r\nHost: localhost\r\n"
          + "Authorization: Bearer \(token)\r\nConnection: close\r\n\r\n")
      try #require(client.status.hasPrefix("HTTP/1.1 200 "), "\(token): \(client.status)")
      clients[token] = client
    }
    return clients
  }

  /// Lets the clients read on, and expects that the transfers of these tokens end and all others complete.
  private static func expect(_ clients: [String: HeldConnection], ending ended: Set<String>) async throws {
    for client in clients.values { try await client.release() }
    for (token, client) in clients {
      if ended.contains(token) {
        try await client.waitsForEnd()
        #expect(client.count < byteCount, "\(token)")
      } else {
        try await client.waits(forMoreThan: byteCount)
      }
    }
  }

  @Test(
    "a span that is being sent ends with the client's token, and once the client may no longer see it",
    arguments: Change.allCases)
  func ends(change: Change) async throws {
    try await Self.withSpan { service, configuration in
      let clients = try await Self.clients(["look", "rule", "other"], at: service)
      #expect(service.inside.access.grants.count == 3)
      var changed = configuration
      try change.apply(to: &changed)
      try await service.inside.apply(changed)
      try await Self.expect(clients, ending: change.ended)
      await until { service.inside.access.grants.count == 0 }
    }
  }

  @Test("a span that needs the role control ends when the client's token gets the role read")
  func hidden() async throws {
    try await Self.withSpan({ $0.cameras[0].views[0].isEnabled = false }) { service, configuration in
      let answer = try await service.get(UnreadRecordedTests.span, [("Authorization", "Bearer look")])
      #expect(answer.status == 403)
      let clients = try await Self.clients(["rule", "other"], at: service)
      var changed = configuration
      Self.lower(&changed)
      try await service.inside.apply(changed)
      try await Self.expect(clients, ending: ["rule"])
    }
  }

  @Test("a client without a token gets a span until credentials are required")
  func credentials() async throws {
    try await Self.withSpan({ $0.access = AccessConfiguration() }) { service, configuration in
      let client = try await HeldConnection(
        to: service.port,
        sending: "GET \(UnreadRecordedTests.span) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      #expect(client.status.hasPrefix("HTTP/1.1 200 "))
      var changed = configuration
      changed.access = Self.access
      try await service.inside.apply(changed)
      try await Self.expect(["": client], ending: [""])
    }
  }
}
