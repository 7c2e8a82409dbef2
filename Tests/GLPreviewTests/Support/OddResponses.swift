// Responses as cameras send them, not quite HTTP, for the tests of what reads them.
import Testing

/// How a camera answers with one picture, and closes the connection after it.
struct OddResponse: Sendable, CustomTestStringConvertible {
  let manner: String
  /// Of an answer with a body of so many bytes.
  let head: @Sendable (_ count: Int) -> String

  var testDescription: String { manner }

  init(_ manner: String, _ head: @escaping @Sendable (_ count: Int) -> String) {
    (self.manner, self.head) = (manner, head)
  }

  func bytes(_ body: [UInt8]) -> [UInt8] { Array(head(body.count).utf8) + body }

  static let all: [OddResponse] = lines + lengths + starts

  private static let lines: [OddResponse] = [
    OddResponse("a date without a name, as GoAhead sends it") {
      "HTTP/1.1 200 OK\r\nServer: GoAhead\r\nTue, 12 Jun 2012 01:56:34 GMT\r\nContent-Type:image/jpeg\r\n"
        + "Content-Length:\($0)\r\n\r\n"
    },
    OddResponse("lines that end in LF") {
      "HTTP/1.1 200 OK\nContent-Type: image/jpeg\nContent-Length: \($0)\n\n"
    },
    OddResponse("one line that ends in LF") {
      "HTTP/1.0 200 OK\r\nX-Channel: 2\nContent-Type: image/jpeg\r\nContent-Length: \($0)\r\n\r\n"
    },
    OddResponse("an empty line of LF") {
      "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: \($0)\r\n\n"
    },
    OddResponse("spaces before colons") {
      "HTTP/1.1 200 OK\r\nContent-Type : image/jpeg\r\nContent-Length\t: \($0)\r\n\r\n"
    },
    OddResponse("folded lines") {
      "HTTP/1.1 200 OK\r\nContent-Type:\r\n image/jpeg\r\nContent-Length:\r\n\t\($0)\r\n\r\n"
    },
    OddResponse("a space before the first field") {
      "HTTP/1.1 200 OK\r\n Content-Type: image/jpeg\r\nContent-Length: \($0)\r\n\r\n"
    },
    OddResponse("control characters") {
      "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\u{1}\r\nServer: \u{0}\u{8}x\u{7F}\r\nContent-Length: \($0)\r\n\r\n"
    },
    OddResponse("names with brackets, blanks and letters that they can't have") {
      "HTTP/1.1 200 OK\r\nX[1]: 2\r\nX Y: 1\r\n\u{E9}: 1\r\n: 3\r\nno colon\r\nContent-Type: image/jpeg\r\nContent-Length: \($0)\r\n\r\n"
    },
    OddResponse("the status twice") {
      "HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: \($0)\r\n\r\n"
    },
  ]

  private static let lengthFields: [(manner: String, field: @Sendable (Int) -> String)] = [
    ("the same length twice", { "Content-Length: \($0)\r\nContent-Length: \($0)" }),
    ("a length as a list", { "Content-Length: \($0), \($0)" }),
    ("a length of -1", { _ in "Content-Length: -1" }),
    ("a length with a unit", { "Content-Length: \($0) bytes" }),
    ("an empty length", { _ in "Content-Length:" }),
    ("a length with a sign", { "Content-Length: +\($0)" }),
    ("a length that nothing has", { _ in "Content-Length: 99999999999999999999" }),
    ("a length after one that is none", { "Content-Length: -1\r\nContent-Length: \($0)" }),
    ("a coding that does nothing", { "Transfer-Encoding: identity\r\nContent-Length: \($0)" }),
    ("a body that is called chunked and is not", { _ in "Transfer-Encoding: chunked" }),
    ("no length", { _ in "Connection: keep-alive" }),
  ]

  private static let lengths: [OddResponse] = lengthFields.map { manner, field in
    OddResponse(manner) { "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n\(field($0))\r\n\r\n" }
  }

  private static let starts: [OddResponse] = [
    "ICY 200 OK", "HTTP/1.01 200 OK", "HTTP 200", "http/1.1 200 ok", "HTTP/1.1  200\tfine", "HTTP/1.1 200",
    "\r\n\nHTTP/1.1 200 OK", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
    "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\nLink: x\r\n\r\nHTTP/1.1 200 OK",
  ].map { start in
    OddResponse(start) { "\(start)\r\nContent-Type: image/jpeg\r\nContent-Length: \($0)\r\n\r\n" }
  }
}
