// What another machine may send by the broker in place of a request for a camera.
import Hummingbird
import HummingbirdCore
import NATS

@testable import Cluster
@testable import ServiceCore
@testable import ServiceFoundation

extension FuzzTarget {
  /// Lines of header fields, an empty line, and a body.
  static let broker = FuzzTarget(
    name: "broker", longest: 4096,
    words: [
      "Method: ", "Target: ", "Role: control\n", "Epoch: 5\n", "Deadline: 100\n", "PATCH\n", "GET\n",
      "POST\n",
      "/cameras/cam/main.jpg", "/api/cameras/cam/views/main", "/api/frame.jpeg?src=cam", "&src=", "%2F", "..",
      "If-None-Match: \"a\"\n", "Content-Type: application/json\n", "\n\n",
    ],
    seeds: {
      [
        "Method: GET\nTarget: /cameras/cam/main.jpg?width=3\nRole: read\nIf-None-Match: \"a\"\n\n",
        "Method: PATCH\nTarget: /api/cameras/cam/views/main\nEpoch: 18446744073709551615\nContent-Type: application/json\n\n{}",
        "Target: /api/frame.jpeg?src=cam%2Fmain&width=3\nDeadline: 1\n\n",
        "Target: /cameras/cam/../b/main.jpg\n\n",
        #"""

        {"type":"motion","camera":"cam","what":"motion-ended","event":1,"score":0.25,"box":[0,0.5,0.25,0.1],\
        "zones":["gate"],"label":"person","last":"2026-11-25T09:19:10.499Z"}
        """#,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      var headers = NATSHeaders()
      while true {
        let line = input.line()
        guard let colon = line.firstIndex(of: ":") else { break }
        headers.add(
          String(line[line.index(after: colon)...].drop { $0 == " " }), for: String(line[..<colon]))
      }
      let message = NATSMessage("glp.cmd.cam", headers: headers, payload: input.bytes)
      for kind in [BrokerRequest.Kind.read, .command] {
        guard let request = try? BrokerRequest(message, kind, of: "cam", mostBytes: 1024) else { continue }
        try must(message.payload.count <= 1024, "a body of \(message.payload.count) bytes")
        try must(request.limit >= .zero && request.limit <= .seconds(600), "it waits for \(request.limit)")
        let path = request.request.uri.path
        let isAbout =
          path.hasPrefix("/cameras/cam/") || path == "/api/cameras/cam" || path.hasPrefix("/api/cameras/cam/")
          || path == "/api/frame.jpeg"
        try must(isAbout && !path.split(separator: "/").contains(".."), "a request for \(path)")
        guard kind == .read else { continue }
        let isRead = request.request.method == .get || request.request.method == .head
        try must(isRead && request.role == .read, "a picture is asked for by \(request.request.method)")
      }
      // The same bytes as an event.
      guard let event = RelayedEvent(json: message.payload) else { return }
      let told = event.json(from: "node")
      try must(!told.contains { $0 == 0x0A || $0 == 0x0D }, "an event of several lines")
      try must(RelayedEvent(json: told) == nil, "an event would go round")
      try must(event.type != "service" || event.camera == nil, "a camera is named by an event of a node")
    })
  /// The first byte says how a peer's stream of events is cut into pieces; then the stream.
  static let eventStream = FuzzTarget(
    name: "event-stream", longest: 4096,
    words: [
      "id: e-5\n", "event: view\n", "data: ", "data: {}\n\n", ": still here\n\n", "retry: 3000\n", "\r\n",
      "\n\n",
      "event: lost\n",
    ],
    seeds: {
      [
        "\u{3}retry: 3000\nid: e-4\n\nid: e-5\nevent: view\ndata: {\ndata: }\n\n: still here\n\n",
        "zevent: lost\ndata: {\"events\":3}\n\ndata\nid\r\n\r\n",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let piece = Int(input.byte()) + 1
      let bytes = input.bytes
      var (whole, cut) = (EventStreamParser(), EventStreamParser())
      var messages: [EventStreamParser.Message] = []
      for start in stride(from: 0, to: bytes.count, by: piece) {
        messages += cut.read(bytes[start..<min(start + piece, bytes.count)])
      }
      try must(whole.read(bytes) == messages && whole.lastID == cut.lastID, "pieces of \(piece) matter")
      let isHeader = cut.lastID?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") } ?? true
      try must(isHeader && cut.lastID?.isEmpty != true, "an id that is no field's value")
      try must(messages.allSatisfy { $0.data.count <= RelayedEvent.longest }, "an event is too long")
    })
}
