// Pictures from cameras that speak HTTP, to files.
#if HTTP
  import Foundation
  import TestSupport
  import Testing

  @Suite("Rendering from HTTP sources")
  struct HTTPRenderTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A small JPEG.
    private func jpeg() async throws -> [UInt8] {
      let result = try await folder.render("pattern:smpte,size=32x24", "-o", "-", "--format", "jpeg")
      #expect(result.status == 0)
      return result.output
    }

    @Test("--frames limits the pictures of an MJPEG stream, and the URL's password is not printed")
    func stream() async throws {
      let jpeg = try await jpeg()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        while peer.send(multipartPart(jpeg)), peer.isThere(after: 10) {}
      }
      let url = "http://me:secret@127.0.0.1:\(server.port)/?action=stream"

      let result = try await folder.render(
        url, "--timeout", "3600", "--frames", "3", "-o", "{frame:05}.png", "--json")

      #expect(result.status == 0, "\(result.errors)")
      #expect(try folder.names.count == 3)
      #expect(try result.reports.allSatisfy { $0.width == 32 && $0.height == 24 })
      #expect(
        !String(decoding: result.output, as: UTF8.self).contains("secret")
          && !result.errors.contains("secret"))
    }

    @Test("a malformed URL exits with 64, and the error hides its password")
    func malformed() async throws {
      let result = try await folder.render("http://me:sec/ret@camera/", "-o", "a.png")
      #expect(result.status == 64)
      #expect(
        result.errors.contains("http://***@camera/: ") && !result.errors.contains("ret"), "\(result.errors)")
    }

    private static let interpreter = OtherProgram("python3")

    @Test(
      "a JPEG URL of Python's http.server gives as many frames as --frames requests",
      .enabled(if: interpreter != nil, "needs python3"))
    func python() async throws {
      try folder.write(await jpeg(), to: "shot.jpg")
      let server = try ChildProcess(
        #require(Self.interpreter).path, ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        environment: ProcessInfo.processInfo.environment, in: folder.url.path, writingTo: nil)
      defer { kill(server.id, SIGKILL) }
      let output = StreamReader(server.output, limit: .max)
      let line = try #require(await output.nextLine())
      let port = try #require(line.split(separator: " ").compactMap { Int($0) }.first, "\(line)")

      let result = try await folder.render(
        "http://127.0.0.1:\(port)/shot.jpg", "--timeout", "3600", "--frames", "2", "-o", "shot-{frame}.png")

      #expect(result.status == 0, "\(result.errors)")
      #expect(try folder.names == ["shot-0.png", "shot-1.png", "shot.jpg"])

      kill(server.id, SIGTERM)
      _ = await ChildProcess.status(of: server.id)
    }

    /// Serves the files of its folder over TLS; says its port first.
    private static let tlsServer = """
      import http.server, ssl, sys
      server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(sys.argv[1])
      server.socket = context.wrap_socket(server.socket, server_side=True)
      print(server.server_port, flush=True)
      server.serve_forever()
      """

    @Test(
      "an untrusted certificate exits with 69; --certificate accepts the fingerprint in the error",
      .enabled(if: interpreter != nil, "needs python3"))
    func certificates() async throws {
      try folder.write(await jpeg(), to: "shot.jpg")
      let server = try ChildProcess(
        #require(Self.interpreter).path, ["-c", Self.tlsServer, certificateFile("signed")],
        environment: ProcessInfo.processInfo.environment, in: folder.url.path, writingTo: nil)
      defer { kill(server.id, SIGKILL) }
      let port = try #require(await StreamReader(server.output, limit: .max).nextLine().flatMap { Int($0) })
      let url = "https://localhost:\(port)/shot.jpg"
      let words = ["render", "--renderer", "reference", url, "--timeout", "3600", "-o", "a.png"]

      let refused = try await folder.run(words)
      #expect(refused.status == 69)
      let shown = try #require(
        refused.errors.firstMatch(of: /--certificate.* fingerprint: ([0-9a-f]{64})/)?.1)
      for (options, environment, status, reason) in [
        (["--certificate", String(shown)], [:], 0, ""),
        (["--certificate", certificateFile("authority")], [:], 0, ""),
        ([], ["SSL_CERT_FILE": certificateFile("authority")], 0, ""),
        (
          [], ["SSL_CERT_FILE": certificateFile("own")], 69,
          "not signed by an authority that this machine trusts"
        ),
        ([], ["SSL_CERT_FILE": "/nonexistent.pem"], 69, "'/nonexistent.pem', which SSL_CERT_FILE names"),
        (["--certificate", String(shown.dropLast())], [:], 64, "--certificate: a fingerprint has 64"),
        (["--certificate", "gone.pem"], [:], 64, "--certificate: 'gone.pem': no such file"),
        (["--certificate", "shot.jpg"], [:], 64, "--certificate: 'shot.jpg' has no certificate"),
      ] as [([String], [String: String], Int32, String)] {
        let result = try await folder.run(words + options, environment: environment)
        #expect(result.status == status, "\(options) \(environment): \(result.errors)")
        #expect(status == 0 ? result.errors.isEmpty : result.errors.contains(reason), "\(result.errors)")
      }

      let scene = ["render", "--scene", "grid:size=64x24", "a=\(url)", "b=shot.jpg", "-o", "a.png"]
      let short = String(shown.dropLast())
      for (certificates, status, reason) in [
        ([], 0, "fingerprint: \(shown) (shown as lost)"), ([String(shown)], 0, ""),
        (["a=\(shown)"], 0, ""), (["system", "a=any"], 0, ""), (["a=\(certificateFile("authority"))"], 0, ""),
        (["b=any"], 64, "--certificate of 'b': only https://"), (["c=any"], 64, "no source 'c'"),
        (["a=\(short)"], 64, "--certificate: a fingerprint has 64"), ([short], 64, "a fingerprint has 64"),
        (["any", "any"], 64, "given twice"), (["a=any", "a=system"], 64, "given twice for 'a'"),
      ] as [([String], Int32, String)] {
        let options = certificates.flatMap { ["--certificate", $0] }
        let result = try await folder.run(scene + ["--timeout", "3600"] + options)
        #expect(result.status == status, "\(certificates): \(result.errors)")
        #expect(
          reason.isEmpty ? result.errors.isEmpty : result.errors.contains(reason), "\(result.errors)")
      }
      let none = try await folder.run(
        ["render", "--scene", "grid", "shot.jpg", "--certificate", "any", "-o", "a.png"])
      #expect(none.status == 64 && none.errors.contains("--certificate: only https://"), "\(none.errors)")

      let plain = try await folder.render("http://localhost:1/", "--certificate", "any", "-o", "a.png")
      #expect(plain.status == 64 && plain.errors.contains("only https://"), "\(plain.errors)")

      kill(server.id, SIGKILL)
      _ = await ChildProcess.status(of: server.id)
    }
  }
#endif
