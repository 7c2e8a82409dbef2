// Requests that wait at a node which has died, and clients that leave before there is an answer.
import GLPreview
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceFoundation

@Suite("Requests for cameras that move", .timeLimit(.minutes(15)))
struct PeerMoveTests {
  private static let picture = "/cameras/camera/main.jpg"
  private static let view = "/api/cameras/camera/views/main"
  private static let shown = Response(
    status: .ok, headers: [.contentType: "image/jpeg"],
    body: ResponseBody(byteBuffer: ByteBuffer(string: "picture")))

  /// Two nodes that a third asks.
  private struct Pair: Sendable {
    let urls: [String: String]
    /// How often each was asked.
    let asked: Watched<[String: Int]>
    let edge: RunningService

    func know(owner: String, epoch: UInt64, without dead: String? = nil) {
      edge.inside.peers.apply(.of(urls, owner: owner, epoch: epoch, without: dead))
    }

    func isAsked(_ node: String, _ count: Int = 1) async throws {
      _ = try await asked.first { $0[node] ?? 0 >= count ? true : nil }
    }
  }

  /// Runs `work` with a node `dead` that accepts requests and never answers them, and a node `next` that has the answers of `answer`
  /// by the number of the request; `dead` has the camera.
  private func withPair(
    _ answer: @escaping @Sendable (Int) -> Response = { _ in shown },
    _ work: @escaping @Sendable (Pair) async throws -> Void
  ) async throws {
    let asked = Watched<[String: Int]>([:])
    try await withFakePeer { peer, _ in
      asked.update { $0["dead", default: 0] += 1 }
      try await peer.hangs()
      return Self.shown
    } _: { dead, _ in
      try await withFakePeer { _, _ in
        answer(
          asked.update { asked in
            asked["next", default: 0] += 1
            return asked["next"] ?? 0
          })
      } _: { next, _ in
        try await withService(edgeConfiguration(of: nowhere)) { edge in
          let pair = Pair(urls: ["dead": dead, "next": next], asked: asked, edge: edge)
          pair.know(owner: "dead", epoch: 1)
          try await work(pair)
        }
      }
    }
  }

  @Test(
    "a snapshot request waiting at a dead node is sent to the camera's next owner",
    arguments: ["GET", "HEAD"])
  func takeover(method: String) async throws {
    try await withPair { pair in
      async let answer = pair.edge.send(method, Self.picture)
      try await pair.isAsked("dead")
      // Dead, and nobody has the camera yet.
      pair.know(owner: "dead", epoch: 1, without: "dead")
      await letOthersGoOn()
      #expect(pair.asked.value["next"] == nil)
      pair.know(owner: "next", epoch: 2, without: "dead")
      #expect(try await answer.status == 200)
      #expect(try await answer.text == (method == "HEAD" ? "" : "picture"))
      #expect(pair.asked.value == ["dead": 1, "next": 1])
      #expect(try await pair.edge.get("/metrics").text.contains(#"peer_requests_total{result="done"} 1"#))
    }
  }

  @Test("a new owner that returns 503 before it knows of its lease is asked again")
  func tooEarly() async throws {
    try await withPair {
      $0 < 3 ? Response(status: .serviceUnavailable) : Self.shown
    } _: { pair in
      async let answer = pair.edge.get(Self.picture)
      try await pair.isAsked("dead")
      pair.know(owner: "next", epoch: 2, without: "dead")
      #expect(try await answer.text == "picture")
      #expect(pair.asked.value == ["dead": 1, "next": 3])
    }
  }

  @Test("during a move the old owner's picture is used; if it fails, the new owner's is")
  func race() async throws {
    let (answers, asked) = (Watched<[String: HTTPResponse.Status]>([:]), Watched<[String: Int]>([:]))
    @Sendable func peer(_ name: String) -> @Sendable (FakePeer, Request) async throws -> Response {
      { _, _ in
        asked.update { $0[name, default: 0] += 1 }
        let status = try await answers.first { $0[name] } ?? .ok
        return status == .ok ? Self.shown : Response(status: status)
      }
    }
    try await withFakePeer(peer("dead")) { dead, _ in
      try await withFakePeer(peer("next")) { next, _ in
        try await withService(edgeConfiguration(of: nowhere)) { edge in
          let pair = Pair(urls: ["dead": dead, "next": next], asked: asked, edge: edge)
          let cases: [(HTTPResponse.Status, HTTPResponse.Status?)] = [
            (.ok, nil), (.badGateway, .ok), (.conflict, .ok),
          ]
          for (count, (old, new)) in zip(1..., cases) {
            answers.update { $0 = [:] }
            pair.know(owner: "dead", epoch: 1)
            async let answer = edge.get(Self.picture)
            try await pair.isAsked("dead", count)
            pair.know(owner: "next", epoch: 2)
            try await pair.isAsked("next", count)
            answers.update { $0["dead"] = old }
            if let new {
              await letOthersGoOn()
              answers.update { $0["next"] = new }
            }
            #expect(try await answer.status == 200)
          }
        }
      }
    }
  }

  @Test(
    "a request that starts while its camera's node is dead waits for the next owner",
    arguments: zip(["GET", "GET", "PATCH"], [false, true, true]))
  func beginsLate(method: String, isKnown: Bool) async throws {
    try await withPair { pair in
      // Known to be dead, or only nothing is at its address any more.
      let urls = ["dead": nowhere, "next": pair.urls["next"] ?? ""]
      func know(_ owner: String, _ epoch: UInt64, without dead: String? = nil) {
        pair.edge.inside.peers.apply(.of(urls, owner: owner, epoch: epoch, without: dead))
      }
      know("dead", 1, without: isKnown ? "dead" : nil)
      async let answer = pair.edge.send(
        method, method == "GET" ? Self.picture : Self.view, body: method == "GET" ? nil : "{}")
      await letOthersGoOn()
      know("next", 2, without: "dead")
      let status = try await answer.status
      #expect(status == 200)
      #expect(pair.asked.value == ["next": 1])
    }
  }

  @Test("a PATCH that the old owner rejects with 409 is sent to the new owner with its epoch")
  func elsewhere() async throws {
    let (asked, epochs) = (Watched(0), Watched<[String?]>([]))
    try await withFakePeer { _, request in
      asked.update { $0 += 1 }
      epochs.update { $0.append(request.headers[named: PeerField.epoch]) }
      return Response(status: .conflict, headers: [.init(PeerField.elsewhere)!: "1"])
    } _: { old, _ in
      try await withFakePeer { _, request in
        epochs.update { $0.append(request.headers[named: PeerField.epoch]) }
        return Self.shown
      } _: { next, _ in
        try await withService(edgeConfiguration(of: nowhere)) { edge in
          let urls = ["old": old, "next": next]
          edge.inside.peers.apply(.of(urls, owner: "old", epoch: 1))
          async let answer = edge.send("PATCH", Self.view, body: "{}")
          _ = try await asked.first { $0 >= 1 ? true : nil }
          edge.inside.peers.apply(.of(urls, owner: "next", epoch: 2))
          #expect(try await answer.status == 200)
          #expect(epochs.value.first == "1" && epochs.value.last == "2")
          #expect(try await edge.get(Self.picture).status == 200)
          #expect(epochs.value.last == .some(nil))
        }
      }
    }
  }

  @Test(
    "a request for a camera that no node takes over times out with 502 and names the dead node")
  func nobody() async throws {
    for dead in [String?.none, "dead"] {
      var configuration = edgeConfiguration(of: nowhere).patient()
      configuration.timeouts.peerAnswer = dead == nil ? .seconds(2) : .milliseconds(50)
      try await withService(configuration) { edge in
        edge.inside.peers.apply(.of(["dead": nowhere], owner: "dead", epoch: 1, without: dead))
        for path in [Self.picture, "/cameras/camera/main.mjpeg"] {
          var answer = try await edge.get(path)
          // On a busy machine the time may end before the refused connection is seen.
          while answer.status == 504 { answer = try await edge.get(path) }
          #expect(answer.status == 502 && answer.text.contains("node 'dead'"))
        }
      }
    }
  }

  @Test("a PATCH is not repeated if its node dies before answering, and returns 502")
  func commands() async throws {
    try await withPair { pair in
      async let answer = pair.edge.send("PATCH", Self.view, body: #"{"width": 64}"#)
      try await pair.isAsked("dead")
      // Its node lives, and may answer.
      pair.know(owner: "next", epoch: 2)
      await letOthersGoOn()
      pair.know(owner: "next", epoch: 2, without: "dead")
      #expect(try await answer.status == 502)
      #expect(try await answer.text.contains("the request may have taken effect"))
      #expect(pair.asked.value == ["dead": 1])
    }
  }

  @Test("a request waiting at a dead node is answered locally once this node takes the camera")
  func comesHere() async throws {
    try await withPair { pair in
      async let answer = pair.edge.get(Self.picture)
      try await pair.isAsked("dead")
      var configuration = edgeConfiguration(of: nowhere).patient()
      configuration.cameras = [CameraConfiguration(source: StreamTests.pattern)]
      try await pair.edge.inside.apply(configuration)
      #expect(try await !answer.headers["X-View-Size"].isEmpty)
      #expect(pair.asked.value == ["dead": 1])
    }
  }

  @Test("a PATCH that the old owner rejects is applied locally once this node takes the camera")
  func changeComesHere() async throws {
    try await withFakePeer { _, _ in
      Response(status: .conflict, headers: [.init(PeerField.elsewhere)!: "1"])
    } _: { old, peer in
      try await withService(edgeConfiguration(of: nowhere)) { edge in
        edge.inside.peers.apply(.of(["old": old], owner: "old", epoch: 1))
        async let answer = edge.send("PATCH", Self.view, body: #"{"width": 32}"#)
        await letOthersGoOn()
        var configuration = edgeConfiguration(of: nowhere).patient()
        configuration.cameras = [CameraConfiguration(source: StreamTests.pattern)]
        try await edge.inside.apply(configuration)
        #expect(try await answer.status == 200)
        #expect(try await edge.get(Self.picture).headers["X-View-Size"].first?.hasPrefix("32x") == true)
      }
    }
  }

  // MARK: Clients that leave

  @Test("a forwarded request is cancelled when the last client that shares it disconnects")
  func departure() async throws {
    let (asked, cancelled) = (Watched(0), Watched(0))
    try await withFakePeer { peer, request in
      guard request.uri.query == nil else { return Self.shown }
      asked.update { $0 += 1 }
      do {
        return try await request.body.consumeWithCancellationOnInboundClose { _ in
          try await peer.hangs()
          return Self.shown
        }
      } catch {
        cancelled.update { $0 += 1 }
        throw error
      }
    } _: { address, _ in
      try await withService(edgeConfiguration(of: nowhere)) { edge in
        edge.inside.peers.apply(.of(["owner": address], owner: "owner", epoch: 1))
        func ask(_ path: String = Self.picture) async throws -> RawConnection {
          try await RawConnection(
            to: edge.port, sending: "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        }
        let clients = [try await ask(), try await ask()]
        _ = try await asked.first { $0 == 1 ? true : nil }
        try await clients[0].close()
        await until {
          (try? await edge.get("/metrics").text.contains(#"status="499"} 1"#)) == true
        }
        #expect(asked.value == 1 && cancelled.value == 0)
        try await clients[1].close()
        _ = try await cancelled.first { $0 == 1 ? true : nil }

        // Connections are kept.
        let patient = try await ask(Self.picture + "?width=1")
        try await patient.waits(for: "picture")
        try await patient.send(Array("GET \(Self.picture)?width=2 HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        await until {
          patient.received.split(separator: "HTTP/1.1 200", omittingEmptySubsequences: false).count == 3
        }
        #expect(asked.value == 1)
      }
    }
  }

  @Test("a client that has closed its sending side still gets a prompt response")
  func halfClosed() async throws {
    try await withFakePeer { _, _ in
      Self.shown
    } _: { address, _ in
      var configuration = edgeConfiguration(of: nowhere).patient()
      configuration.timeouts.halfClosed = allTheTimeThereIs
      try await withService(configuration) { edge in
        edge.inside.peers.apply(.of(["owner": address], owner: "owner", epoch: 1))
        let half = try await RawConnection(
          to: edge.port, sending: "GET \(Self.picture) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await half.endSending()
        try await half.waits(for: "picture")
      }
    }
  }
}
