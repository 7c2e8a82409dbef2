// No client takes all places: shares of gates, and of those who follow events.
import FoundationEssentials
import GLPreview
import HTTPTypes
import NIOHTTP1
import TestSupport
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Per-client shares", .timeLimit(.minutes(15)))
struct ShareTests {
  private func inside<Result>(_ address: String, secret: Int? = nil, _ work: () throws -> Result) rethrows
    -> Result
  {
    try RequestClient.$current.withValue(
      RequestClient(address: ClientGroup(address), secret: secret), operation: work)
  }

  @Test(
    "a client's share is 1/4 of a large limit and 1/2 of a small one, at least one",
    arguments: [(256, 64), (16, 8), (4, 2), (2, 1), (1, 1), (0, 0)])
  func share(capacity: Int, share: Int) {
    #expect(AdmissionLimit.share(of: capacity) == share)
  }

  @Test("a client that has used its share gets 429, and others enter until all permits are taken")
  func gate() throws {
    let gate = AdmissionLimit(capacity: 4)
    var passes = try inside("10.0.0.1") { [try gate.enter(), try gate.enter()] }

    let refused = #expect(throws: Problem.self) { try inside("10.0.0.1") { try gate.enter() } }
    #expect(refused?.status == .tooManyRequests)
    #expect(refused?.headers["Retry-After"] == "1")
    #expect(gate.count == 2)

    // The same address with a secret of its own is somebody else, as behind a proxy.
    passes.append(try inside("10.0.0.1", secret: 1) { try gate.enter() })
    passes.append(try inside("10.0.0.2") { try gate.enter() })
    let full = #expect(throws: Problem.self) { try inside("10.0.0.3") { try gate.enter() } }
    #expect(full?.status == .serviceUnavailable)

    passes.removeFirst(2)
    passes += try inside("10.0.0.1") { [try gate.enter(), try gate.enter()] }
    #expect(gate.count == 4)

    passes = []
    #expect(gate.count == 0)
  }

  @Test(
    "clients with one secret at many addresses leave one client's share to others", arguments: [4, 16, 100])
  func secrets(capacity: Int) throws {
    let gate = AdmissionLimit(capacity: capacity)
    var passes: [AdmissionPermit] = []
    for address in 0..<capacity {
      if let pass = try? inside("10.0.0.\(address)", secret: 1, { try gate.enter() }) { passes.append(pass) }
    }
    #expect(passes.count == capacity - gate.share)
    let refused = #expect(throws: Problem.self) {
      try inside("10.1.0.1", secret: 1) { try gate.enter() }
    }
    #expect(refused?.status == .tooManyRequests)

    for _ in 0..<gate.share { passes.append(try inside("10.1.0.1", secret: 2) { try gate.enter() }) }
    #expect(gate.count == capacity)
    passes = []
    #expect(gate.count == 0)
    passes.append(try inside("10.1.0.1", secret: 1) { try gate.enter() })
  }

  @Test("each secret takes at most half of the remaining permits for waiting clips")
  func clips() throws {
    let gate = ClipGates().following
    var passes: [AdmissionPermit] = []
    var counts: [Int] = []
    for secret in 1...5 {
      let before = passes.count
      for address in 0..<16 {
        if let pass = try? inside("10.0.0.\(address / 2)", secret: secret, { try gate.enter() }) {
          passes.append(pass)
        }
      }
      counts.append(passes.count - before)
    }
    #expect(counts == [8, 4, 2, 1, 1])
    let refused = #expect(throws: Problem.self) { try inside("10.1.0.1", secret: 6) { try gate.enter() } }
    #expect(refused?.status == .serviceUnavailable)
    passes = []
    #expect(gate.count == 0)
  }

  @Test("a waiting client gets a permit when one is freed, or 429 after its timeout")
  func waiting() async throws {
    let gate = AdmissionLimit(capacity: 4)
    var passes = try inside("10.0.0.1") { [try gate.enter(), try gate.enter()] }
    let client = RequestClient(address: ClientGroup("10.0.0.1"))

    let refused = await #expect(throws: Problem.self) {
      try await RequestClient.$current.withValue(client) { try await gate.enter(within: .milliseconds(1)) }
    }
    #expect(refused?.status == .tooManyRequests && gate.count == 2)

    let waiting = Task {
      try await RequestClient.$current.withValue(client) {
        let pass = try await gate.enter(within: allTheTimeThereIs)
        return withExtendedLifetime(pass) { gate.count }
      }
    }
    let cancelled = Task {
      try await RequestClient.$current.withValue(client) { try await gate.enter(within: allTheTimeThereIs) }
    }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    passes.removeFirst()
    #expect(try await waiting.value == 2)
    passes = []
    #expect(gate.count == 0)
  }

  @Test("a client has at most 32 waiting requests, which do not block another client's free permit")
  func queue() async throws {
    let gate = AdmissionLimit(capacity: 2)
    let first = try inside("10.0.0.1") { try gate.enter() }
    @Sendable func enter(_ address: String) async throws -> AdmissionPermit {
      try await RequestClient.$current.withValue(RequestClient(address: ClientGroup(address))) {
        try await gate.enter(within: allTheTimeThereIs)
      }
    }
    let waiting = (0..<32).map { _ in Task { _ = try await enter("10.0.0.1") } }
    await until { gate.waiting == 32 }
    let refused = await #expect(throws: Problem.self) { _ = try await enter("10.0.0.1") }
    #expect(refused?.status == .tooManyRequests)

    let second = try await enter("10.0.0.2")
    #expect(gate.count == 2 && gate.waiting == 32)
    for task in waiting { task.cancel() }
    for task in waiting { _ = await task.result }
    #expect(gate.waiting == 0)
    withExtendedLifetime((first, second)) {}
  }

  @Test("a Unix socket and the service itself have no share limit, but a secret at the socket has")
  func proxies() throws {
    let gate = AdmissionLimit(capacity: 3)
    var passes = try inside("unix") { [try gate.enter(), try gate.enter()] }
    passes.append(try gate.enter())
    #expect(gate.count == 3)
    passes = []
    let secrets = try inside("unix", secret: 7) { [try gate.enter(), try gate.enter()] }
    #expect(throws: Problem.self) { try inside("unix", secret: 7) { try gate.enter() } }
    withExtendedLifetime(secrets) {}
  }

  @Test("one client may open 2 of 4 event subscriptions")
  func followers() throws {
    let log = EventLog(maximumSubscribers: 4)
    let held = try inside("10.0.0.1") { [try log.subscribe(), try log.subscribe()] }
    let refused = #expect(throws: Problem.self) { try inside("10.0.0.1") { try log.subscribe() } }
    #expect(refused?.headers["Retry-After"] == "10")
    let other = try inside("10.0.0.2") { try log.subscribe() }
    #expect(log.subscriberCount == 3)
    withExtendedLifetime((held, other)) {}
  }

  @Test("a client's ad hoc streams beyond its share get 429, and a configured view is still served")
  func requests() async throws {
    var configuration = StreamTests.configuration()
    configuration.limits.adHocViews = 4

    try await withService(configuration) { service in
      let first = try await service.openStream("/cameras/camera/main.mjpeg?width=60")
      let second = try await service.openStream("/cameras/camera/main.mjpeg?width=62")

      let refused = try await service.get("/cameras/camera/main.mjpeg?width=64")
      #expect(refused.status == 429)
      #expect(refused.headers["Retry-After"] == ["1"])

      // What is served is nobody's share.
      #expect(try await service.parts("/cameras/camera/main.mjpeg", 1).parts.count == 1)
      withExtendedLifetime((first, second)) {}
    }
  }
}
