// Heads and bodies of responses, right and wrong, in pieces of any size.
import Testing

@testable import CaptureHTTP
@testable import GLPreview

@Suite("HTTPResponseParser")
struct HTTPResponseParserTests {
  private typealias Parser = HTTPResponseParser

  /// What comes of `bytes` in pieces that end at `cuts`, and of the connection's end; bodies in one piece.
  private func events(_ bytes: [UInt8], cuts: some Sequence<Int> = [Int]()) -> [Parser.Event] {
    var parser = Parser()
    var events: [Parser.Event] = []
    var start = 0
    for end in Array(cuts) + [bytes.count] where end > start && end <= bytes.count {
      events += parser.take(bytes[start..<end])
      start = end
    }
    events += parser.finish()
    return events.reduce(into: []) { joined, event in
      if case .body(let more) = event, case .body(let bytes)? = joined.last {
        joined[joined.count - 1] = .body(bytes + more)
      } else {
        joined.append(event)
      }
    }
  }

  private func events(_ text: String) -> [Parser.Event] { events(Array(text.utf8)) }

  private func heads(_ events: [Parser.Event]) -> [Parser.Head] {
    events.compactMap { if case .head(let head) = $0 { head } else { nil } }
  }

  private static let chunked: [String] = [
    "4\r\npict\r\n3\r\nure\r\n0\r\n\r\n", "4\npict\n3\nure\n0\n\n",
    "04;name=value\r\npict\r\n 3 \r\nure\r\n000\r\n\r\n",
    "4\r\npict3\r\nure0\r\n\r\n", "7\r\npicture\r\n0\r\nX-Sum: 1\r\nno field\r\n\r\n",
  ]

  @Test(
    "HTTPResponseParser reads each variant of a response, however its bytes are split",
    arguments: OddResponse.all)
  func manners(response: OddResponse) {
    let body = Array("picture".utf8)
    let bytes = response.bytes(body)
    let whole = events(bytes)

    #expect(whole.count == 3 && whole.dropFirst() == [.body(body), .end])
    #expect(heads(whole).first?.status == 200)
    #expect(heads(whole).first?.fields.first { $0.name == "content-type" }?.value == "image/jpeg")
    for cut in bytes.indices { #expect(events(bytes, cuts: [cut]) == whole, "cut at \(cut)") }
    for size in 1...5 {
      #expect(
        events(bytes, cuts: stride(from: size, to: bytes.count, by: size)) == whole, "pieces of \(size)")
    }
  }

  @Test(
    "the chunks of a body are joined, and chunked encoding overrides Content-Length", arguments: chunked,
    ["", "Content-Length: 3\r\n"])
  func chunks(body: String, field: String) {
    let bytes = Array("HTTP/1.1 200 OK\r\n\(field)Transfer-Encoding: chunked\r\n\r\n\(body)".utf8)
    let whole = events(bytes)

    #expect(whole.dropFirst() == [.body(Array("picture".utf8)), .end])
    for cut in bytes.indices { #expect(events(bytes, cuts: [cut]) == whole, "cut at \(cut)") }
  }

  @Test("consecutive responses on a connection are parsed, with blank lines between them")
  func several() {
    let found = events(
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        + "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nbut")

    #expect(heads(found).map(\.status) == [200, 304, 200, 200, 401])
    let rest = found.filter { if case .head = $0 { false } else { true } }
    #expect(
      rest == [
        .body(Array("one".utf8)), .end, .end, .body(Array("two".utf8)), .end, .end, .body(Array("but".utf8)),
      ], "the last is cut short")
  }

  @Test(
    "a connection is kept alive only if the end of the body is certain",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 1", "keep-alive"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 1, 1", "keep-alive"),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "keep-alive"), ("HTTP/1.1 304 OK", "keep-alive"),
      ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1", "keep-alive"),
      ("HTTP/1.0 200 OK\r\nContent-Length: 1", "close"),
      ("HTTP/1.1 200 OK\r\nConnection: TE, close\r\nContent-Length: 1", "close"),
      ("HTTP/1.1 200 OK", "close"), ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2", "close"),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1", "close"),
    ])
  func persistence(head: String, connection: String) {
    let fields = heads(events(head + "\r\n\r\n")).first?.fields.filter { $0.name == "connection" }
    #expect(fields?.map(\.value) == [connection])
  }

  @Test(
    "a response that is not HTTP or has an invalid chunk length fails with the reason",
    arguments: [
      ("SSH-2.0-OpenSSH_9.2\r\n", "it answers 'SSH-2.0-OpenSSH_9.2'"),
      ("HTTP/1.1 20\r\n", "it answers 'HTTP/1.1 20'"),
      ("HTTP/1.1\r\n", "it answers 'HTTP/1.1'"), ("\u{15}\u{3}\n", "it answers with other bytes"),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\nx\r\nmore", "a chunk has no length"
      ),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFF\r\n",
        "a chunk has no length"
      ),
    ])
  func refusals(text: String, reason: String) {
    #expect(events(text).last == .failed(reason))
    #expect(events(text + "HTTP/1.1 200 OK\r\n\r\n").last == .failed(reason), "nothing follows")
  }

  private static let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test(
    "an endless response head, chunk header or trailer fails as too large",
    arguments: [
      ("HTTP/1.1 200 ", "x"), ("HTTP/1.1 200 OK\r\nX: ", "x"), ("HTTP/1.1 200 OK\r\nX: ", "X: y\r\n"),
      ("", "\r\n"), ("", "HTTP/1.1 100 Continue\r\n\r\n"), (chunkedHead, "0"), (chunkedHead + "1;", "x"),
      (chunkedHead + "0\r\n", "x"), (chunkedHead + "0\r\n", "X: y\r\n"),
    ])
  func bounds(start: String, filler: String) {
    var parser = Parser()
    var found = parser.take(Array(start.utf8)[...])
    let piece = Array(String(repeating: filler, count: 100).utf8)
    for _ in 0..<2 * Parser.headLimit / 100 { found += parser.take(piece[...]) }

    #expect(found.last == .failed("its head is too large"))
    #expect(found.count <= 2)
  }

  @Test("randomly changed responses give the same events however their bytes are split")
  func fuzz() {
    var random = Sequence32(state: 0x2345_6789)
    let all =
      OddResponse.all.map { $0.bytes(markersOnly(1)) }
      + Self.chunked.map { Array((Self.chunkedHead + $0).utf8) }
    for round in 0..<400 {
      var bytes = all[random.below(all.count)] + all[random.below(all.count)]
      for _ in 0...random.below(4) where !bytes.isEmpty {
        let place = random.below(bytes.count)
        switch random.below(3) {
        case 0: bytes[place] = UInt8(random.below(256))
        case 1: bytes.removeSubrange(place..<min(place + 1 + random.below(20), bytes.count))
        default: bytes.insert(contentsOf: [13, 10, 13, 10].prefix(1 + random.below(4)), at: place)
        }
      }
      var cuts: [Int] = []
      while (cuts.last ?? 0) < bytes.count { cuts.append((cuts.last ?? 0) + 1 + random.below(30)) }
      #expect(events(bytes, cuts: cuts) == events(bytes), "round \(round)")
    }
  }
}
