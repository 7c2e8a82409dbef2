// What a client may send after its connection has become a WebSocket: the service's own handlers, without a socket.
import NIOCore
import NIOEmbedded

@testable import ServiceFoundation

extension FuzzTarget {
  /// Frames, all at once and byte by byte.
  static let webSocket = FuzzTarget(
    name: "websocket", longest: 4096,
    words: [
      "\u{81}\u{80}abcd", "\u{81}\u{84}abcd", "\u{1}\u{80}abcd", "\0\u{80}abcd", "\u{80}\u{81}abcd",
      "\u{89}\u{80}abcd",
      "\u{8A}\u{80}abcd", "\u{88}\u{82}abcd", "\u{82}\u{80}abcd", "\u{FE}\0\u{7E}",
      "\u{FF}\0\0\0\0\0\u{1}\0\0",
      "\u{FF}\u{80}\0\0\0\0\0\0\0",
    ],
    seeds: {
      let text = frame(1, Array(#"{"type":"mse"}"#.utf8))
      let parts =
        frame(1, [0xC3], isLast: false) + frame(9, [1]) + frame(0, [0xBC], isLast: false) + frame(0, [])
      return [
        text + frame(9, [7]) + frame(10, []) + frame(8, [3, 232]), parts + text, frame(1, [0xFF]),
        frame(2, [1]),
        (0..<70).flatMap { _ in frame(1, []) }, frame(1, [UInt8](repeating: 97, count: 300)),
        frame(1, [], isLast: false) + (0..<70).flatMap { _ in frame(0, [], isLast: false) },
      ]
    },
    body: .waiting { (input) async throws(FuzzFault) in
      let whole = try await heard(input, inPiecesOf: max(input.count, 1))
      for text in whole.messages {
        try must(text.utf8.count <= WebSocket.longestMessage, "a message of \(text.utf8.count) bytes")
      }
      try must(whole.messages.count <= WebSocket.mostMessages, "\(whole.messages.count) messages wait")
      let cut = try await heard(input, inPiecesOf: 1)
      try must(cut.messages == whole.messages && cut.answers == whole.answers, "cut bytes read otherwise")
    })

  /// A client's frame, with a mask.
  private static func frame(_ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true) -> [UInt8] {
    let length: [UInt8] =
      payload.count < 126
      ? [0x80 | UInt8(payload.count)] : [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    let mask: [UInt8] = [1, 2, 3, 4]
    return [(isLast ? 0x80 : 0) | opcode] + length + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
  }

  /// The messages that the bytes come to, and the frames with which they are answered.
  private static func heard(
    _ bytes: [UInt8], inPiecesOf size: Int
  ) async throws(FuzzFault) -> (messages: [String], answers: [[UInt8]]) {
    let (stream, sender) = WebSocket.makeMessages()
    let answers = try answers(to: bytes, inPiecesOf: size, sender)
    sender.finish()
    var messages: [String] = []
    for await text in stream { messages.append(text) }
    return (messages, answers)
  }

  private static func answers(
    to bytes: [UInt8], inPiecesOf size: Int, _ sender: AsyncStream<String>.Continuation
  ) throws(FuzzFault) -> [[UInt8]] {
    let channel = EmbeddedChannel()
    let handler = WebSocketHandler(sender, on: channel.eventLoop, .seconds(30)) {}
    do {
      try channel.pipeline.syncOperations.addHandlers(WebSocket.handlers(before: handler))
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    } catch {
      throw FuzzFault("a connection that can't be made: \(error)")
    }
    for start in stride(from: 0, to: bytes.count, by: size) where channel.isActive {
      // What breaks the protocol ends the connection, and is no error of the channel.
      _ = try? channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
    }
    var answers: [[UInt8]] = []
    while let frame = try? channel.readOutbound(as: ByteBuffer.self) {
      answers.append(Array(frame.readableBytesView))
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
    for answer in answers {
      try must([0x88, 0x8A].contains(answer[0]), "an answer that is no pong and no close")
      try must(
        answer.count >= 2 && Int(answer[1]) == answer.count - 2 && answer[1] < 126,
        "a frame of another length")
    }
    let closes = answers.indices.filter { answers[$0][0] == 0x88 }
    try must(closes.isEmpty || closes == [answers.count - 1], "something follows a close")
    return answers
  }
}
