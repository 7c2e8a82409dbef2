// What a camera's server says: its address, its head, the parts that it sends.
@testable import CaptureHTTP
@testable import GLPreview
@testable import VideoFormats

#if FFmpeg
  @testable import CaptureFFmpeg
#endif

extension FuzzTarget {
  /// The first byte says how the body is cut into pieces; then the announced boundary, a newline, and the body.
  static let multipart = FuzzTarget(
    name: "multipart", longest: 2048,
    words: [
      "--frame", "\r\n", "\r\n\r\n", "Content-Type: image/jpeg", "Content-Length: 12", "X-Timestamp: 1.5",
      "\u{FF}\u{D8}\u{FF}", "\u{FF}\u{D9}", "--", "99999999999999999999", "\u{89}PNG\r\n\u{1A}\n", "IEND",
      "image/png",
    ],
    seeds: {
      var (parts, bare) = ([UInt8](), [UInt8]())
      for jpeg in try PictureSeeds.jpegs.prefix(2) {
        let head = "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
        parts += [UInt8](head.utf8) + jpeg + [13, 10]
        bare += [UInt8]("--frame\n\n".utf8) + jpeg
      }
      let (announced, end) = ([UInt8]("frame\n".utf8), [UInt8]("--frame--\r\n".utf8))
      return [[255] + announced + parts + end, [3, 10] + bare, [0] + [UInt8]("--".utf8) + announced + parts]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let piece = Int(input.byte()) + 1
      let boundary = input.line()
      let bytes = input.bytes
      let limit = 512
      var parser = MultipartParser(boundary: boundary.isEmpty ? nil : boundary, pictureLimit: limit)
      var hasEnded = false
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let events = parser.take(bytes[start..<min(start + piece, bytes.count)], at: .start)
        try must(!hasEnded || events.isEmpty, "something comes after the end")
        for event in events {
          switch event {
          case .picture(let picture):
            try must(
              (1...limit).contains(picture.bytes.count), "a picture of \(picture.bytes.count) bytes")
            try must(PictureStart.isAtStart(of: picture.bytes[...]) == true, "a picture that is none")
          case .damaged(let reason): try must(!reason.isEmpty, "damage without a reason")
          case .unusable: hasEnded = true
          case .sample: throw FuzzFault("JPEGs became video")
          }
        }
        let waiting = parser.waitingByteCount
        try must(waiting <= limit + MultipartParser.headerLimit + piece, "\(waiting) bytes wait")
      }
      _ = parser.finish()
    })

  /// The first byte says how the body is cut into pieces; then fragments of MP4.
  static let fragments = FuzzTarget(
    name: "fragments", longest: 4096,
    words: [
      "moov", "moof", "mdat", "trak", "mdia", "minf", "stbl", "stsd", "avc1", "avcC", "clap", "traf", "tfdt",
      "trun", "\0\0\0\u{8}", "\u{FF}\u{FF}\u{FF}\u{FF}",
    ],
    seeds: {
      let format = H264Format(
        sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
        size: Size(width: 13, height: 12), encoder: .x264)
      var (mp4, bytes) = (FragmentedMP4(), [UInt8]())
      for index in 0..<3 {
        bytes += mp4.append(
          VideoSample(
            bytes: [0, 0, 0, 4, index == 0 ? 0x65 : 0x41, 0x9A, 0x88, 0x84], isKey: index == 0,
            timestamp: .start + .seconds(index), format: format))
      }
      return [[255] + bytes, [6] + bytes]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let piece = Int(input.byte()) + 1
      let bytes = input.bytes
      // As a recording that was not finished.
      let recording = MP4Recording(size: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
      if let recording {
        try must(
          recording.byteCount <= bytes.count && recording.lengthOffset + 20 <= bytes.count,
          "a recording is longer than its file")
      }
      var options = SourceOptions(maximumPixels: 1 << 20)
      options.maximumPictureBytes = 512
      var stream = FragmentStream(options)
      for start in stride(from: 0, to: bytes.count, by: piece) {
        for event in stream.take(bytes[start..<min(start + piece, bytes.count)], at: .start) {
          switch event {
          case .sample(let sample):
            try must(sample.format.size.pixelCount <= 1 << 20, "a picture of \(sample.format.size)")
            try must(sample.bytes.count <= 2 * options.pictureLimit, "\(sample.bytes.count) bytes")
          case .damaged(let reason): try must(!reason.isEmpty, "damage without a reason")
          case .unusable: return
          case .picture: throw FuzzFault("video became JPEGs")
          }
        }
        let waiting = stream.waitingByteCount
        try must(waiting <= FragmentedMP4Reader.boxLimit + piece, "\(waiting) bytes wait")
      }
    })

  /// The first byte says how the rest, a camera's responses, is cut into pieces.
  static let httpResponse = FuzzTarget(
    name: "http-response", longest: 1024,
    words: [
      "HTTP/1.1 200 OK\r\n", "HTTP/1.0 401 ", "HTTP/1.1 100 Continue\r\n\r\n", "ICY 200 OK\n",
      "Content-Length: ",
      "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "\r\n\r\n", "\n\n", "\r\n ", "0\r\n\r\n",
      "99999999999999999999",
      ": ", ",", "-1",
    ],
    seeds: {
      [
        "\u{7}HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: 7\r\n\r\npictureHTTP/1.1 304 No\r\n\r\n",
        "\u{1}ICY 200 OK\nTue, 12 Jun 2012 01:56:34 GMT\nContent-Length: -1\nX:\n y\n\npicture",
        "\0HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\npict\r\n3\nure\r\n0\r\nX: y\r\n\r\n",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let piece = Int(input.byte()) + 1
      let bytes = input.bytes
      let whole = try responses(in: bytes, piece: max(bytes.count, 1))
      let cut = try responses(in: bytes, piece: piece)
      try must(whole == cut, "what is read depends on how it is cut")
    })

  /// The responses in `bytes`; bodies in one piece.
  private static func responses(in bytes: [UInt8], piece: Int) throws(FuzzFault) -> [HTTPResponseParser.Event]
  {
    var parser = HTTPResponseParser()
    var found: [HTTPResponseParser.Event] = []
    var (bodyCount, hasFailed) = (0, false)
    for start in stride(from: 0, to: bytes.count, by: piece) {
      for event in parser.take(bytes[start..<min(start + piece, bytes.count)]) {
        try must(!hasFailed, "something comes after a failure")
        switch event {
        case .head(let head):
          let isPlain = head.fields.allSatisfy { field in
            field.name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
              && field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
          }
          try must(isPlain, "a field with control characters: \(head.fields)")
          try must(head.fields.count { $0.name == "content-length" } <= 1, "several lengths: \(head.fields)")
        case .body(let more):
          bodyCount += more.count
          try must(!more.isEmpty && bodyCount <= bytes.count, "\(bodyCount) bytes of \(bytes.count)")
          if case .body(let last)? = found.last {
            found[found.count - 1] = .body(last + more)
            continue
          }
        case .failed(let reason):
          try must(!reason.isEmpty, "a failure without a reason")
          hasFailed = true
        case .end: break
        }
        found.append(event)
      }
    }
    return found + parser.finish()
  }

  /// An address, and in a second line where it is redirected to.
  static let httpAddress = FuzzTarget(
    name: "http-address", longest: 256,
    words: [
      "http://", "https://", "[::1]", ":80", ":443", "@", "%41", "%00", "%", "..", "/../", "?", "#", "//",
      "\n",
      "user:pass@", "host", ":65536", "xn--",
    ],
    seeds: {
      [
        "http://host/\n/other", "https://user:p%40ss@[::1]:8443/a/b?c=d#e\n../../x?y",
        "HTTP://Host.Example:80\n//elsewhere/",
        "http://10.0.0.1:81/video.cgi?user=a&pwd=b\nhttps://10.0.0.1/v",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      guard let address = try? HTTPAddress(input.line()) else { return }
      try check(address)
      guard let next = try? address.following(input.line()) else { return }
      try check(next)
      let isTold = next.credentials != nil && next.credentials == address.credentials
      try must(!isTold || address.isTrusted(next.server), "a stranger gets the password")
    })

  private static func check(_ address: HTTPAddress) throws(FuzzFault) {
    try must((1...65535).contains(address.port), "port \(address.port)")
    try must(address.target.hasPrefix("/"), "target '\(address.target)'")
    let isPlain = (address.hostField + address.target).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    try must(isPlain, "'\(address.url)' can't be sent")
    guard let again = try? HTTPAddress(address.url) else {
      throw FuzzFault("'\(address.url)' can't be read again")
    }
    try must(
      again.server == address.server && again.target == address.target && again.credentials == nil,
      "'\(address.url)' is read again as '\(again.url)'")
  }

  /// Fields of an answer: the first line is `Content-Type`, the others are `WWW-Authenticate`.
  static let httpHead = FuzzTarget(
    name: "http-head", longest: 512,
    words: [
      "multipart/x-mixed-replace", "boundary=", "image/jpeg", "Basic", "Digest", "realm=", "nonce=", "qop=",
      "auth", "auth-int", "algorithm=", "MD5", "MD5-sess", "SHA-256", "opaque=", "stale=true", "\"", "\\",
      ", ",
    ],
    seeds: {
      [
        "multipart/x-mixed-replace; boundary=\"--frame\"\nBasic realm=\"cam\"",
        "image/jpeg\nDigest realm=\"a\\\"b\", nonce=\"12\", qop=\"auth,auth-int\", algorithm=SHA-256, opaque=\"x\"",
        "text/plain\nDigest realm=a, nonce=b, algorithm=MD5-sess, stale=true, Basic realm=\"c\"",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      // A head has no control characters: the parser leaves them out.
      let lines = input.lines().map { $0.filter { !$0.unicodeScalars.contains { $0.value < 0x20 } } }
      if case .multipart(let boundary?) = HTTPContent(contentType: lines.first) {
        try must(!boundary.isEmpty, "an empty boundary")
      }
      let challenges = HTTPChallenge.parse(Array(lines.dropFirst()))
      _ = HTTPAuthorization.isStale(challenges)
      let credentials = HTTPAddress.Credentials(user: "ann", password: "a \"b\" \\c")
      guard var answer = HTTPAuthorization(answering: challenges, credentials) else { return }
      let field = answer.field(target: "/video?a=b", clientNonce: "0123")
      guard field.hasPrefix("Digest ") else { return try must(field.hasPrefix("Basic "), field) }
      // What is quoted for the server is read back as it was said.
      let said = HTTPChallenge.parse([field]).first?.parameters ?? [:]
      let isEcho = challenges.contains {
        $0.scheme == "digest" && $0.parameters["nonce"] == said["nonce"]
          && ($0.parameters["realm"] ?? "") == said["realm"] && $0.parameters["opaque"] == said["opaque"]
      }
      try must(isEcho, "'\(field)' does not say what was asked")
    })

  #if FFmpeg
    /// An address for FFmpeg.
    static let streamAddress = FuzzTarget(
      name: "stream-address", longest: 256,
      words: [
        "rtsp://", "rtmp://", "srt://", "#transport=", "tcp", "udp", "automatic", "user:pass@", "password=",
      ],
      seeds: {
        [
          "rtsp://user:pass@host:554/live?user=a&password=b#transport=udp", "srt://host:9000?passphrase=c",
          "rtmp://host/app/key", "udp://@239.0.0.1:1234",
        ].inputs
      },
      body: .atOnce { (input) throws(FuzzFault) in
        let text = String(decoding: input, as: UTF8.self)
        guard let url = try? StreamURL(text) else { return }
        try must(text.hasPrefix(url.address), "FFmpeg is given another address: '\(url.address)'")
        try must(!url.address.utf8.contains(0), "an address with a zero byte")
        try must(url.scheme == url.scheme.lowercased(), "scheme '\(url.scheme)'")
        try must(url.transport != nil || url.address == text, "'\(text)' lost its end")
      })
  #endif
}
