// Servers that refuse, redirect, ask for passwords, lie about TLS or say nothing at all; and that closing gives all back.
#if HTTP
  import Foundation
  import PreviewCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import CaptureHTTP
  @testable import GLPreview

  @Suite("Faulty HTTP servers", .timeLimit(.minutes(15)))
  struct HTTPFaultTests {
    private func failure(_ url: String, _ options: SourceOptions = httpOptions(givesUp: .zero)) async throws
      -> SourceError
    {
      try await failure(try await openHTTP(url, options))
    }

    /// Why a source that gives up at once did so.
    private func failure(_ source: LiveSource) async throws -> SourceError {
      let result: Result<Frame?, any Error>
      do { result = .success(try await source.nextFrame()) } catch { result = .failure(error) }
      await source.close()
      guard case .failure(let error as SourceError) = result else { throw POSIXError(.EINVAL) }
      return error
    }

    // MARK: Passwords

    @Test(
      "a Basic or Digest challenge is answered, and no credentials are sent before it",
      arguments: ["basic", "md5", "sha"])
    func passwords(way: String) async throws {
      let jpeg = try smallJPEG()
      let challenge =
        switch way {
        case "basic": "Basic realm=\"camera\""
        case "md5": "Digest realm=\"camera\", nonce=\"abc\", qop=\"auth\""
        default: "Digest realm=\"camera\", nonce=\"abc\", qop=\"auth\", algorithm=SHA-256"
        }
      let server = try HTTPTestServer { request, index in
        guard let field = request.fields["authorization"] else {
          return httpAnswer(
            Array("go away".utf8), type: "text/html", status: "401 Unauthorized",
            "WWW-Authenticate: \(challenge)")
        }
        let isRight =
          way == "basic"
          ? field == "Basic dTpwQHNz"
          : field.hasPrefix("Digest ") && field.contains("username=\"u\"") && field.contains("uri=\"/x?y=z\"")
            && field.contains("nc=0000000\(index)")
        return isRight
          ? httpAnswer(jpeg + [UInt8(truncatingIfNeeded: index)]) : httpAnswer([], status: "403 Forbidden")
      }

      let url = "http://u:p%40ss@127.0.0.1:\(server.port)/x?y=z"
      let source = try await openHTTP(url, httpOptions(givesUp: .zero, every: true))

      #expect(source.name == "http://***@127.0.0.1:\(server.port)/x?y=***")
      for _ in 0..<3 { #expect(try await source.nextFrame() != nil) }
      #expect(server.requests.first?.fields["authorization"] == nil)
      #expect(server.requests.count { $0.fields["authorization"] == nil } == 1)
      await source.close()
    }

    @Test(
      "a stale digest nonce is replaced by the new one, and a rejected password is not retried")
    func stale() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { request, index in
        let nonce = index < 3 ? "one" : "two"
        if request.fields["authorization"]?.contains("nonce=\"\(nonce)\"") == true {
          return httpAnswer(jpeg + [UInt8(truncatingIfNeeded: index)])
        }
        return httpAnswer(
          [], status: "401 Unauthorized",
          "WWW-Authenticate: Digest realm=\"a\", nonce=\"\(nonce)\", qop=\"auth\"\(index > 0 ? ", stale=true" : "")"
        )
      }

      let source = try await openHTTP(
        "http://u:p@127.0.0.1:\(server.port)/", httpOptions(givesUp: .zero, every: true))
      for _ in 0..<4 { #expect(try await source.nextFrame() != nil) }
      await source.close()

      let refusing = try HTTPTestServer { _, _ in
        httpAnswer(
          [], status: "401 Unauthorized", "WWW-Authenticate: Digest realm=\"a\", nonce=\"n\", qop=\"auth\"")
      }

      let error = try await failure("http://u:secret@127.0.0.1:\(refusing.port)/")
      #expect(error.reason == "does not accept this user and password")
      #expect(!"\(error)".contains("secret"))
      #expect(refusing.requests.count == 2)
    }

    @Test("configured headers are sent and override the defaults; invalid headers are rejected")
    func headers() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { _, _ in httpAnswer(jpeg) }
      var options = httpOptions()
      options.headers = [
        SourceOptions.HeaderField(name: "Authorization", value: "Bearer xyz"),
        SourceOptions.HeaderField(name: "user-agent", value: "mine"),
      ]

      let source = try await openHTTP(server.url(), options)
      #expect(try await source.nextFrame() != nil)
      #expect(server.requests.first?.fields["authorization"] == "Bearer xyz")
      #expect(server.requests.first?.fields["user-agent"] == "mine")
      await source.close()

      for field in [("a b", "c"), ("a", "b\r\nc: d"), ("", "b")] {
        options.headers = [SourceOptions.HeaderField(name: field.0, value: field.1)]
        let error = await #expect(throws: SourceError.self) { try await openHTTP(server.url(), options) }
        #expect(error?.kind == .badRequest)
      }
    }

    // MARK: Redirections

    @Test("redirects are followed, and credentials and headers are not sent to another server")
    func redirections() async throws {
      let jpeg = try smallJPEG()
      let other = try HTTPTestServer { _, _ in httpAnswer(jpeg) }
      let server = try HTTPTestServer { request, _ in
        switch request.target {
        case "/a": httpAnswer([], type: nil, status: "301 Moved", "Location: b")
        case "/b" where request.fields["authorization"] == nil:
          httpAnswer([], type: nil, status: "401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"")
        case "/b": httpAnswer([], type: nil, status: "302 Found", "Location: \(other.url("/c"))")
        default: httpAnswer([], type: nil, status: "404 Not Found")
        }
      }
      var options = httpOptions(givesUp: .zero)
      options.headers = [SourceOptions.HeaderField(name: "X-Key", value: "secret")]
      // Asks once: the next picture is due in a thousand seconds.
      options.demand.framesPerSecond = 0.001

      let source = try await openHTTP("http://u:p@127.0.0.1:\(server.port)/a", options)
      #expect(try await source.nextFrame() != nil)

      #expect(server.requests.map(\.target) == ["/a", "/b", "/b"])
      #expect(server.requests.allSatisfy { $0.fields["x-key"] == "secret" })
      #expect(other.requests.first?.target == "/c")
      #expect(other.requests.allSatisfy { $0.fields["x-key"] == nil && $0.fields["authorization"] == nil })
      await source.close()
    }

    @Test("the `redirects` option allows redirects to the same host, to any host or none")
    func redirectPolicy() async throws {
      let jpeg = try smallJPEG()
      let other = try HTTPTestServer { _, _ in httpAnswer(jpeg) }
      let server = try HTTPTestServer { request, _ in
        let place = request.target == "/same" ? "/x" : "http://localhost:\(other.port)/c?token=secret"
        return request.target == "/x"
          ? httpAnswer(jpeg) : httpAnswer([], type: nil, status: "302 Found", "Location: \(place)")
      }

      for (policy, path, reason) in [
        (SourceOptions.RedirectPolicy.sameHost, "/same", nil), (.any, "/same", nil), (.any, "/other", nil),
        (.none, "/same", "redirects; redirects: none does not allow this"),
        (.sameHost, "/other", "redirects to another host (localhost); only redirects: any allows this"),
      ] {
        var options = httpOptions(givesUp: .zero)
        options.redirects = policy
        // Asks once: the next picture is due in a thousand seconds.
        options.demand.framesPerSecond = 0.001
        let source = try await openHTTP(server.url(path), options)

        if let reason {
          let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }
          #expect(error?.reason == reason)
        } else {
          #expect(try await source.nextFrame() != nil)
        }
        await source.close()
      }

      #expect(other.requests.count == 1)
    }

    @Test("a redirect loop ends after 5 redirects, and a redirect to a non-HTTP URL is rejected")
    func badRedirections() async throws {
      let round = try HTTPTestServer { _, _ in httpAnswer([], type: nil, status: "302 Found", "Location: /x")
      }
      #expect(try await failure(round.url()).reason == "redirects more than 5 times")
      #expect(round.requests.count == 6)

      let nowhere = try HTTPTestServer { _, _ in
        httpAnswer([], type: nil, status: "302 Found", "Location: ftp://u:secret@x/")
      }
      #expect(
        try await failure(nowhere.url()).reason
          == "redirects to an address that is not an http or https URL: ftp://***@x/")
    }

    // MARK: Refusals

    @Test(
      "a response that is not a picture throws an error that names its status or content",
      arguments: [
        (
          "401 Unauthorized", "text/html", "",
          "requires a user and a password, as USER:PASSWORD@ before the host"
        ),
        ("403 Forbidden", "text/html", "", "is forbidden (403)"),
        ("404 Not Found", "text/html", "", "not found (404)"),
        (
          "503 Service Unavailable", "text/html", "",
          "answers 503 Service Unavailable; it asks to retry after 30"
        ),
        ("200 OK", "text/html; charset=utf-8", "<html>", "sends a page (text/html), not a picture"),
        ("200 OK", "image/jpeg", "<html>", "sends a page (image/jpeg), not a picture"),
        ("200 OK", "text/plain", "", "sends nothing (text/plain), not a picture"),
        ("200 OK", "application/json", "{\"error\":1}", "sends text (application/json), not a picture"),
      ])
    func refusals(status: String, type: String, body: String, reason: String) async throws {
      let server = try HTTPTestServer { _, _ in
        httpAnswer(Array(body.utf8), type: type, status: status, "Retry-After: 30")
      }
      let error = try await failure(server.url())
      #expect(error.kind == .unavailable && error.reason == reason, "\(error)")
    }

    @Test("the error says if a server refuses or does not answer, or does not speak HTTP")
    func noServer() async throws {
      let server = try HTTPTestServer { peer in
        _ = peer.request()
        peer.send("SSH-2.0-OpenSSH_9.2\r\n\r\n")
      }

      let reason = try await failure(server.url()).reason
      #expect(reason == "does not speak HTTP: it answers 'SSH-2.0-OpenSSH_9.2'")

      let port = try ReservedPort()
      defer { withExtendedLifetime(port) {} }
      #expect(try await failure("http://127.0.0.1:\(port.number)/").reason == "connection refused")

      let silent = try HTTPTestServer { peer in peer.waitForEnd() }
      let error = try await failure(silent.url(), httpOptions(connects: .milliseconds(300), givesUp: .zero))
      #expect(error.reason == "no connection within 0.3 s")

      #expect(try await failure("http://no-such-host.invalid/").kind == .unavailable)
    }

    @Test("a source retries after 503 responses until the server sends a picture")
    func comesBack() async throws {
      let jpeg = try smallJPEG()
      let isWatched = DispatchSemaphore(value: 0)
      let server = try HTTPTestServer { _, index in
        // It does not come back before somebody watches.
        if index == 2 { isWatched.wait() }
        return index < 2 ? httpAnswer([], status: "503 Service Unavailable") : httpAnswer(jpeg)
      }

      let source = LiveSource(try HTTPDevice(server.url(), httpOptions()), httpOptions())
      let statuses = source.statuses

      isWatched.signal()
      #expect(try await source.nextFrame() != nil)
      let lost = await statuses.first { $0.state == .lost }
      #expect(lost?.reason == "answers 503 Service Unavailable")
      await source.close()
    }

    @Test("a malformed URL is rejected as a bad request without showing its password")
    func malformed() async throws {
      let error = await #expect(throws: SourceError.self) {
        try await SourceLocator("http://u:sec/ret@a/x").open()
      }
      #expect(error?.kind == .badRequest)
      #expect(error?.path == "http://***@a/x")
    }

    // MARK: TLS

    @Test("HTTPS needs a trusted certificate, and a server without TLS is reported")
    func tls() async throws {
      let answer = httpAnswer(try smallJPEG(), "ETag: \"x\"")
      var options = httpOptions(givesUp: .zero)
      options.certificate = .file(fixtureFile("localhost.pem").path)
      try await withTLSServer(showing: "localhost.pem", answer) { port in
        for host in ["localhost", "127.0.0.1"] {
          let source = try await openHTTP("https://\(host):\(port)/", options)
          #expect(try await source.nextFrame()?.format.size == Size(width: 24, height: 16))
          #expect(source.status.mode?.transport == "https")
          await source.close()
        }

        let error = try await failure("https://127.0.0.1:\(port)/")
        #expect(error.reason.hasPrefix("TLS fails: its certificate is self-signed; "), "\(error.reason)")
        // To a server that wants TLS, plain HTTP is no HTTP.
        #expect(try await failure("http://127.0.0.1:\(port)/").kind == .unavailable)
      }

      let endless = Array("HTTP/1.0 200 OK\r\nContent-Type: image/png\r\n\r\n".utf8)
      let png = TestPNG(width: 24, height: 16, type: .rgb, depth: 8) { x, y in [x, y, 0] }.bytes
      try await withTLSServer(showing: "localhost.pem", endless + png, endsAbruptly: true) { port in
        let source = try await openHTTP("https://localhost:\(port)/", options)
        #expect(try await source.nextFrame() != nil, "it ends without close_notify")
        await source.close()
      }

      let plain = try HTTPTestServer { peer in
        // As servers do, it speaks when it has been spoken to.
        peer.waitForMore()
        peer.send(answer)
        peer.waitForEnd()
      }

      let error = try await failure("https://127.0.0.1:\(plain.port)/")
      #expect(error.reason == "TLS fails: the server does not speak TLS on this port (http://?)")
    }
  }
#endif
