// What a service takes of the machine's memory: its budget, answers that nobody reads, and where the default comes from.
import FoundationEssentials
import GLPreview
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("A service's memory", .timeLimit(.minutes(15)))
struct MemoryTests {
  /// A connection that asks, and reads no more than the beginning of the answer.
  private func stuck(_ service: RunningService, _ path: String) async throws -> any Channel {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let beginning = loop.makePromise(of: Void.self)
    let channel = try await ClientBootstrap(group: loop)
      .connectTimeout(.hours(1))
      .channelOption(.autoRead, value: false)
      .channelOption(.socketOption(.so_rcvbuf), value: 4096)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(FirstRead(beginning))
        }
      }
      .connect(host: "127.0.0.1", port: service.port).get()
    try await channel.writeAndFlush(
      ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    channel.read()
    try await beginning.futureResult.get()
    return channel
  }

  /// Tells when the first bytes have come, or that none will.
  private final class FirstRead: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let promise: EventLoopPromise<Void>

    init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { promise.succeed() }

    func channelInactive(context: ChannelHandlerContext) { promise.fail(ChannelError.eof) }
  }

  @Test("a request beyond the memory budget returns 503 with Retry-After; other requests succeed")
  func budget() async throws {
    var configuration = StreamTests.configuration()
    configuration.limits.memory = 64 << 20

    try await withService(configuration) { service in
      #expect(try await service.get("/cameras/camera/main.png?width=100").status == 200)
      let budget = service.inside.registry.budget
      #expect(budget.capacity == 64 << 20)

      // Not a reservation of the rest: what the first answer still holds, and gives back, would be room again.
      budget.overhead = budget.capacity
      let refused = try await service.get("/cameras/camera/main.png?width=102")
      #expect(refused.status == 503)
      #expect(refused.headers["Retry-After"] == ["1"])
      #expect(try await service.get("/healthz").status == 200)
      #expect(budget.refusals > 0)
      budget.overhead = 0

      #expect(try await service.get("/cameras/camera/main.png?width=104").status == 200)
      let metrics = try await service.get("/metrics").text
      #expect(metrics.contains("glpreview_memory_budget_bytes 67108864\n"))
      #expect(metrics.contains("glpreview_memory_refused_total "))
    }
  }

  @Test(
    "unreserved memory over 64 MB is charged to the budget, capped, and decays slowly",
    arguments: [
      // Used, reserved and before in MB, of a budget of 556, and what counts.
      (64, 0, 0, 0), (164, 0, 0, 100), (164, 100, 0, 0), (500, 0, 0, 100), (0, 300, 0, 0), (124, 0, 0, 60),
      (0, 0, 50, 49), (114, 0, 50, 50), (64, 400, 100, 98), (0, 0, 0, 0),
    ])
  func overhead(used: Int, reserved: Int, before: Int, counts: Int) {
    let overhead = MemoryMonitor.overhead(
      used: used << 20, reserved: reserved << 20, of: 556 << 20, before: before << 20)
    #expect((overhead + 1) >> 20 == counts)
    #expect(MemoryMonitor.overhead(used: used << 20, reserved: 0, of: 256 << 20, before: 0) == 0)
    #expect((ProcessMetrics.sharedBytes ?? 0) > 1 << 20)
  }

  @Test("a client of /api/events that stops reading is disconnected after the stall timeout")
  func unreadEvents() async throws {
    var configuration = StreamTests.configuration()
    configuration.limits.stalledClient = .milliseconds(300)

    try await withService(configuration) { service in
      let metrics = service.inside.metrics
      let client = try await stuck(service, "/api/events")
      let log = service.inside.events.log

      // Events as large as pictures, until the sockets hold no more.
      while metrics.cutOff.load(ordering: .relaxed) == 0 {
        log.publish(type: "snapshot", data: [UInt8](repeating: 0x61, count: 1 << 20))
        await letOthersGoOn()
      }

      try await client.closeFuture.get()
      await until { log.subscriberCount == 0 }
      #expect(try await service.get("/healthz").status == 200)
    }
  }

  @Test("an unread snapshot stays reserved in the memory budget until its connection closes")
  func unreadSnapshots() async throws {
    try await withNoise(stalledClient: allTheTimeThereIs) { service, path, size in
      let budget = service.inside.registry.budget
      let client = try await stuck(service, path)
      let held = await settled(budget)
      try await client.close()
      await until { budget.reserved <= held - size }
    }
  }

  @Test("a client that stops reading a snapshot is disconnected, and other requests succeed")
  func stalledSnapshots() async throws {
    try await withNoise(stalledClient: .milliseconds(300)) { service, path, _ in
      let cutOff = service.inside.metrics.cutOff.load(ordering: .relaxed)
      let client = try await stuck(service, path)
      try await client.closeFuture.get()
      #expect(service.inside.metrics.cutOff.load(ordering: .relaxed) > cutOff)
      #expect(try await service.get("/healthz").status == 200)
    }
  }

  /// A service with a picture of noise, which does not compress: its PNG is larger than what sockets hold.
  private func withNoise(
    stalledClient: Duration,
    _ body: @escaping @Sendable (RunningService, _ path: String, _ size: Int) async throws -> Void
  ) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "noise-\(UUID().uuidString).y4m")
    defer { try? FileManager.default.removeItem(at: file) }
    var generator = SystemRandomNumberGenerator()
    let words = (0..<1920 * 1080 * 3 / 2 / 8).map { _ in generator.next() }
    let samples = unsafe words.withUnsafeBytes { unsafe Array($0) }
    try Data(Array("YUV4MPEG2 W1920 H1080 F1:1 C420jpeg\nFRAME\n".utf8) + samples).write(to: file)
    var configuration = ServerConfiguration(cameras: [CameraConfiguration(source: file.path)])
    configuration.limits.stalledClient = stalledClient
    configuration.limits.memory = 96 << 20
    try await withService(configuration) { service in
      let path = "/cameras/camera/main.png?encoding=base64"
      // On a slow machine this client, which reads, may be cut off as well; it then asks again.
      var size = 0
      await until {
        size = (try? await service.get(path).bytes.count) ?? 0
        return size > 0
      }
      try #require(size > 6 << 20)
      try await body(service, path, size)
    }
  }

  /// What is reserved once that changes no more.
  private func settled(_ budget: MemoryBudget) async -> Int {
    var (last, count) = (budget.reserved, 0)
    await until {
      let now = budget.reserved
      (last, count) = (now, now == last ? count + 1 : 0)
      return count == 300
    }
    return last
  }

  @Test("constants can't be written")
  func constants() throws {
    ProcessHeap.protectConstants()
    let text: StaticString = "a constant"
    var ends: [Int32] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    // The byte that it has already.
    try #require(unsafe write(ends[1], text.utf8Start, 1) == 1)
    let count = unsafe read(ends[0], UnsafeMutableRawPointer(mutating: text.utf8Start), 1)
    let reason = errno
    #expect(count == -1 && reason == EFAULT)
  }

  @Test("code is unmapped after a start, and again only when 8 MB more than is in use stays for a while")
  func filePages() {
    var pages = FilePages()
    func drops(_ megabytes: Int, checks: Int) -> Int {
      (0..<checks).count { _ in pages.shouldDrop(resident: megabytes << 20, after: 3) }
    }
    #expect(drops(40, checks: 3) == 0)
    #expect(drops(40, checks: 1) == 1)
    #expect(!pages.isSettled)
    // What is mapped again soon is in use.
    #expect(drops(15, checks: 4) == 0)
    #expect(pages.isSettled)
    #expect(drops(22, checks: 20) == 0)
    #expect(drops(24, checks: 3) + drops(20, checks: 1) + drops(24, checks: 3) == 0)
    #expect(drops(24, checks: 1) == 1)
  }

  @Test("memory limits of cgroups v1 and v2 include parents; the default budget is 1/4 of memory")
  func groups() {
    let files = [
      "/cg/a/b/memory.max": "max\n", "/cg/a/memory.max": "1000\n",
      "/cg/memory/x/memory.limit_in_bytes": "500\n",
      "/cg/memory/memory.limit_in_bytes": "9223372036854771712\n",
    ]
    func limits(_ memberships: String) -> [Int] {
      MachineMemory.groupLimits(of: memberships, in: "/cg") { files[$0] }
    }

    #expect(limits("0::/a/b\n") == [1000])
    #expect(limits("5:cpu,memory:/x\n3:pids:/y\n") == [500, 9_223_372_036_854_771_712])
    // A container sees its own group as the root.
    #expect(limits("0::/elsewhere\n") == [])
    #expect(limits("nonsense\n::\n") == [])
    #expect(MachineMemory.available() > 16 << 20)
    #expect(MachineMemory.usualBudget == MachineMemory.available() / 4)
  }
}
