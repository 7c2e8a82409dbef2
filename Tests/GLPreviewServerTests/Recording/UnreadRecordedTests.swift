// Clients that ask for recorded files and do not read them: the memory that they hold, and that others are
// served meanwhile.
import Codecs
import Foundation
import NIOCore
import NIOPosix
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation

/// A connection that reads the beginning of an answer, and nothing more until it is released.
final class HeldConnection: Sendable {
  private struct Seen: Sendable {
    var head = ""
    var count = 0
    var isOver = false
  }

  private let channel: any Channel
  private let seen: Watched<Seen>

  /// Connects to 127.0.0.1, sends `text`, and returns when the first bytes have come.
  init(to port: Int, sending text: String) async throws {
    let seen = Watched(Seen())
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.hours(1))
      .channelOption(.autoRead, value: false)
      .channelOption(.socketOption(.so_rcvbuf), value: 4096)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(seen))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    (self.channel, self.seen) = (channel, seen)
    // The service may leave some of it unread.
    channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    channel.read()
    _ = try await seen.first { $0.count > 0 || $0.isOver ? true : nil }
  }

  /// The status line of the first answer.
  var status: Substring { seen.value.head.prefix { $0 != "\r\n" } }
  /// How many bytes have come.
  var count: Int { seen.value.count }
  /// Whether the service has ended the connection, as far as is known without reading.
  var isOver: Bool { !channel.isActive }

  /// Reads on.
  func release() async throws {
    do { try await channel.setOption(.autoRead, value: true).get() } catch ChannelError.ioOnClosedChannel {}
  }

  /// Returns when more than `count` bytes have come; throws if the connection ends before.
  func waits(forMoreThan count: Int) async throws {
    let isThere = try await seen.first { seen -> Bool? in
      if seen.count > count { return true }
      return seen.isOver ? false : nil
    }
    guard isThere == true else { throw ChannelError.eof }
  }

  /// Returns when the connection is closed.
  func waitsForEnd() async throws { try await channel.closeFuture.get() }

  func close() async throws {
    do { try await channel.close() } catch ChannelError.alreadyClosed {}
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let seen: Watched<Seen>

    init(_ seen: Watched<Seen>) { self.seen = seen }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = unwrapInboundIn(data)
      seen.update { seen in
        if seen.count == 0 { seen.head = String(buffer: bytes) }
        seen.count += bytes.readableBytes
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      seen.update { $0.isOver = true }
      context.fireChannelInactive()
    }
  }
}

@Suite(
  "Recorded files that clients do not read", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct UnreadRecordedTests {
  enum Answer: String, CaseIterable {
    case span, sheet, timeLapse
  }

  private static let access: AccessConfiguration = {
    var access = AccessConfiguration()
    access.tokens = ["theirs", "other"].map { .init(secret: $0, role: .control) }
    return access
  }()
  private static let other = [("Authorization", "Bearer other")]

  /// More than the sockets of both sides hold.
  private static let mostInSockets = 32 << 20
  /// The most memory that an answer may hold for a client: two chunks of a file, with room for more.
  private static let mostPerClient = 256 << 10
  private static let clientCount = 12

  /// Recordings of 8 MiB, more than the sockets of a client that does not read hold.
  static let large = (0..<3).map { index in
    NumberedRecording(
      spanTime(Double(index)),
      (0..<8).map {
        NumberedRecording.Picture(number: $0, ticks: 9000 * $0, isKey: true, byteCount: 1 << 20)
      })
  }
  /// The path of the span of all of them.
  static let span =
    "/recordings/camera.mp4?from=\(spanTime(0).secondsText)&to=\(spanTime(9).secondsText)"

  /// A picture that does not compress.
  private static func noise(_ seed: Int) throws -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(seed))
    let size = Size(width: 320, height: 240)
    let bytes = (0..<size.pixelCount * 3 / 2).map { _ in UInt8(random.pick(0...255)) }
    return try JPEGEncoder(quality: 90).encode(Picture(tight: size, format: .ycbcr(.yuv420), bytes: bytes))
  }

  /// Runs `work` with a service that has the files of an answer, and with the answer's path.
  private static func withFiles(
    of answer: Answer, stalledClient: Duration = allTheTimeThereIs,
    _ work: @escaping @Sendable (RunningService, _ path: String) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder async throws in
      var configuration = RecordedCounter.configuration(folder)
      configuration.access = access
      configuration.limits.stalledClient = stalledClient
      let path: String
      let recordings: Int
      switch answer {
      case .span:
        for recording in large { try recording.write(to: folder) }
        (path, recordings) = (span, large.count)
      case .sheet:
        let files = try await RecordedKeyframes().files
        let camera = folder.appending(path: "camera")
        try FileManager.default.createDirectory(at: camera, withIntermediateDirectories: true)
        for (name, bytes) in files { try Data(bytes).write(to: camera.appending(path: name)) }
        let (from, to) = (RecordedKeyframes.start - 1, RecordedKeyframes.start + 59)
        let query = "from=\(from)&to=\(to)&count=30&width=640&quality=100"
        (path, recordings) = ("/recordings/camera/storyboard.jpg?\(query)", files.count)
      case .timeLapse:
        let pictures = folder.appending(path: "pictures")
        for index in 0..<12 {
          try StoredTestPictures.store(noise(index), at: Double(60 * index), in: pictures, of: "camera")
        }
        configuration.snapshots.folder = FolderConfiguration(path: pictures.path)
        configuration.cameras[0].views[0].video = VideoConfiguration(
          bitrate: 1_000_000_000, quality: 100, encoder: software)
        let hour = "from=2026-11-30T12:00:00Z&to=2026-11-30T13:00:00Z"
        (path, recordings) = ("/cameras/camera/main/timelapse.mp4?\(hour)", 0)
      }
      try await withService(configuration) { service in
        await until { service.recordings.count == recordings }
        try await work(service, path)
      }
    }
  }

  /// Requests of one client that are answered by more bytes than sockets hold.
  private static func requests(_ path: String, answeredBy byteCount: Int) -> (text: String, count: Int) {
    let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer theirs\r\n\r\n"
    let count = mostInSockets / max(byteCount, 1) + 1
    return (String(repeating: request, count: count), count)
  }

  /// How many requests a service has answered, without those for its health.
  private static func answered(_ service: RunningService) -> Int {
    let lines = service.inside.metrics.text.split(separator: "\n").filter {
      $0.hasPrefix("glpreview_http_requests_total{") && !$0.contains("healthz")
    }
    return lines.reduce(0) { $0 + ($1.split(separator: " ").last.flatMap { Int($0) } ?? 0) }
  }

  @Test(
    "clients that do not read hold a bounded part of memory, and others are served meanwhile",
    arguments: Answer.allCases)
  func bounded(_ answer: Answer) async throws {
    try await Self.withFiles(of: answer) { service, path in
      let budget = service.inside.registry.budget
      // The service prepares here once what all clients share.
      let first = try await service.get(path, Self.other)
      try #require(first.status == 200 && !first.bytes.isEmpty, "\(first.text.prefix(300))")
      let before = budget.reserved
      let answered = Self.answered(service)

      let requests = Self.requests(path, answeredBy: first.bytes.count)
      var clients: [HeldConnection] = []
      for _ in 0..<Self.clientCount {
        clients.append(try await HeldConnection(to: service.port, sending: requests.text))
      }
      // Above a limit of files that are being sent, the next clients are refused.
      let held = clients.filter { $0.status.hasPrefix("HTTP/1.1 200 ") }
      #expect(!held.isEmpty)
      for client in clients where !client.status.hasPrefix("HTTP/1.1 200 ") {
        #expect(client.status.hasPrefix("HTTP/1.1 429 "), "\(client.status)")
      }
      // The service could read and draw more for them while it answers others.
      var peak = 0
      for _ in 0..<50 {
        #expect(try await service.get("/healthz", Self.other).status == 200)
        peak = max(peak, budget.reserved)
      }
      #expect(peak - before <= Self.clientCount * Self.mostPerClient + 1 << 20, "of \(first.bytes.count)")
      if held.count == clients.count, requests.count > 1 {
        #expect(Self.answered(service) - answered < clients.count * requests.count)
      }

      let more = try await service.get(path, Self.other + [("Range", "bytes=0-99")])
      #expect([200, 206].contains(more.status), "\(more.text.prefix(300))")
      // Nothing has ended them: the limit of stalled clients is an hour here.
      #expect(held.allSatisfy { !$0.isOver })

      for client in clients { try await client.close() }
      await until { budget.reserved <= before }
    }
  }

  @Test(
    "a client that stops reading is disconnected, and gives back what it held", arguments: Answer.allCases)
  func disconnected(_ answer: Answer) async throws {
    try await Self.withFiles(of: answer, stalledClient: .milliseconds(300)) { service, path in
      // On a slow machine this client, which reads, may be disconnected as well; it then asks again.
      var byteCount = 0
      await until {
        byteCount = (try? await service.get(path, Self.other).bytes.count) ?? 0
        return byteCount > 0
      }
      let cutOff = service.inside.metrics.cutOff.load(ordering: .relaxed)
      let requests = Self.requests(path, answeredBy: byteCount)
      let client = try await HeldConnection(to: service.port, sending: requests.text)
      try await client.waitsForEnd()
      #expect(service.inside.metrics.cutOff.load(ordering: .relaxed) > cutOff)
      await until { service.inside.access.grants.count == 0 }
      #expect(try await service.get("/healthz", Self.other).status == 200)
    }
  }

  @Test(
    "the service reads no further than it sends: a span whose recordings are removed meanwhile ends early")
  func removed() async throws {
    try await Self.withFiles(of: .span) { service, path in
      let requests = Self.requests(path, answeredBy: Self.mostInSockets)
      var clients: [HeldConnection] = []
      for _ in 0..<4 { clients.append(try await HeldConnection(to: service.port, sending: requests.text)) }
      #expect(clients.allSatisfy { $0.status.hasPrefix("HTTP/1.1 200 ") })
      for recording in service.recordings {
        #expect(try await service.send("DELETE", recording.path, Self.other).status == 204)
      }
      for client in clients { try await client.release() }
      for client in clients {
        try await client.waitsForEnd()
        #expect(client.count < Self.large.count * 8 << 20)
      }
    }
  }
}
