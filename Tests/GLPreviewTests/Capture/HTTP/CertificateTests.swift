// Which certificates of cameras are accepted over HTTPS, and what is said of one that is refused.
#if HTTP
  import Foundation
  import PreviewCore
  import TestSupport
  import Testing

  @testable import GLPreview

  @Suite("Certificates of cameras", .timeLimit(.minutes(15)))
  struct CertificateTests {
    /// What a camera shows, and what comes of it.
    struct Case: Sendable, CustomTestStringConvertible {
      /// Of Fixtures/certificates.
      let shown: String
      /// `certificate`: a file of Fixtures, `system` or `any`; `fingerprint` of the same file.
      let trusted: String
      /// What is wrong; nil if it is accepted.
      let reason: String?
      let host: String

      init(_ shown: String, by trusted: String, _ reason: String?, at host: String = "localhost") {
        (self.shown, self.trusted, self.reason, self.host) = (shown, trusted, reason, host)
      }

      var testDescription: String { "\(shown) by \(trusted) at \(host)" }
    }

    static let ownReason = "is self-signed and expired on 2020-01-02"

    @Test(
      "a certificate is accepted by fingerprint, file or authority; errors show its fingerprint",
      arguments: [
        // As cameras ship it: without a host, and over.
        Case("own", by: "system", ownReason), Case("own", by: "any", nil),
        Case("own", by: "fingerprint of own", nil),
        Case("own", by: "fingerprint of signed", "does not have the configured fingerprint"),
        Case("own", by: "own", nil, at: "127.0.0.1"), Case("own", by: "authority", ownReason),
        Case("signed", by: "authority", nil), Case("signed", by: "authority", nil, at: "127.0.0.1"),
        Case("signed", by: "system", "is not signed by an authority that this machine trusts"),
        Case(
          "signed", by: "own", "is not in the file of certificate, and is not signed by an authority in it"),
        Case("elsewhere", by: "authority", "does not name localhost"),
        Case("elsewhere", by: "authority", "does not name 127.0.0.1", at: "127.0.0.1"),
        Case("elsewhere", by: "elsewhere", nil), Case("elsewhere", by: "fingerprint of elsewhere", nil),
        Case("expired", by: "authority", "expired on 2020-01-02"), Case("expired", by: "expired", nil),
      ])
    func trust(_ test: Case) async throws {
      let file = fixtureFile("certificates/\(test.trusted).pem").path
      let shown = try fingerprint(of: "certificates/\(test.shown).pem")
      let words = test.trusted.split(separator: " ")
      var options = httpOptions(givesUp: .zero)
      options.certificate =
        switch words[0] {
        case "system": nil
        case "any": .any
        case "fingerprint": .fingerprint(try fingerprint(of: "certificates/\(words[2]).pem"))
        default: .file(file)
        }
      try await withTLSServer(
        showing: "certificates/\(test.shown).pem", httpAnswer(try smallJPEG(), "Connection: close")
      ) { port in
        let source = try await openHTTP("https://\(test.host):\(port)/", options)
        let result: Result<Frame?, any Error>
        do { result = .success(try await source.nextFrame()) } catch { result = .failure(error) }

        switch (result, test.reason) {
        case (.success(let frame), nil):
          #expect(frame?.format.size == Size(width: 24, height: 16))
          #expect(try await source.nextFrame() != nil, "over a connection of its own")
        case (.failure(let error as SourceError), let reason?):
          #expect(error.kind == .unavailable)
          #expect(
            error.reason
              == "TLS fails: its certificate \(reason); if it is the right "
              + "one, set certificate (--certificate) to its SHA-256 fingerprint: \(shown)")
        default: Issue.record("\(result)")
        }
        await source.close()
      }
    }

    @Test("an MJPEG stream over TLS accepts a certificate by its fingerprint")
    func stream() async throws {
      let jpeg = try smallJPEG()
      let part = "--x\r\nContent-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
      let head = "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=x\r\n\r\n"
      var options = httpOptions(givesUp: .zero, every: true)
      options.certificate = .fingerprint(try fingerprint(of: "certificates/own.pem"))
      let answer = Array(head.utf8) + (0..<3).flatMap { _ in Array(part.utf8) + jpeg + [13, 10] }
      try await withTLSServer(showing: "certificates/own.pem", answer + Array("--x--".utf8)) { port in
        let source = try await openHTTP("https://localhost:\(port)/", options)
        for _ in 0..<3 { #expect(try await source.nextFrame()?.format.size == Size(width: 24, height: 16)) }
        await source.close()
      }
    }

    @Test("a configured fingerprint is not used for another host after a redirect")
    func redirection() async throws {
      let file = "certificates/own.pem"
      try await withTLSServer(showing: file, httpAnswer(try smallJPEG())) { other in
        for (host, reason) in [("localhost", nil), ("127.0.0.1", "its certificate \(Self.ownReason)")] {
          let redirect =
            "HTTP/1.1 302 Found\r\nLocation: https://\(host):\(other)/\r\nContent-Length: 0\r\n\r\n"
          try await withTLSServer(showing: file, Array(redirect.utf8)) { port in
            var options = httpOptions(givesUp: .zero)
            options.redirects = .any
            options.certificate = .fingerprint(try fingerprint(of: file))
            let source = try await openHTTP("https://localhost:\(port)/", options)
            if let reason {
              let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }
              #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
            } else {
              #expect(try await source.nextFrame() != nil)
            }
            await source.close()
          }
        }
      }
    }

    // MARK: Words

    private static let digits = "B2023D4A3DD1A52535BA366792633CEB2A195A17A82F518072F4A8218F84545D"

    @Test("CertificateTrust parses fingerprints, `any`, `system` and file paths")
    func words() throws {
      let expected = CertificateTrust.fingerprint(try fingerprint(of: "certificates/own.pem"))
      let pairs = stride(from: 0, to: 64, by: 2).map { Self.digits.dropFirst($0).prefix(2) }
      for text in [Self.digits, Self.digits.lowercased(), pairs.joined(separator: ":")] {
        let trust = try CertificateTrust(parsing: text)
        #expect(trust == expected && trust.description == Self.digits.lowercased())
      }
      #expect(try CertificateTrust(parsing: "any") == .any)
      #expect(try CertificateTrust(parsing: "system") == .system)
      for path in ["deadbeef", "certs/door.pem", "Any", "./any"] {
        #expect(try CertificateTrust(parsing: path) == .file(path))
      }
    }

    @Test(
      "a fingerprint of the wrong length and an empty value are rejected",
      arguments: [
        (String(digits.dropLast()), "not 63"), (digits + "0", "not 65"), ("12:34", "not 4"),
        (String(digits.prefix(40)), "64 hexadecimal digits (SHA-256), not 40"), ("", "is empty"),
      ])
    func mistakes(text: String, reason: String) {
      let error = #expect(throws: ParameterError.self) { try CertificateTrust(parsing: text) }
      #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("a missing certificate file, or one without a certificate, is rejected")
    func files() throws {
      let (gone, empty) = (fixtureFile("gone.pem").path, fixtureFile("ycc444.jpg").path)
      let reasons = [
        (gone, ": no such file"), (empty, " has no certificate (PEM)"), ("/dev/zero", " is not a file"),
      ]
      for (path, reason) in reasons {
        #expect(throws: ParameterError("'\(path)'\(reason)")) { try CertificateTrust.file(path).checkFile() }
      }
      try CertificateTrust.file(fixtureFile("certificates/authority.pem").path).checkFile()
      try CertificateTrust.any.checkFile()
    }

    @Test(
      "a certificate option is rejected without TLS, and certificate verification over UDP",
      arguments: [
        ("https://a/", .system, nil), ("HTTPS://a/", .any, nil), ("rtsps://a/", .system, nil),
        ("rtsps://a/#transport=tcp", .system, nil), ("rtsps://a/#transport=udp", .any, nil),
        ("rtsps://a/#transport=udp", .system, "only over TCP"),
        ("http://a/", .any, "only https:// and rtsps://"), ("rtsp://a/", .system, "only https://"),
        ("rtmps://a/b", .any, "only https://"), ("pattern:smpte", .any, "only https://"),
        ("x.jpg", .any, "only https://"),
      ] as [(String, CertificateTrust, String?)])
    func sources(source: String, certificate: CertificateTrust, refusal: String?) async throws {
      var options = SourceOptions()
      options.certificate = certificate
      #expect(SourceLocator(source).refusal(of: options)?.reason.contains(refusal ?? "?") ?? (refusal == nil))
      guard refusal != nil else { return }
      let error = await #expect(throws: SourceError.self) { try await SourceLocator(source).open(options) }
      #expect(error?.kind == .badRequest)
    }
  }
#endif
