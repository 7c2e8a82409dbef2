// The results that requests for recorded pictures are counted under.
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Results of requests for recorded pictures", .timeLimit(.minutes(15)))
struct RecordedResultTests {
  @Test("a failure is counted by its status, and a client that has left is not counted")
  func failures() async {
    let left = HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request")
    let failures: [(any Error, String?)] = [
      (CancellationError(), nil), (Problem(left, "the client closed the connection"), nil),
      (Problem(.tooManyRequests, "too many"), "refused"), (Problem(.badGateway, "no answer"), "failed"),
      (Problem(.notFound, "no pictures"), "missing"),
    ]
    for (error, result) in failures {
      let metrics = ServiceMetrics()
      await #expect(throws: (any Error).self) {
        try await metrics.counting(
          { .recorded(camera: "door", .picture, $0) }, status: { (answer: Int) in answer }
        ) { throw error }
      }
      let lines = metrics.text.split(separator: "\n").map(String.init).filter {
        $0.hasPrefix("glpreview_recorded_requests_total{")
      }
      let expected = result.map {
        [#"glpreview_recorded_requests_total{camera="door",kind="picture",result="\#($0)"} 1"#]
      }
      #expect(lines == expected ?? [])
    }
  }

  @Test("a request is counted as failed if a node that may have the pictures does not answer")
  func unknown() async throws {
    try await withFakePeer { _, request in
      request.uri.path == "/api/cameras"
        ? Response(
          status: .ok,
          body: ResponseBody(
            byteBuffer: ByteBuffer(string: #"{"node": {"name": "owner", "instance": "i"}, "cameras": []}"#)))
        : Response(status: .internalServerError)
    } _: { address, _ in
      try await withService(edgeConfiguration(of: address)) { edge in
        await until { edge.inside.peers.cluster.peers.last?.state == .up }
        let answer = try await edge.get("/recordings/camera.jpg?at=1000")
        #expect(answer.status == 503)
        let line = #"glpreview_recorded_requests_total{camera="",kind="picture",result="failed"} 1"#
        #expect(edge.inside.metrics.text.contains(line))
      }
    }
  }
}
