// Closing ends soon from wherever a source is, and leaves nothing behind.
#if HTTP
  import Foundation
  import TestSupport
  import Testing

  @testable import GLPreview

  @Suite("Closing HTTP sources", .timeLimit(.minutes(15)))
  struct HTTPCloseTests {
    @Test(
      "closing an HTTP source returns in every connection state and closes its connection",
      arguments: Silence.allCases)
    func closing(silence: Silence) async throws {
      let (server, hole) = try (SilentServer(silence), BlackHole())
      let source = try await openHTTP(server.url(hole), httpOptions())
      try await server.isReached(by: source, hole)
      // A stream's first picture may be taken before it is closed, or not.
      let waiting = Task { while try await source.nextFrame() != nil {} }

      // It returns at all: whatever is going on would go on for ever.
      await source.close()
      try await waiting.value

      #expect(source.status.state == .idle)
      await until { server.server.openCount == 0 }
    }

    @Test(
      "opening and closing HTTP sources repeatedly leaks no file descriptors or threads",
      .oneProcessAtATime)
    func leaks() async {
      await #expect(processExitsWith: .success) {
        func round() async throws {
          for silence in Silence.allCases {
            let (server, hole) = try (SilentServer(silence), BlackHole())
            let source = try await openHTTP(server.url(hole), httpOptions())
            try await server.isReached(by: source, hole)
            await source.close()
            server.server.stop()
          }
        }
        func counts() throws -> [Int] {
          try ["fd", "task"].map {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\($0)").count
          }
        }

        for _ in 0..<3 { try await round() }
        let before = try counts()
        for _ in 0..<10 { try await round() }

        // The server's own threads end when they have seen the client go, and queues' when they have had nothing to do.
        try await until { try zip(counts(), before).allSatisfy { $0 <= $1 + 2 } }
      }
    }
  }

  /// What a server does when a source is closed.
  enum Silence: CaseIterable {
    case connecting, handshake, head, body, stream, backoff
  }

  /// A server that says only so much.
  struct SilentServer {
    let silence: Silence
    let server: HTTPTestServer

    init(_ silence: Silence) throws {
      self.silence = silence
      let jpeg = try smallJPEG()
      server = try HTTPTestServer { peer in
        if silence == .backoff || (silence != .handshake && peer.request() == nil) { return }
        switch silence {
        case .body: peer.send("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: 1000\r\n\r\nx")
        case .stream:
          peer.send(multipartHead)
          peer.send(multipartPart(jpeg))
        default: break
        }
        peer.waitForEnd()
      }
    }

    func url(_ hole: BlackHole) -> String {
      switch silence {
      case .connecting: "http://127.0.0.1:\(hole.port)/"
      case .handshake: "https://127.0.0.1:\(server.port)/"
      default: server.url()
      }
    }

    /// Waits until `source` is where the server is silent.
    func isReached(by source: LiveSource, _ hole: BlackHole) async throws {
      switch silence {
      case .connecting:
        await until { hole.hopefulCount > BlackHole.ownCount }
      case .handshake: await until { server.connectionCount > 0 }
      case .head, .body: await until { !server.requests.isEmpty }
      case .stream: _ = await source.statuses.first { $0.state == .live }
      case .backoff: _ = await source.statuses.first { $0.state == .lost }
      }
    }
  }

  /// A port whose connections are never made: its queue is full.
  final class BlackHole: Sendable {
    /// Connections that fill the queue, and those of them that are not made either.
    private static let fillCount = 3
    static let ownCount = 2

    let port: Int
    private let sockets: [Int32]

    init() throws {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      var sockets = [listener]
      let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          guard unsafe bind(listener, address, length) == 0,
            unsafe getsockname(listener, address, &length) == 0, listen(listener, 0) == 0
          else { return false }
          for _ in 0..<Self.fillCount {
            let client = socket(
              AF_INET,
              Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = unsafe connect(client, address, length)
            sockets.append(client)
          }
          return true
        }
      }
      guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
      port = Int(UInt16(bigEndian: address.sin_port))
      self.sockets = sockets
    }

    /// How many wait to be connected (proc(5), /proc/net/tcp: 02 is SYN_SENT).
    var hopefulCount: Int {
      let there = "0100007F:" + String(port, radix: 16, uppercase: true)
      // Foundation reads no more than a page of files that say that they are empty.
      let file = unsafe open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
      defer { _ = Glibc.close(file) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while case let count = unsafe read(file, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").count { line in
        let fields = line.split(separator: " ")
        return fields.count > 3 && fields[2] == there && fields[3] == "02"
      }
    }

    deinit { for socket in sockets { _ = Glibc.close(socket) } }
  }
#endif
