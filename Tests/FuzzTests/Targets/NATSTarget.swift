import NIOCore

// What a NATS server, or whoever stands between, may send.
@testable import NATS

extension FuzzTarget {
  /// A server's bytes, all at once and byte by byte.
  static let nats = FuzzTarget(
    name: "nats", longest: 8192,
    words: [
      "INFO {", "\"max_payload\":", "\"connect_urls\":[", "\"tls_required\":true", "}\r\n", "MSG ", "HMSG ",
      "PING\r\n",
      "PONG\r\n", "+OK\r\n", "-ERR '", "'\r\n", "NATS/1.0", " 503", "\r\n\r\n", "Nats-Sequence: ",
      " 0\r\n\r\n",
      "$JS.ACK.s.c.1.1.1.1.0", "127.0.0.1:4222",
    ],
    seeds: {
      [
        "INFO {\"server_name\":\"a\",\"max_payload\":64,\"connect_urls\":[\"10.0.0.1:4222\",\"[::1]:1\"]}\r\nPING\r\n",
        "+OK\r\nPONG\r\nMSG a.b 1 2\r\nhi\r\nMSG a 18446744073709551615 r 0\r\n\r\n",
        "HMSG a 1 r 22 25\r\nNATS/1.0 503\r\nA: 1\r\n\r\nabc\r\n-ERR 'Stale Connection'\r\n",
        "HMSG a 1 $JS.ACK.s.c.1.1.1.1.0 12 12\r\nNATS/1.0\r\n\r\n\r\nHMSG a 1 3 3\r\nxyz\r\nPING\r\n",
        "MSG a 1 -1\r\n",
        "MSG a 1 99999999\r\n", "PING\n",
      ].map { Array($0.utf8) }
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let whole = try read(input, inPiecesOf: max(input.count, 1))
      let cut = try read(input, inPiecesOf: 1)
      try must(whole.operations == cut.operations && whole.error == cut.error, "cut bytes read otherwise")
    })

  private static func read(
    _ bytes: [UInt8], inPiecesOf size: Int
  ) throws(FuzzFault) -> (operations: [NATSParser.Operation], error: NATSProtocolError?) {
    var limits = NATSParser.Limits()
    (limits.line, limits.info, limits.payload, limits.headers) = (256, 1024, 512, 128)
    var parser = NATSParser(limits: limits)
    var operations: [NATSParser.Operation] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      parser.append(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
      while true {
        let operation: NATSParser.Operation?
        do throws(NATSProtocolError) { operation = try parser.next() } catch {
          try must(parser.bufferedBytes == 0, "bytes are kept after an error")
          return (operations, error)
        }
        guard let operation else { break }
        try check(operation, limits)
        operations.append(operation)
      }
      try must(
        parser.bufferedBytes <= max(limits.info, limits.payload + 2), "\(parser.bufferedBytes) bytes are kept"
      )
    }
    return (operations, nil)
  }

  private static func check(_ operation: NATSParser.Operation, _ limits: NATSParser.Limits) throws(FuzzFault)
  {
    switch operation {
    case .info(let info):
      try must(info.maximumPayload > 0, "a limit of \(info.maximumPayload) bytes")
      for url in info.connectURLs {
        guard let address = NATSServerAddress(url, listedBy: nil) else { continue }
        try must(
          NATSServerAddress(address.description, listedBy: nil) == address,
          "\(address) is read as another one")
      }
    case .message(let message, _):
      try must(message.payload.count <= limits.payload, "a payload of \(message.payload.count) bytes")
      try must(!message.subject.utf8.contains { $0 == 0x20 || $0 == 0x0A }, "a subject of several words")
      try must(message.reply != "", "an empty reply subject")
      var buffer = ByteBuffer()
      // What was read may be written again, or is refused.
      guard message.headers.status == nil, !message.headers.isEmpty,
        (try? message.headers.write(into: &buffer)) != nil
      else { return }
      try must(
        NATSHeaders(Array(buffer.readableBytesView)) == message.headers, "headers are written as others")
    default: break
    }
  }
}
