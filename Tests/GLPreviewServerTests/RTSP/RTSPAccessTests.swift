// Who is let in by RTSP, how often, and what the log says of those who are not.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import RTSP
@testable import ServiceFoundation

@Suite(
  "RTSP access control", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct RTSPAccessTests {
  static func authorization(
    _ challenge: RTSPPeer.Answer, _ name: String, _ password: String, _ method: String, _ url: String
  ) throws -> [(String, String)] {
    let field = try #require(challenge.fields["www-authenticate"])
    #expect(field.hasPrefix("Digest realm=\"glpreview\""))
    let nonce = try #require(RTSPAccess.parameters(field.dropFirst(7))["nonce"])
    let response = RTSPAccess.response(name, password, nonce: nonce, method, url)
    return [
      (
        "Authorization",
        #"Digest username="\#(name)", realm="glpreview", nonce="\#(nonce)", uri="\#(url)", response="\#(response)""#
      )
    ]
  }

  @Test("RTSP without a valid Digest returns 401, and a password change closes open connections")
  func access() async throws {
    var configuration = RTSPTests.configuration()
    configuration.access.users = [.init(name: "anna", password: "secret", role: .read)]
    try await RTSPTests.withServer(configuration) { [configuration] service, port in
      let (peer, url) = (try await RTSPPeer(to: port), RTSPTests.url(port))
      let challenge = try await peer.ask("DESCRIBE", url)
      #expect(challenge.status == 401)
      for (name, password) in [("anna", "wrong"), ("bert", "secret"), ("", "")] {
        let fields = try Self.authorization(challenge, name, password, "DESCRIBE", url)
        #expect(try await peer.ask("DESCRIBE", url, fields).status == 401)
      }
      // A proof is good for one method, and for one connection.
      let other = try Self.authorization(challenge, "anna", "secret", "SETUP", url)
      #expect(try await peer.ask("DESCRIBE", url, other).status == 401)
      let fields = try Self.authorization(challenge, "anna", "secret", "DESCRIBE", url)
      let thief = try await RTSPPeer(to: port)
      let stolen = try await thief.ask("DESCRIBE", url, fields)
      #expect(stolen.status == 401 && stolen.fields["www-authenticate"]?.hasSuffix("stale=TRUE") == true)
      // In other schemes no password is accepted.
      #expect(
        try await peer.ask("DESCRIBE", url, [("Authorization", "Basic YW5uYTpzZWNyZXQ=")]).status == 401)
      #expect(try await peer.ask("DESCRIBE", url, fields).status == 200)

      var changed = configuration
      changed.access.users = [.init(name: "anna", password: "other", role: .read)]
      try await service.inside.apply(changed)
      try await peer.waitsForEnd()
      try await thief.close()
    }
  }

  @Test("after 10 wrong RTSP passwords a client gets 503, over HTTP 429, and each is logged")
  func guesses() async throws {
    var configuration = RTSPTests.configuration()
    configuration.access.users = [.init(name: "anna", password: "secret", role: .read)]
    let log = LogRecords()
    try await RTSPTests.withServer(configuration, logger: log.logger) { service, port in
      let (peer, url) = (try await RTSPPeer(to: port), RTSPTests.url(port))
      let challenge = try await peer.ask("DESCRIBE", url)
      let wrong = try Self.authorization(challenge, "anna", "wrong", "DESCRIBE", url)
      for _ in 0..<10 { #expect(try await peer.ask("DESCRIBE", url, wrong).status == 401) }
      let right = try Self.authorization(challenge, "anna", "secret", "DESCRIBE", url)
      #expect(try await peer.ask("DESCRIBE", url, right).status == 503)

      // A nonce of another connection is no guess.
      let other = try await RTSPPeer(to: port)
      #expect(try await other.ask("DESCRIBE", url, right).status == 401)
      // The log names who was refused, as over HTTP.
      #expect(
        try await service.get("/cameras/camera/main.jpg", [("Authorization", "Bearer wrong")]).status == 429)
      let (wrongs, many) = ("wrong credentials: ", "too many wrong credentials: client=127.0.0.1 request=")
      #expect(log.lines.count { $0 == "\(wrongs)client=127.0.0.1 request=DESCRIBE \(url)" } == 10)
      #expect(log.lines.count { $0.hasPrefix(wrongs) } == 10)
      #expect(log.lines.contains("\(many)DESCRIBE \(url)"))
      #expect(log.lines.contains("\(many)GET /cameras/camera/main.jpg"))
      try await other.close()
      try await peer.close()
    }
  }

  @Test("rtsp.listen is rejected without users if it is public or if tokens are configured")
  func addresses() throws {
    func problems(_ change: (inout ServerConfiguration) -> Void) -> [String] {
      var configuration = RTSPTests.configuration()
      change(&configuration)
      do throws(ConfigurationError) { _ = try ValidatedConfiguration(configuration) } catch {
        return error.problems.map { $0.path.joined(separator: ".") }
      }
      return []
    }
    #expect(problems { $0.rtsp.listen = .at(host: "0.0.0.0", port: 8554) } == ["rtsp.listen"])
    #expect(problems { $0.access.tokens = [.init(secret: "t", role: .read)] } == ["rtsp.listen"])
    #expect(
      problems {
        $0.access.users = [.init(name: "a", password: "b", role: .read)]
        $0.rtsp.listen = .at(host: "0.0.0.0", port: 8554)
      } == [])
  }

  @Test(
    "RTSP and HTTP share a rate limit, which exempts keep-alives of a playing client")
  func rate() async throws {
    var configuration = RTSPTests.configuration()
    // Two requests, and no more within the test. The first of a session is not counted.
    configuration.limits.requestsPerSecond = 0.01
    try await RTSPTests.withServer(configuration) { service, port in
      let player = try await RTSPPeer(to: port)
      let session = try await RTSPTests.setUp(player, port)
      #expect(try await player.ask("PLAY", RTSPTests.url(port), [session]).status == 200)

      let other = try await RTSPPeer(to: port)
      var refused = try await other.ask("OPTIONS", "*")
      while refused.status == 200 { refused = try await other.ask("OPTIONS", "*") }
      #expect(refused.status == 503 && Int(refused.fields["retry-after"] ?? "") ?? 0 > 0)
      #expect(try await service.get("/cameras/camera/main.jpg").status == 429)

      // A second has to pass between two of these.
      await until { (try? await player.ask("GET_PARAMETER", RTSPTests.url(port), [session]).status) == 200 }
      _ = try await player.packet(channel: 0)
      try await player.close()
      try await other.close()
    }
  }
}
