// Cameras that speak HTTP, as a server on loopback plays them.
#if HTTP
  import Foundation
  import NIOSSL
  import PreviewCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import GLPreview

  /// All the time there is, unless told.
  func httpOptions(
    stalls: Duration = allTheTimeThereIs, reconnects: Duration = allTheTimeThereIs,
    connects: Duration = allTheTimeThereIs, givesUp: Duration? = nil, every: Bool = false
  ) -> SourceOptions {
    var options = SourceOptions()
    options.live = LiveOptions(
      delivery: every ? .every(maximumBytes: 64 << 20) : .newest, stallsAfter: stalls,
      reconnectsAfter: reconnects,
      connectsWithin: connects, givesUpAfter: givesUp)
    return options
  }

  func openHTTP(_ url: String, _ options: SourceOptions) async throws -> LiveSource {
    try #require(try await SourceLocator(url).open(options) as? LiveSource)
  }

  /// The state's first status that has it, from now on.
  func status(
    _ state: SourceState, of source: LiveSource, where isWanted: (SourceStatus) -> Bool = { _ in true }
  )
    async -> SourceStatus?
  {
    for await status in source.statuses where status.state == state && isWanted(status) { return status }
    return nil
  }

  @Suite("HTTP cameras", .timeLimit(.minutes(15)))
  struct HTTPSourceTests {
    /// Why a source that gives up at once did so.
    private func failure(_ url: String, _ options: SourceOptions = httpOptions(givesUp: .zero)) async throws
      -> SourceError
    {
      let source = try await openHTTP(url, options)
      defer { Task { await source.close() } }
      do {
        _ = try await source.nextFrame()
      } catch let error as SourceError {
        return error
      }
      throw CancellationError()
    }

    // MARK: Streams

    @Test("frames of a stream arrive in order, each with its own size and a capture time")
    func stream() async throws {
      let sizes = [Size(width: 24, height: 16), Size(width: 32, height: 24), Size(width: 16, height: 16)]
      let pictures = try sizes.map { try smallJPEG($0) }
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        for picture in pictures { peer.send(multipartPart(picture)) }
        peer.waitForEnd()
      }

      let before = CaptureClock.now
      let source = try await openHTTP(server.url("/?action=stream"), httpOptions(every: true))

      for (index, size) in sizes.enumerated() {
        let frame = try #require(try await source.nextFrame())
        #expect(frame.format.size == size && frame.sequence == index)
        #expect(before <= frame.timestamp && frame.timestamp <= CaptureClock.now)
      }
      #expect(source.status.mode?.size == sizes[2])
      #expect(source.status.mode?.format == "MJPEG" && source.status.mode?.transport == "http")
      #expect(server.requests.first?.target == "/?action=stream")
      #expect(server.requests.first?.fields["host"] == "127.0.0.1:\(server.port)")

      await source.close()
      #expect(source.status.state == .idle)
    }

    @Test(
      "a chunked, compressed, untyped or raw JPEG stream is read",
      arguments: ["chunked", "compressed", "plain", "raw"])
    func encodings(how: String) async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil else { return }
        let part = multipartPart(jpeg)
        switch how {
        case "chunked":
          peer.send(
            "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=\"frame\"\r\n"
              + "Transfer-Encoding: chunked\r\n\r\n")
          for byte in [part, part].joined() {
            guard peer.send(Array("1\r\n".utf8) + [byte, 13, 10]) else { return }
          }
        case "compressed":
          let body = gzip(part + part)
          peer.send(
            "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=--frame\r\n"
              + "Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
          peer.send(body)
        case "plain":
          peer.send("HTTP/1.1 200 OK\r\n\r\n")
          peer.send(part + part)
        default:
          peer.send("HTTP/1.1 200 OK\r\nContent-Type: video/x-motion-jpeg\r\n\r\n")
          peer.send(jpeg + jpeg)
        }
        peer.waitForEnd()
      }

      let source = try await openHTTP(server.url(), httpOptions(every: true))
      for _ in 0..<2 { #expect(try await source.nextFrame()?.format.size == Size(width: 24, height: 16)) }
      await source.close()
    }

    @Test("parts without a picture and truncated pictures are counted and skipped")
    func damage() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        peer.send(multipartPart(jpeg))
        peer.send(multipartPart(Array("not a picture".utf8)))
        peer.send(multipartPart(Array(jpeg.prefix(jpeg.count * 3 / 4))))
        peer.send(multipartPart(jpeg))
        peer.waitForEnd()
      }

      let source = try await openHTTP(server.url(), httpOptions(every: true))
      #expect(try await source.nextFrame()?.sequence == 0)
      #expect(try await source.nextFrame()?.sequence == 2)
      #expect(source.status.counters.received == 4)
      #expect(source.status.counters.damaged == 2)
      await source.close()
    }

    @Test("a plausible X-Timestamp is used as the capture time, and an implausible one is ignored")
    func timestamps() async throws {
      let jpeg = try smallJPEG()
      let told = Mutex(0.0)
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        let then = Date().timeIntervalSince1970 - 1.5
        told.withLock { $0 = then }
        peer.send(multipartPart(jpeg, "X-Timestamp: \(then)\r\n"))
        peer.send(multipartPart(jpeg, "x-timestamp: 12345.5\r\n"))
        peer.waitForEnd()
      }

      let start = CaptureClock.now
      let source = try await openHTTP(server.url(), httpOptions(every: true))
      let old = try #require(try await source.nextFrame())
      let new = try #require(try await source.nextFrame())

      #expect(new.timestamp >= start)
      let time = CaptureClock.timeSince1970(old.timestamp) / .seconds(1)
      #expect(abs(time - told.withLock { $0 }) < 1)
      await source.close()
    }

    @Test(
      "a source reconnects after the server closes or resets the connection",
      arguments: [false, true])
    func drops(isRude: Bool) async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead), peer.send(multipartPart(jpeg)) else { return }
        if isRude {
          // Only once the picture has been read.
          _ = peer.isThere(after: 200)
          peer.reset()
        }
      }

      let source = try await openHTTP(server.url(), httpOptions())
      #expect(try await source.nextFrame() != nil)

      let lost = await status(.lost, of: source)
      #expect(
        lost?.reason == "closed the connection" || lost?.reason == "ended the stream",
        "\(lost?.reason ?? "-")")
      #expect(try await source.nextFrame() != nil)
      #expect(source.status.counters.reconnections >= 1)
      await source.close()
    }

    @Test("a source that receives bytes but no picture stalls, is lost, and reconnects")
    func drip() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead), peer.send(multipartPart(jpeg)) else { return }
        // Always something, never a picture.
        peer.send("--frame\r\n\r\n")
        for byte in (0..<1000).flatMap({ _ in jpeg.dropLast(2) }) {
          guard peer.send([byte]), peer.isThere(after: 20) else { return }
        }
      }

      let source = try await openHTTP(
        server.url(), httpOptions(stalls: .milliseconds(200), reconnects: .milliseconds(500)))

      #expect(try await source.nextFrame() != nil)
      #expect(await status(.stalled, of: source)?.reason == "no picture for 0.2 s")
      #expect(await status(.lost, of: source)?.reason == "no picture for 0.5 s")
      #expect(await status(.live, of: source) != nil)
      #expect(server.connectionCount >= 2)
      await source.close()
    }

    @Test("an endless response without a picture throws an unavailable error")
    func endless() async throws {
      let junk = [UInt8](repeating: 0x41, count: 1 << 16)
      for type in ["multipart/x-mixed-replace;boundary=frame", "video/x-motion-jpeg", "image/jpeg"] {
        let server = try HTTPTestServer { peer in
          guard peer.request() != nil, peer.send("HTTP/1.0 200 OK\r\nContent-Type: \(type)\r\n\r\n") else {
            return
          }
          if type.hasPrefix("video") { peer.send([0xFF, 0xD8, 0xFF, 0xD9]) }
          while peer.send(junk) {}
        }

        var options = httpOptions(givesUp: .zero)
        options.maximumPixels = 100_000

        let error = try await failure(server.url(), options)
        #expect(error.kind == .unavailable && error.reason.hasPrefix("sends "), "\(error)")
      }
    }

    @Test("with `.every` delivery, a source that is not read stops reading from its server")
    func backPressure() async throws {
      let jpeg = try smallJPEG(Size(width: 1280, height: 720))
      let sent = Mutex(0)
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        while peer.send(multipartPart(jpeg)) { sent.withLock { $0 += 1 } }
      }
      var options = httpOptions()
      options.live.delivery = .every(maximumBytes: 1)

      let source = try await openHTTP(server.url(), options)
      for index in 0..<5 { #expect(try await source.nextFrame()?.sequence == index) }

      // Nobody asks for more, while another source takes more than all that may be on its way.
      let busy = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        while peer.send(multipartPart(jpeg)) {}
      }
      let mostOnTheWay = 32 << 20
      let other = try await openHTTP(busy.url(), httpOptions())
      _ = try await other.nextFrame(from: 2 * mostOnTheWay / jpeg.count)
      await other.close()

      #expect(sent.withLock { $0 } * jpeg.count < mostOnTheWay)
      #expect(try await source.nextFrame()?.sequence == 5)
      await source.close()
    }

    // MARK: One picture again and again

    @Test("a JPEG is polled with its ETag; an unchanged one is repeated at least 1 s apart")
    func polling() async throws {
      let pictures = try [smallJPEG(), smallJPEG(Size(width: 32, height: 24))]
      let server = try HTTPTestServer { request, index in
        if index > 0, index < 20 {
          #expect(request.fields["if-none-match"] == "\"one\"")
          return httpAnswer([], type: nil, status: "304 Not Modified")
        }
        return httpAnswer(pictures[index == 0 ? 0 : 1], "ETag: \(index == 0 ? "\"one\"" : "\"two\"")")
      }
      var options = httpOptions(every: true)
      options.demand.framesPerSecond = 50

      let source = try await openHTTP(server.url("/shot.jpg"), options)
      var (old, new) = ([CaptureInstant](), [CaptureInstant]())
      // Twice the second one: the same bytes again and again are the same picture, but after a while it is shown still.
      while new.count < 2 {
        let frame = try #require(try await source.nextFrame())
        if frame.format.size.width == 24 { old.append(frame.timestamp) } else { new.append(frame.timestamp) }
      }

      #expect(old.count >= 1)
      // By their own times, those that are given again are a second apart.
      #expect(zip(old.dropFirst(), old.dropFirst(2)).allSatisfy { $1 - $0 >= .seconds(1) })
      #expect(server.requests.count > 20)
      #expect(server.connectionCount == 1, "the connection is kept")
      #expect(source.status.mode?.format == "JPEG" && source.status.state == .live)
      await source.close()
    }

    @Test("304 Not Modified keeps a source live and repeats its picture with a new time")
    func unchanged() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { _, index in
        index == 0
          ? httpAnswer(
            jpeg, "Last-Modified: Fri, 21 Nov 2025 10:00:00 GMT", "Date: Fri, 21 Nov 2025 10:00:05 GMT")
          : httpAnswer([], type: nil, status: "304 Not Modified")
      }

      let source = try await openHTTP(server.url(), httpOptions(every: true))
      var times: [CaptureInstant] = []
      for _ in 0..<3 { times.append(try #require(try await source.nextFrame()).timestamp) }

      #expect(source.status.state == .live && source.status.counters.reconnections == 0)
      #expect(times == times.sorted() && Set(times).count == 3, "it is as new as the server's word for it")
      #expect(server.requests.last?.fields["if-modified-since"] == "Fri, 21 Nov 2025 10:00:00 GMT")
      await source.close()
    }

    @Test("a JPEG is polled no faster than the demanded frame rate")
    func pace() async throws {
      let jpeg = try smallJPEG()
      func server() throws -> HTTPTestServer {
        try HTTPTestServer { _, index in httpAnswer(jpeg + [UInt8(index & 0xFF)]) }
      }
      let (rare, frequent) = (try server(), try server())

      var options = httpOptions(every: true)
      // One in a thousand seconds, which is the least.
      options.demand.framesPerSecond = 0.001
      let source = try await openHTTP(rare.url(), options)
      #expect(try await source.nextFrame() != nil)

      options.demand.framesPerSecond = 50
      let other = try await openHTTP(frequent.url(), options)
      for _ in 0..<20 { #expect(try await other.nextFrame() != nil) }

      #expect(rare.requests.count == 1)
      await source.close()
      await other.close()
    }

    @Test("an untyped JPEG is polled, and a file of several JPEGs is read once")
    func unknownTypes() async throws {
      let jpeg = try smallJPEG()
      let single = try HTTPTestServer { _, index in
        httpAnswer(jpeg + [UInt8(truncatingIfNeeded: index)], type: nil)
      }
      let source = try await openHTTP(single.url(), httpOptions(every: true))
      for _ in 0..<3 { #expect(try await source.nextFrame() != nil) }
      #expect(source.status.mode?.format == "JPEG")
      await source.close()

      let several = try HTTPTestServer { _, _ in httpAnswer(jpeg + jpeg, type: "video/x-motion-jpeg") }
      let file = try await openHTTP(several.url(), httpOptions(every: true))
      for _ in 0..<2 { #expect(try await file.nextFrame() != nil) }
      #expect(try await file.nextFrame() == nil)
      #expect(several.requests.count == 1)
    }

    @Test("a connection that the server closes between polls is reopened and not counted")
    func keepAlive() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard let request = peer.request() else { return }
        peer.send(httpAnswer(jpeg + Array(request.target.utf8)))
      }

      let source = try await openHTTP(server.url(), httpOptions(every: true))
      for _ in 0..<2 { #expect(try await source.nextFrame() != nil) }
      #expect(source.status.counters.reconnections == 0)
      await source.close()
    }
  }
#endif
