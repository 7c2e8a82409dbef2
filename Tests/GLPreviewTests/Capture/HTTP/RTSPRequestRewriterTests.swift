// What FFmpeg says to the loopback end of a tunnel, and what the camera is told.
import PreviewCore
import Testing

@testable import CaptureHTTP
@testable import GLPreview

@Suite("RTSP requests through a tunnel")
struct RTSPRequestRewriterTests {
  private static let local = "rtsp://127.0.0.1:40123/5ec2e7"

  private func rewriter(_ address: String = "rtsps://ann:p%40ss@camera:7441/live/main") throws
    -> RTSPRequestRewriter
  {
    RTSPRequestRewriter(from: Self.local, to: try RTSPSAddress(address))
  }

  private func sent(_ text: String, by rewriter: RTSPRequestRewriter) -> String? {
    var rewriter = rewriter
    return rewriter.take(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "an RTSPS address has port 322 by default",
    arguments: [
      ("rtsps://ann:p%40ss@Camera/live?a=b", "rtsps://camera:322", "ann:p%40ss@", "/live?a=b"),
      ("rtsps://[::1]:7441", "rtsps://[::1]:7441", "", ""),
      ("RTSPS://camera?x=1#y", "rtsps://camera:322", "", "?x=1#y"),
    ])
  func addresses(text: String, origin: String, user: String, rest: String) throws {
    let address = try RTSPSAddress(text)
    #expect(address.origin == origin)
    #expect(address.local(port: 40123, secret: "5ec2e7") == "rtsp://\(user)127.0.0.1:40123/5ec2e7\(rest)")
  }

  @Test(
    "an RTSPS address without a host or with an invalid port is rejected",
    arguments: ["rtsps://", "rtsps://a:b/", "rtsps:///x"])
  func mistakes(text: String) { #expect(throws: ParameterError.self) { try RTSPSAddress(text) } }

  @Test("requests are rewritten to the camera's address, however their bytes are split")
  func requests() throws {
    let text =
      "OPTIONS \(Self.local)/live/main RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: Lavf\r\n\r\n"
      + "$\u{1}\u{0}\u{4}\r\n\r\n"
      + "SETUP rtsps://10.0.0.7/track1 RTSP/1.0\r\nCSeq: 2\r\nContent-Length: 6\r\n\r\n\(Self.local.prefix(6))"
      + "PLAY \(Self.local) RTSP/1.0\r\n\r\n"
    let expected =
      "OPTIONS rtsps://camera:7441/live/main RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: Lavf\r\n\r\n"
      + "$\u{1}\u{0}\u{4}\r\n\r\n"
      + "SETUP rtsps://10.0.0.7/track1 RTSP/1.0\r\nCSeq: 2\r\nContent-Length: 6\r\n\r\nrtsp:/"
      + "PLAY rtsps://camera:7441 RTSP/1.0\r\n\r\n"
    #expect(sent(text, by: try rewriter()) == expected)

    var rewriter = try rewriter()
    var bytes: [UInt8] = []
    for byte in text.utf8 { bytes += rewriter.take([byte]) ?? [] }
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }

  // Computed with Python's hashlib.
  @Test(
    "a Digest response is recomputed for the camera's address, and Basic is unchanged",
    arguments: [
      (
        "DESCRIBE", "/live/main", "", "cacebe9771632e5c62142c2f947be773"
      ),
      (
        "SETUP", "/live/main/track1",
        ", algorithm=\"MD5\", opaque=\"o\", qop=\"auth\", cnonce=\"xyz\", nc=00000001",
        "000f9d173dbba3f6af9a65b5f6ee5781"
      ),
    ])
  func digests(method: String, path: String, more: String, response: String) throws {
    func request(_ base: String, _ response: String) -> String {
      "\(method) \(base)\(path) RTSP/1.0\r\nAuthorization: Digest username=\"ann\", realm=\"cam\", nonce=\"abc\", "
        + "uri=\"\(base)\(path)\", response=\"\(response)\"\(more)\r\nCSeq: 3\r\n\r\n"
    }
    let expected = request("rtsps://camera:7441", response)
    #expect(sent(request(Self.local, "0123456789abcdef"), by: try rewriter()) == expected)

    let basic = " RTSP/1.0\r\nAuthorization: Basic YW5uOnBAc3M=\r\n\r\n"
    #expect(sent("PLAY \(Self.local)/x\(basic)", by: try rewriter()) == "PLAY rtsps://camera:7441/x\(basic)")
  }

  @Test(
    "a request without the tunnel's secret or with an endless head is rejected",
    arguments: [
      "OPTIONS rtsp://127.0.0.1:40123/live/main RTSP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
      "$\u{0}\u{0}\u{1}x", "\r\n\r\n", String(repeating: "x", count: RTSPRequestRewriter.headLimit + 5),
      "OPTIONS * RTSP/1.0\r\n\r\nOPTIONS \(local)/ RTSP/1.0\r\n\r\n",
    ])
  func strangers(text: String) throws {
    var rewriter = try rewriter()
    for next in [text, "OPTIONS \(Self.local)/ RTSP/1.0\r\n\r\n"] {
      let sent = rewriter.take(Array(next.utf8))
      #expect(sent == nil)
    }
  }
}
