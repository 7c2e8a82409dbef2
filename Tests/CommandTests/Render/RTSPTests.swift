// Streams from real servers on loopback, and from servers that drop, refuse, time out or lie.
#if FFmpeg
  import Foundation
  import GLPreview
  import TestSupport
  import Testing

  /// A source that gives up at once, and its first frames, or why there are none.
  func frames(
    _ url: String, count: Int, _ options: SourceOptions = SourceOptions(),
    timeout: Duration = allTheTimeThereIs
  ) async throws -> (frames: [Frame], source: LiveSource, error: SourceError?) {
    var options = options
    options.live.delivery = .every(maximumBytes: 1 << 24)
    options.live.givesUpAfter = .zero
    options.live.connectsWithin = timeout
    (options.live.stallsAfter, options.live.reconnectsAfter) = (allTheTimeThereIs, allTheTimeThereIs)
    let source = try #require(try await SourceLocator(url).open(options) as? LiveSource)
    var frames: [Frame] = []
    do {
      while frames.count < count, let frame = try await source.nextFrame() { frames.append(frame) }
      return (frames, source, nil)
    } catch {
      return (frames, source, try #require(error as? SourceError))
    }
  }

  /// Y', Cb and Cr in the middle of each of the seven upper bars.
  func codes(_ frame: Frame) -> [[Int]] {
    (0..<7).map { bar in
      let (x, y) = (
        Int((Double(bar) + 0.5) * Double(frame.format.size.width) / 7), frame.format.size.height / 4
      )
      return frame.planes.enumerated().map { index, plane in
        let half = index == 0 ? 1 : 2
        return Int(frame.bytes[plane.offset + y / half * plane.bytesPerRow + x / half])
      }
    }
  }

  /// White, yellow, cyan, green, magenta, red, blue by BT.601, limited range.
  let bars = [
    [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240],
    [41, 240, 110],
  ]

  @Suite(
    "RTSP", .enabled(if: RTSPServer.absence == nil, "\(RTSPServer.absence ?? "")"), .timeLimit(.minutes(15)))
  struct RTSPTests {
    @Test(
      "frames have the right size and colours over TCP and UDP, and the status names the transport",
      arguments: [
        ("bars", "h264", "rtsp over tcp"), ("bars#transport=udp", "h264", "rtsp over udp"),
        ("bars#transport=tcp", "h264", "rtsp over tcp"), ("tcp", "h264", "rtsp over tcp"),
        ("udp", "h264", "rtsp over udp"), ("jpeg", "mjpeg", "rtsp over tcp"),
      ])
    func colors(path: String, codec: String, transport: String) async throws {
      let server = try await RTSPServer()
      let before = CaptureClock.now

      let (frames, source, error) = try await frames(server.url(path), count: 5)

      #expect(error == nil)
      #expect(frames.count == 5)
      for frame in frames {
        #expect(frame.format.size == Size(width: 320, height: 240))
        // JPEGs are full range.
        guard codec == "h264" else { continue }
        for (found, expected) in zip(codes(frame), bars) {
          #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 4 }, "\(found) is not \(expected)")
        }
      }
      #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp <= $1.timestamp })
      #expect(frames.allSatisfy { before < $0.timestamp && $0.timestamp <= CaptureClock.now })
      let status = source.status
      #expect(status.state == .live)
      #expect(status.mode?.format == codec)
      #expect(status.mode?.transport == transport)
      #expect(status.mode?.size == Size(width: 320, height: 240))

      await source.close()
      #expect(try await source.nextFrame() == nil)
      try await until { try socketCount(connectedTo: server.port) == 0 }
    }

    @Test("a PreviewSession gives frames of a stream with B-frames mostly distinct timestamps")
    func reordered() async throws {
      let server = try await RTSPServer()
      let session = try PreviewSession([SessionSource(server.url("bframes"))])
      let preview = try session.addPreview()
      var times: [CaptureInstant] = []
      for try await picture in preview.pictures where picture.sourceState == .live {
        times.append(picture.timestamp)
        if times.count == 24 { break }
      }
      // A sender's clock that turns out to be ahead may give two the same time, now and then.
      #expect(zip(times, times.dropFirst()).count { $0 == $1 } < 6, "\(times)")
      await session.close()
    }

    @Test("frames have the new size after a size change in mid-stream")
    func sizes() async throws {
      let server = try await RTSPServer()
      let (frames, source, error) = try await frames(server.url("sizes"), count: 30)
      #expect(error == nil)
      #expect(
        Set(frames.map(\.format.size)) == [Size(width: 320, height: 240), Size(width: 160, height: 120)])
      await source.close()
    }

    @Test(
      "an RTSP server's refusal is reported with a specific reason, without the password",
      arguments: [
        ("bars", "", "requires a user and a password"),
        ("bars", "user:wrong-secret@", "requires a user and a password"),
        ("nothing", "user:secret@", "no such stream (404)"), ("sound", "", "no video"),
        ("udp#transport=tcp", "", "does not send over this transport"),
      ])
    func refusals(path: String, user: String, reason: String) async throws {
      let server = try await RTSPServer(wantsPassword: path == "bars")
      let (frames, source, error) = try await frames(server.url(path, user: user), count: 1)
      #expect(frames.isEmpty)
      #expect(error?.kind == .unavailable)
      #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
      #expect(error?.description.contains("secret") == false)
      #expect(!source.name.contains("secret"))
      try await until { try socketCount(connectedTo: server.port) == 0 }
    }

    @Test("the correct password is accepted, and the source's name hides it")
    func password() async throws {
      let server = try await RTSPServer(wantsPassword: true)
      let (frames, source, error) = try await frames(server.url("bars", user: "user:secret@"), count: 2)
      #expect(error == nil)
      #expect(frames.count == 2)
      #expect(source.name == server.url("bars", user: "***@"))
      await source.close()
    }

    @Test("a stream that ends delivers its frames and then reports the end")
    func end() async throws {
      let server = try await RTSPServer()
      let (frames, _, error) = try await frames(server.url("short"), count: 1000)
      // The last may wait for a next one that never comes.
      #expect((29...30).contains(frames.count), "\(frames.count)")
      #expect(error?.kind == .unavailable)
      #expect(error?.reason == "the stream has ended")
    }

    @Test("a source whose connection is dropped is lost and then reconnects")
    func drop() async throws {
      let server = try await RTSPServer()
      let source = try #require(try await SourceLocator(server.url("bars")).open() as? LiveSource)
      let statuses = source.statuses
      #expect(try await source.nextFrame() != nil)

      server.drop()
      for await status in statuses where status.state == .lost { break }
      // Frames of the first connection may still wait to be taken.
      while source.status.counters.reconnections == 0 { _ = try #require(await source.nextFrame()) }

      #expect(try await source.nextFrame() != nil)
      await source.close()
      try await until { try socketCount(connectedTo: server.port) == 0 }
    }

    @Test("repeated opening and closing leaves no connection open")
    func rounds() async throws {
      let server = try await RTSPServer()
      for round in 0..<8 {
        let source = try await SourceLocator(server.url("bars")).open()
        // In every other round while it is being opened.
        if round % 2 == 0 { #expect(try await source.nextFrame() != nil) }
        await source.close()
        try await until { try socketCount(connectedTo: server.port) == 0 }
      }
    }

    @Test("`render` writes as many pictures of an RTSP stream as --frames requests")
    func command() async throws {
      let server = try await RTSPServer()
      let folder = try TestFolder()
      let result = try await folder.render(
        server.url("bars"), "--timeout", "3600", "-o", "{frame}.png", "--frames", "2", "--size", "32x",
        "--json")
      #expect(result.status == 0, "\(result.errors)")
      #expect(try result.reports.count == 2)
      #expect(try folder.names.count == 2)
    }
  }

  @Suite("Invalid RTSP servers", .timeLimit(.minutes(15)))
  struct LyingServerTests {
    static let servers: [(String, [UInt8])] = [
      ("rubbish", (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 / 7) }),
      ("HTTP", Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)),
      (
        "no stream",
        Array(
          "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 0\r\n\r\n".utf8)
      ),
      (
        "a long body",
        Array(
          "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 2000000000\r\n\r\nv=0"
            .utf8)
      ), ("nothing", []),
      ("a way round", Array("RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: file:///etc/passwd\r\n\r\n".utf8)),
    ]

    @Test(
      "an invalid or missing response makes the source unavailable and closes the connection",
      arguments: servers.indices, [false, true])
    func lies(index: Int, leaving: Bool) async throws {
      let server = try LyingServer(answering: Self.servers[index].1, leaving: leaving)
      let (frames, _, error) = try await frames(
        "rtsp://user:secret@127.0.0.1:\(server.port)/x", count: 1, timeout: .seconds(1))
      #expect(frames.isEmpty)
      #expect(error?.kind == .unavailable)
      #expect(error?.description.contains("secret") == false)
      #expect(error?.reason.contains("\n") == false)
      await server.waitForClosing()
    }

    @Test("closing a source disconnects from a server that never answers")
    func closing() async throws {
      let server = try LyingServer()
      let source = try await SourceLocator("rtsp://127.0.0.1:\(server.port)/x").open()
      let waiting = Task { try await source.nextFrame() }
      await until { server.connections > 0 }
      await source.close()
      #expect(try await waiting.value == nil)
      await server.waitForClosing()
      try await until { try socketCount(connectedTo: server.port) == 0 }
    }

    @Test("a closed port or an unknown host makes the source unavailable")
    func refused() async throws {
      let port = try LyingServer().port
      let (_, _, error) = try await frames("rtsp://127.0.0.1:\(port)/x", count: 1)
      #expect(error?.kind == .unavailable)
      #expect(error?.reason == "connection refused")
      let (_, _, unknown) = try await frames("rtsp://no-such-host.invalid/x", count: 1)
      #expect(unknown?.kind == .unavailable)
    }
  }

  @Suite("RTSP redirects")
  struct RTSPRedirectTests {
    private func redirect(to url: String) -> [UInt8] {
      Array("RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: \(url)\r\n\r\n".utf8)
    }

    @Test(
      "a redirect to another host is followed only with the redirect policy `any`", .timeLimit(.minutes(15)))
    func otherHost() async throws {
      let target = try LyingServer(answering: Array("RTSP/1.0 404 Not Found\r\nCSeq: 1\r\n\r\n".utf8))
      let server = try LyingServer(answering: redirect(to: "rtsp://localhost:\(target.port)/?token=secret"))

      for (policy, reason, connections) in [
        (
          SourceOptions.RedirectPolicy.sameHost,
          "redirects to another host (localhost); only redirects: any allows this",
          0
        ),
        (.none, "redirects; redirects: none does not allow this", 0),
        (.any, "the server has no such stream (404)", 1),
      ] {
        var options = SourceOptions()
        options.redirects = policy
        let error = try await frames("rtsp://127.0.0.1:\(server.port)/live", count: 1, options).error
        #expect(error?.reason == reason)
        #expect(target.connections == connections)
      }
    }

    @Test("a redirect to another port of the same host is followed", .timeLimit(.minutes(15)))
    func sameHost() async throws {
      let target = try LyingServer(answering: Array("RTSP/1.0 404 Not Found\r\nCSeq: 1\r\n\r\n".utf8))
      let server = try LyingServer(answering: redirect(to: "rtsp://127.0.0.1:\(target.port)/"))
      let error = try await frames("rtsp://127.0.0.1:\(server.port)/live", count: 1).error
      #expect(error?.reason == "the server has no such stream (404)")
      #expect(target.connections == 1)
    }
  }
#endif
