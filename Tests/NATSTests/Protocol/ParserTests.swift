import NIOCore
import Testing

@testable import NATS

@Suite("NATS parser")
struct ParserTests {
  /// One of each operation.
  private static let conversation =
    "INFO {\"server_name\":\"a\",\"max_payload\":1048576}\r\nPING\r\n+OK\r\npong\r\nMSG a.b 7 2\r\nhi\r\nMSG\ta.b 7 back 0\r\n\r\n"
    + "HMSG a 8 12 15\r\nNATS/1.0\r\n\r\nabc\r\nHMSG a 8 r 22 22\r\nNATS/1.0 503\r\nA: 1\r\n\r\n\r\n"
    + "HMSG a 8 6 6\r\nrubish\r\nMSG a 8 5\r\na\r\nb\n\r\n-ERR 'Stale Connection'\r\n"

  /// What `bytes` are, in pieces of `size` bytes.
  private static func read(
    _ bytes: [UInt8], inPiecesOf size: Int = .max, limits: NATSParser.Limits = NATSParser.Limits()
  ) -> (operations: [NATSParser.Operation], error: NATSProtocolError?) {
    var parser = NATSParser(limits: limits)
    var operations: [NATSParser.Operation] = []
    var rest = bytes[...]
    do throws(NATSProtocolError) {
      while !rest.isEmpty {
        parser.append(ByteBuffer(bytes: rest.prefix(size)))
        rest = rest.dropFirst(size)
        while let operation = try parser.next() { operations.append(operation) }
      }
    } catch {
      return (operations, error)
    }
    return (operations, nil)
  }

  private static func read(_ text: String) -> (operations: [NATSParser.Operation], error: NATSProtocolError?)
  {
    read(Array(text.utf8))
  }

  @Test("every operation is parsed, and a message with invalid headers is reported as unreadable")
  func operations() throws {
    let (operations, error) = Self.read(Self.conversation)

    #expect(error == nil)
    try #require(operations.count == 11)
    guard case .info(let info) = operations[0] else { throw NATSError.timeout }
    #expect(info.name == "a" && info.maximumPayload == 1 << 20)
    #expect(operations[1...3] == [.ping, .ok, .pong])
    #expect(operations[4] == .message(NATSMessage("a.b", payload: [UInt8](text: "hi")), subscription: 7))
    #expect(operations[5] == .message(NATSMessage("a.b", reply: "back"), subscription: 7))
    #expect(operations[6] == .message(NATSMessage("a", payload: [UInt8](text: "abc")), subscription: 8))
    guard case .message(let answer, 8) = operations[7] else { throw NATSError.timeout }
    #expect(answer.headers.status == 503 && answer.headers["A"] == "1" && answer.reply == "r")
    #expect(operations[8] == .unreadable(subscription: 8))
    #expect(operations[9] == .message(NATSMessage("a", payload: [UInt8](text: "a\r\nb\n")), subscription: 8))
    #expect(operations[10] == .error("Stale Connection"))
  }

  @Test("operations are parsed equally wherever the bytes are split")
  func cuts() {
    let bytes = Array(Self.conversation.utf8)
    let whole = Self.read(bytes)

    for cut in 1..<bytes.count {
      var parser = NATSParser()
      var operations: [NATSParser.Operation] = []
      for piece in [bytes[..<cut], bytes[cut...]] {
        parser.append(ByteBuffer(bytes: piece))
        while let operation = try? parser.next() { operations.append(operation) }
      }
      #expect(operations == whole.operations, "cut at \(cut)")
      #expect(parser.bufferedBytes == 0)
    }
    for size in [1, 2, 3, 7] { #expect(Self.read(bytes, inPiecesOf: size).operations == whole.operations) }
  }

  @Test(
    "a protocol violation throws its specific error",
    arguments: [
      ("\r\n", NATSProtocolError.unknownOperation), ("MSGS a 1 0\r\n\r\n", .unknownOperation),
      ("PING\n", .noCarriageReturn), ("\n", .noCarriageReturn),
      ("MSG\r\n", .wrongArguments), ("MSG a 1\r\n", .wrongArguments), ("MSG a 1 b c 0\r\n", .wrongArguments),
      ("HMSG a 1 0\r\n", .wrongArguments), ("HMSG a 1 b c 0 0\r\n", .wrongArguments),
      ("MSG a 1 -1\r\n", .badNumber), ("MSG a 1 +1\r\n", .badNumber), ("MSG a 1 0x1\r\n", .badNumber),
      ("MSG a x 0\r\n", .badNumber), ("MSG a -1 0\r\n", .badNumber), ("MSG a 1 1e3\r\n", .badNumber),
      ("MSG a 1 9999999999999999999999\r\n", .badNumber),
      ("MSG a 1 999999999999999999\r\n", .payloadTooLarge(999_999_999_999_999_999, limit: 1 << 20)),
      ("MSG a 1 1048577\r\n", .payloadTooLarge(1_048_577, limit: 1 << 20)),
      ("HMSG a 1 0 1048577\r\n", .payloadTooLarge(1_048_577, limit: 1 << 20)),
      ("HMSG a 1 13 12\r\n", .headerBeyondPayload),
      ("MSG a 1 1\r\nabc", .noEndOfPayload), ("MSG a 1 3\r\na\r\nPING\r\n", .noEndOfPayload),
      ("INFO\r\n", .badInfo), ("INFO []\r\n", .badInfo), ("INFO {\"max_payload\":\"x\"}\r\n", .badInfo),
      ("INFO {\r\n", .badInfo),
    ])
  func refusals(text: String, error: NATSProtocolError) {
    #expect(Self.read(text).error == error)
    #expect(Self.read(Array(text.utf8), inPiecesOf: 1).error == error)
  }

  @Test("a line over 4 KiB, or an INFO line over 64 KiB, throws before it ends")
  func longLines() {
    let line = [UInt8](repeating: UInt8(ascii: "A"), count: 4097)
    #expect(Self.read(line).error == .lineTooLong(limit: 4096))
    #expect(Self.read(line, inPiecesOf: 100).error == .lineTooLong(limit: 4096))
    #expect(Self.read(Array(line.dropLast())).error == nil)

    let urls = String(repeating: "\"10.0.0.1:4222\",", count: 1000) + "\"10.0.0.2:4222\""
    guard case .info(let info)? = Self.read("INFO {\"connect_urls\":[\(urls)]}\r\n").operations.first else {
      Issue.record("no INFO")
      return
    }
    #expect(info.connectURLs.count == 1001)
    let endless = Array("INFO {".utf8) + [UInt8](repeating: 0x20, count: 1 << 16)
    #expect(Self.read(endless).error == .lineTooLong(limit: 1 << 16))
  }

  @Test("a message with oversized headers is reported as unreadable, and parsing continues")
  func longHeaders() {
    let value = String(repeating: "x", count: 1 << 16)
    let headers = "NATS/1.0\r\nA: \(value)\r\n\r\n"
    let text = "HMSG a 1 \(headers.utf8.count) \(headers.utf8.count)\r\n\(headers)\r\nPING\r\n"

    #expect(Self.read(text).operations == [.unreadable(subscription: 1), .ping])
  }

  @Test("a message with a non-UTF-8 subject is reported as unreadable, and parsing continues")
  func subjects() {
    let bytes = Array("MSG a.".utf8) + [0xFF] + Array(" 1 0\r\n\r\nPING\r\n".utf8)

    #expect(Self.read(bytes).operations == [.unreadable(subscription: 1), .ping])
  }

  @Test("a parser throws its first error again on later input, and buffers nothing")
  func finality() {
    var parser = NATSParser()
    parser.append(ByteBuffer(string: "NONSENSE\r\n"))
    #expect(throws: NATSProtocolError.unknownOperation) { try parser.next() }
    parser.append(ByteBuffer(string: "PING\r\n"))
    #expect(throws: NATSProtocolError.unknownOperation) { try parser.next() }
    #expect(parser.bufferedBytes == 0)
  }
}
