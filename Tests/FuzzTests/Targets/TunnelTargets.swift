// A tunnel to a camera: the address of its camera, the client's requests, and which certificate is trusted.
import PreviewCore

@testable import CaptureHTTP
@testable import GLPreview

extension FuzzTarget {
  /// The first byte says how the rest is cut into pieces; then the camera's address, a newline, and what a client sends.
  static let rtspTunnel = FuzzTarget(
    name: "rtsp-tunnel", longest: 1024,
    words: [
      "rtsps://", "user:p%40ss@", "[::1]", ":7441", "OPTIONS ", "rtsp://127.0.0.1:4/5ec2e7", " RTSP/1.0\r\n",
      "\r\n\r\n", "Authorization: Digest ", "nonce=\"a\"", " uri=\"", " response=\"", "qop=", "algorithm=MD5",
      "Content-Length: 5", "$\0\0\u{4}",
    ],
    seeds: {
      let local = "rtsp://127.0.0.1:4/5ec2e7"
      let digest =
        "Authorization: Digest username=\"user\", realm=\"a\", nonce=\"b\", uri=\"\(local)/live\", response=\"c\""
      return [
        "\u{7}rtsps://user:p%40ss@host:7441/live\nDESCRIBE \(local)/live RTSP/1.0\r\n\(digest)\r\nCSeq: 2\r\n\r\n",
        "\0rtsps://[::1]/a?b\nPLAY \(local) RTSP/1.0\r\nContent-Length: 3\r\n\r\nabc$\0\0\u{1}x",
        "\u{3}rtsps://host\nOPTIONS rtsp://127.0.0.1:4/ RTSP/1.0\r\n\r\n",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let piece = Int(input.byte()) + 1
      guard let address = try? RTSPSAddress(input.line()) else { return }
      try must((1...65535).contains(address.port), "port \(address.port)")
      try must(address.origin.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "'\(address.origin)' can't be sent")
      let local = "rtsp://127.0.0.1:4/5ec2e7"
      let bytes = input.bytes
      var whole = RTSPRequestRewriter(from: local, to: address)
      var cut = whole
      let sent = whole.take(bytes)
      var pieces: [UInt8]? = []
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let next = cut.take(bytes[start..<min(start + piece, bytes.count)])
        pieces = next.flatMap { next in pieces.map { $0 + next } }
      }
      try must(sent == pieces, "what is sent depends on how it is cut")
      guard let sent, !sent.isEmpty else { return }
      let line = sent[..<(sent.firstRange(of: Array("\r\n".utf8))?.lowerBound ?? sent.endIndex)]
      let head = String(decoding: line, as: UTF8.self)
      try must(head.contains(" \(address.origin)"), "a stranger's '\(head)' is sent on")
    })

  /// The word of a configuration that says which certificate is trusted.
  static let certificate = FuzzTarget(
    name: "certificate", longest: 128, words: ["any", "system", ":", "0123456789abcdef", "FF:", ".pem"],
    seeds: {
      [
        "any", "system", "certs/door.pem", String(repeating: "5F", count: 32),
        String(repeating: "a0:", count: 20),
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let text = String(decoding: input, as: UTF8.self)
      guard let trust = try? CertificateTrust(parsing: text) else { return }
      switch trust {
      case .file(let path): try must(path == text, "'\(text)' became the file '\(path)'")
      case .fingerprint(let fingerprint):
        try must(
          fingerprint.description == text.lowercased().filter { $0 != ":" }
            && fingerprint.description.utf8.count == 64,
          "'\(text)' became \(fingerprint)")
      case .system, .any: try must(trust.description == text, "'\(text)' became \(trust)")
      }
      try must((try? CertificateTrust(parsing: trust.description)) == trust, "\(trust) is read otherwise")
    })
}
