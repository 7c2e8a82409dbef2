import NIOCore
import Testing

@testable import NATS

@Suite("NATS commands")
struct CommandTests {
  private static func bytes(_ command: NATSCommand) throws(NATSError) -> String {
    var buffer = ByteBuffer()
    try command.write(into: &buffer)
    return String(buffer: buffer)
  }

  @Test("commands are encoded as the NATS protocol specifies")
  func commands() throws {
    #expect(try Self.bytes(.ping) == "PING\r\n")
    #expect(try Self.bytes(.pong) == "PONG\r\n")
    #expect(try Self.bytes(.connect("{}")) == "CONNECT {}\r\n")
    #expect(try Self.bytes(.subscribe("a.*.>", queue: nil, id: 3)) == "SUB a.*.> 3\r\n")
    #expect(try Self.bytes(.subscribe("a", queue: "q", id: 4)) == "SUB a q 4\r\n")
    #expect(try Self.bytes(.unsubscribe(4)) == "UNSUB 4\r\n")
    #expect(try Self.bytes(.publish(NATSMessage("a", payload: [UInt8](text: "hi")))) == "PUB a 2\r\nhi\r\n")
    let message = NATSMessage("a", reply: "b", headers: ["X": "1"], payload: [UInt8](text: "hi"))
    #expect(try Self.bytes(.publish(message)) == "HPUB a b 18 20\r\nNATS/1.0\r\nX: 1\r\n\r\nhi\r\n")
    #expect(message.headers.encodedCount == 18)
  }

  @Test(
    "a subject, reply or queue name with spaces, control characters or empty parts is rejected",
    arguments: [
      "", " ", "a b", "a\tb", "a\r\nPUB b 0\r\n", "a\nb", "a\rb", "a\0b", "a\u{7F}", ".a", "a.", "a..b",
      String(repeating: "a", count: 1025),
    ])
  func injection(name: String) {
    for command: NATSCommand in [
      .publish(NATSMessage(name)), .publish(NATSMessage("a", reply: name)),
      .subscribe(name, queue: nil, id: 1),
    ] {
      #expect(throws: NATSError.invalidSubject(name)) { try Self.bytes(command) }
    }
    guard !name.contains(".") else { return }
    #expect(throws: NATSError.invalidSubject(name)) { try Self.bytes(.subscribe("a", queue: name, id: 1)) }
  }

  @Test("a rejected command leaves the buffer unchanged")
  func whole() {
    var buffer = ByteBuffer(string: "PING\r\n")
    let message = NATSMessage("a", headers: ["A": "b\r\nPUB x 0"])

    #expect(throws: NATSError.invalidHeader("A")) { try NATSCommand.publish(message).write(into: &buffer) }
    #expect(String(buffer: buffer) == "PING\r\n")
  }

  @Test("wildcards are accepted only in subscriptions, and > only at the end")
  func wildcards() {
    for subject in ["*", ">", "a.*", "a.>", "a.*.b"] {
      #expect(throws: NATSError.invalidSubject(subject)) { try NATSSubject.check(subject) }
      #expect(throws: Never.self) { try NATSSubject.checkPattern(subject) }
    }
    #expect(throws: NATSError.invalidSubject(">.a")) { try NATSSubject.checkPattern(">.a") }
    #expect(throws: Never.self) { try NATSSubject.check("a*.b>") }
  }

  @Test(
    "header names and values that could add lines are rejected",
    arguments: [
      ("", "a"), ("A B", "a"), ("A:", "a"), ("A\r\n", "a"), ("Ä", "a"), ("A", "b\nC: d"), ("A", "b\rc"),
      ("A", "\0"),
    ])
  func headers(name: String, value: String) {
    var headers = NATSHeaders()
    headers.add(value, for: name)
    var buffer = ByteBuffer()

    #expect(throws: NATSError.invalidHeader(name)) { try headers.write(into: &buffer) }
    #expect(buffer.readableBytes == 0)
  }

  @Test("CONNECT is a single line, whatever the credentials contain")
  func connect() throws {
    let secret = "a\"b\r\nPUB x 0\r\n"
    let options = try ConnectOptions(
      .user(secret, password: secret), name: secret, isEncrypted: false, nonce: nil)
    let line = try Self.bytes(.connect(try options.json))

    #expect(line.utf8.dropLast(2).allSatisfy { $0 >= 0x20 })
    #expect(throws: NATSError.self) { try Self.bytes(.connect("{}\r\nPUB x 0")) }
  }
}

@Suite("NATS headers")
struct HeaderTests {
  @Test("headers are read back as written")
  func roundTrip() throws {
    var headers: NATSHeaders = ["A": "1", "B": ""]
    headers.add("2", for: "A")
    var buffer = ByteBuffer()
    try headers.write(into: &buffer)

    let read = try #require(NATSHeaders(Array(buffer.readableBytesView)))

    #expect(read == headers)
    #expect(read.values(for: "A") == ["1", "2"])
    #expect(read["A"] == "1" && read["B"] == "" && read["a"] == nil)
    headers["A"] = "3"
    #expect(headers.values(for: "A") == ["3"])
    headers["A"] = nil
    #expect(headers.fields.map(\.name) == ["B"])
  }

  @Test("a status line has a code and an optional text")
  func status() throws {
    let bare = try #require(NATSHeaders([UInt8](text: "NATS/1.0 503\r\n\r\n")))
    let full = try #require(
      NATSHeaders([UInt8](text: "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 3\r\n\r\n")))

    #expect(bare.status == 503 && bare.statusText == "")
    #expect(full.status == 100 && full.statusText == "Idle Heartbeat" && full["Nats-Last-Consumer"] == "3")
  }

  @Test(
    "malformed headers are rejected",
    arguments: [
      "", "NATS/1.0", "NATS/1.0\r\n", "HTTP/1.1 200\r\n\r\n", "NATS/1.05\r\n\r\n", "NATS/1.0 5\r\n\r\n",
      "NATS/1.0 abc\r\n\r\n",
      "NATS/1.0 +12\r\n\r\n", "NATS/1.0\r\nA\r\n\r\n", "NATS/1.0\r\n: a\r\n\r\n",
      "NATS/1.0\r\n\r\nA: b\r\n\r\n",
    ])
  func refusals(text: String) {
    #expect(NATSHeaders([UInt8](text: text)) == nil)
  }
}
