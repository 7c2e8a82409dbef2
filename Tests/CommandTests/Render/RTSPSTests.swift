// RTSP over TLS from a real server, whose certificate is verified.
#if FFmpeg && HTTP
  import Foundation
  import GLPreview
  import TestSupport
  import Testing

  @Suite(
    "RTSP over TLS", .enabled(if: RTSPServer.absence == nil, "\(RTSPServer.absence ?? "")"),
    .timeLimit(.minutes(15)))
  struct RTSPSTests {
    /// Of certificates/own.pem and signed.pem, by openssl.
    private static let own = "B2023D4A3DD1A52535BA366792633CEB2A195A17A82F518072F4A8218F84545D"
    private static let signed = "2031c481a8dd090d02e10d6f64042f12eb0cfffafcfdbb5f52589ae4e5a8f93c"

    private func url(_ path: String, _ server: RTSPServer, user: String = "") -> String {
      server.url(path, user: user).replacing("rtsp://", with: "rtsps://")
    }

    private func options(_ certificate: String?) throws -> SourceOptions {
      var options = SourceOptions()
      options.certificate = try certificate.map { try CertificateTrust(parsing: $0) }
      return options
    }

    @Test(
      "frames over TLS have the right colours for each accepted certificate option",
      arguments: [
        ("own", own, ""), ("own", certificateFile("own"), "basic"), ("own", "any", "digest"),
        ("signed", certificateFile("authority"), "digest"), ("own", nil, "basic"),
      ] as [(String, String?, String)])
    func pictures(shown: String, certificate: String?, auth: String) async throws {
      let tls = ["--tls", certificateFile(shown)]
      let server =
        auth.isEmpty
        ? try await RTSPServer(tls[0], tls[1]) : try await RTSPServer(tls[0], tls[1], "--auth", auth)
      let user = auth.isEmpty ? "" : "user:secret@"

      let (frames, source, error) = try await frames(
        url("bars", server, user: user), count: 3, options(certificate))

      #expect(error == nil && frames.count == 3)
      for frame in frames {
        for (found, expected) in zip(codes(frame), bars) {
          #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 4 }, "\(found) is not \(expected)")
        }
      }
      #expect(source.status.mode?.transport == "rtsps over tcp")
      await source.close()
      try await until { try socketCount(connectedTo: server.port) == 0 }
    }

    @Test("RTSP errors over TLS have the same reasons as without TLS, and no password")
    func answers() async throws {
      let server = try await RTSPServer("--tls", certificateFile("own"), "--auth", "digest")
      for (path, user, reason) in [
        ("nothing", "user:secret@", "no such stream (404)"),
        ("bars", "user:wrong-secret@", "requires a user and a password"),
      ] {
        let error = try await frames(url(path, server, user: user), count: 1, options(Self.own)).error
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        #expect(error?.description.contains("secret") == false)
      }
      try await until { try socketCount(connectedTo: server.port) == 0 }
    }

    @Test("`render` rejects a wrong certificate and prints its fingerprint; without --certificate it warns")
    func command() async throws {
      let server = try await RTSPServer("--tls", certificateFile("own"))
      let folder = try TestFolder()
      let address = url("bars", server)

      let refused = try await folder.render(
        address, "--certificate", Self.signed, "--frames", "1", "-o", "a.png")
      #expect(refused.status == 69)
      #expect(
        refused.errors.contains("does not have the configured fingerprint")
          && refused.errors.contains(Self.own.lowercased()), "\(refused.errors)")

      let warned = try await folder.render(address, "--frames", "1", "-o", "a.png")
      #expect(warned.status == 0)
      #expect(warned.errors.contains("certificate is not verified"), "\(warned.errors)")

      let accepted = try await folder.render(
        address, "--certificate", Self.own, "--frames", "1", "-o", "a.png")
      // A live stream that is joined on a busy machine may begin with a damaged frame, which is reported.
      let messages = accepted.errors.split(separator: "\n").filter { !$0.hasSuffix(" damaged") }
      #expect(accepted.status == 0 && messages.isEmpty, "\(accepted.errors)")

      let overUDP = try await folder.render(
        "\(address)#transport=udp", "--certificate", Self.own, "-o", "a.png")
      #expect(overUDP.status == 64 && overUDP.errors.contains("only over TCP"), "\(overUDP.errors)")
    }
  }
#endif
