// What RTSP clients send, and how they want their packets.
import NIOCore
import Testing

@testable import RTSP

@Suite("RTSP requests")
struct RTSPRequestTests {
  private static func messages(_ parts: [ArraySlice<UInt8>]) throws -> [RTSPParser.Message] {
    var parser = RTSPParser()
    var messages: [RTSPParser.Message] = []
    for part in parts {
      parser.append(ByteBuffer(bytes: part))
      while let message = try parser.next() { messages.append(message) }
    }
    return messages
  }

  @Test("RTSP requests and interleaved packets are parsed alike wherever their bytes are split")
  func cuts() throws {
    let text =
      "\r\nDESCRIBE rtsp://host/door/main RTSP/1.0\r\nCSeq: 2\r\nAccept:  application/sdp \r\nRequire: a\r\nrequire: b\r\n\r\n"
    let bytes =
      Array(text.utf8) + [0x24, 1, 0, 5] + Array("\r\n\r\n$".utf8) + [0x24, 3, 0, 0]
      + Array(
        "GET_PARAMETER * RTSP/1.0\r\nCSeq: 3\r\nContent-Length: 4\r\nSession: ab;timeout=60\r\n\r\n$abc".utf8)
      + [0x24, 1, 0, 1, 9]
    let expected: [RTSPParser.Message] = [
      .request(
        RTSPRequest(
          method: "DESCRIBE", url: "rtsp://host/door/main",
          fields: ["cseq": "2", "accept": "application/sdp", "require": "a,b"])),
      .packet(channel: 1, Array("\r\n\r\n$".utf8)), .packet(channel: 3, []),
      .request(
        RTSPRequest(
          method: "GET_PARAMETER", url: "*",
          fields: ["cseq": "3", "content-length": "4", "session": "ab;timeout=60"])),
      .packet(channel: 1, [9]),
    ]
    #expect(try Self.messages([bytes[...]]) == expected)
    #expect(try Self.messages(bytes.indices.map { bytes[$0...$0] }) == expected)
    for cut in bytes.indices { #expect(try Self.messages([bytes[..<cut], bytes[cut...]]) == expected) }
    guard case .request(let last) = expected[3] else { return }
    #expect(last.session == "ab" && last.sequenceNumber == 3 && last.required == nil)
    guard case .request(let first) = expected[0] else { return }
    #expect(first.required == "a,b")
  }

  @Test(
    "an invalid RTSP request throws an error with a status and a reason",
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", 400), ("OPTIONS * RTSP/2.0\r\n\r\n", 505), ("OPTIONS *\r\n\r\n", 400),
      ("options * RTSP/1.0\r\n\r\n", 400), ("OPTIONS a\u{7}b RTSP/1.0\r\n\r\n", 400),
      ("OPTIONS * RTSP/1.0\r\nnothing\r\n\r\n", 400),
      ("OPTIONS * RTSP/1.0\r\nContent-Length: -1\r\n\r\n", 400),
      ("OPTIONS * RTSP/1.0\r\nContent-Length: 99999999\r\n\r\n", 413),
      (String(repeating: "a", count: RTSPParser.mostBytes), 413),
      ("OPTIONS * RTSP/1.0\r\n" + String(repeating: "a: b\r\n", count: 2000) + "\r\n", 400),
    ])
  func mistakes(text: String, status: Int) {
    let error = #expect(throws: RTSPError.self) { _ = try Self.messages([Array(text.utf8)[...]]) }
    #expect(error?.status == status)
    #expect(error?.reason.isEmpty == false)
  }

  @Test(
    "an RTSP URL is parsed into a camera and a view, without query and track",
    arguments: [
      ("rtsp://host/door/main", "door", "main"), ("RTSP://u:p@host:8554/door/main/trackID=0", "door", "main"),
      ("rtsp://[::1]:8554/door/", "door", nil), ("rtsp://host", nil, nil), ("rtsp://host/", nil, nil),
      ("rtsp://host//d%20r//m", "d r", "m"), ("rtsp://host/door/main?video&audio", "door", "main"),
      ("rtsp://host/door?token=a/b/c/trackID=0", "door", nil), ("rtsp://host/?fps=1", nil, nil),
    ] as [(String, String?, String?)])
  func urls(url: String, camera: String?, view: String?) throws {
    let target = try RTSPTarget(url)
    #expect(target.camera == camera && target.view == view)
  }

  @Test(
    "URLs that are not rtsp://, or have too many path components, are rejected",
    arguments: [
      "*", "http://host/door", "rtsp:door", "rtsp://host/a/b/c", "rtsp://host/a/b/c?fps=1",
    ])
  func otherURLs(url: String) { #expect(throws: RTSPError.self) { try RTSPTarget(url) } }

  @Test(
    "the first supported transport of a Transport header is selected, or none",
    arguments: [
      ("RTP/AVP/TCP;unicast;interleaved=2-3", .interleaved(2, 3)), ("RTP/AVP/TCP", .interleaved(0, 1)),
      ("RTP/AVP;unicast;client_port=5000-5001", .datagrams(rtp: 5000, rtcp: 5001)),
      ("RTP/AVP/UDP;client_port=5000", .datagrams(rtp: 5000, rtcp: 5001)),
      ("RTP/AVP;multicast;client_port=5000-5001,RTP/AVP/TCP;interleaved=0-1", .interleaved(0, 1)),
      ("RTP/SAVP;client_port=5000-5001", nil), ("RTP/AVP;client_port=80-81", nil), ("RTP/AVP", nil),
      ("", nil),
      ("RTP/AVP/TCP;interleaved=1-1", nil), ("RTP/AVP/TCP;interleaved=255-256", nil),
      ("RTP/AVP;client_port=65535-65536", nil), ("RTP/AVP/TCP;interleaved=0-1;mode=record", nil),
      ("RTP/AVP;client_port=a-b", nil), ("RTP/AVP;client_port=6000-7000-8000", nil),
    ] as [(String, RTSPTransport?)])
  func transports(field: String, transport: RTSPTransport?) { #expect(RTSPTransport(field) == transport) }

  @Test("a Digest header is parsed into its parameters, including quoted commas")
  func parameters() {
    let field = #"username="a, b", realm="glpreview",nonce=12ab , uri="rtsp://h/x=y", response="77""#
    #expect(
      RTSPAccess.parameters(field[...]) == [
        "username": "a, b", "realm": "glpreview", "nonce": "12ab", "uri": "rtsp://h/x=y", "response": "77",
      ])
  }
}
