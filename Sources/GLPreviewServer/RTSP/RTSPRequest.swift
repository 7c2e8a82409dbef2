// Requests of RTSP clients (RFC 2326), parsed from a connection's bytes.
internal import NIOCore

struct RTSPRequest: Sendable, Hashable {
  let method: String
  let url: String
  /// By names in lower case.
  let fields: [String: String]

  var sequenceNumber: Int? { fields["cseq"].flatMap { Int($0) } }

  /// Features that the client requires of this server (RFC 2326, 12.32 and 12.27); nil if there are none.
  var required: String? {
    let features = ["require", "proxy-require"].compactMap { fields[$0] }.filter { !$0.isEmpty }
    return features.isEmpty ? nil : features.joined(separator: ", ")
  }

  /// The session's name, without its parameters.
  var session: String? { fields["session"].map { String($0.prefix { $0 != ";" }).trimmed } }
}

/// Why a request or the connection fails.
struct RTSPError: Error, Hashable {
  let status: Int
  let reason: String
}

/// Parses requests, and the packets interleaved with them, from a connection's bytes.
struct RTSPParser {
  enum Message: Sendable, Hashable {
    case request(RTSPRequest)
    case packet(channel: UInt8, [UInt8])
  }

  /// The largest request without its body, and the largest body.
  static let mostBytes = 16 << 10
  private static let mostFields = 64
  private static let end = Array("\r\n\r\n".utf8)
  private var received = ByteBuffer()
  /// The remaining bytes of a body, which no request here needs.
  private var skipped = 0

  mutating func append(_ bytes: ByteBuffer) {
    received.discardReadBytes()
    received.writeImmutableBuffer(bytes)
  }

  /// The next message; nil until more has been received.
  mutating func next() throws(RTSPError) -> Message? {
    let part = min(skipped, received.readableBytes)
    received.moveReaderIndex(forwardBy: part)
    skipped -= part
    let blank = received.readableBytesView.prefix { $0 == 13 || $0 == 10 }.count
    received.moveReaderIndex(forwardBy: blank)
    guard let first = received.readableBytesView.first else { return nil }
    return try first == UInt8(ascii: "$") ? packet() : request()
  }

  private mutating func packet() -> Message? {
    var rest = received
    guard let head = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
      let bytes = rest.readBytes(length: Int(head.2))
    else { return nil }
    received = rest
    return .packet(channel: head.1, bytes)
  }

  private mutating func request() throws(RTSPError) -> Message? {
    let view = received.readableBytesView.prefix(Self.mostBytes)
    guard let end = view.firstRange(of: Self.end) else {
      guard view.count < Self.mostBytes else {
        throw RTSPError(status: 413, reason: "the request is too large")
      }
      return nil
    }
    let request = try Self.request(String(decoding: view[..<end.lowerBound], as: UTF8.self))
    received.moveReaderIndex(to: end.upperBound)
    if let length = request.fields["content-length"] {
      guard let count = Int(length), count >= 0 else {
        throw RTSPError(status: 400, reason: "Content-Length is not a number")
      }
      guard count <= Self.mostBytes else { throw RTSPError(status: 413, reason: "the body is too large") }
      skipped = count
    }
    return .request(request)
  }

  private static func request(_ text: String) throws(RTSPError) -> RTSPRequest {
    let lines = text.split(separator: "\r\n")
    let words = (lines.first ?? "").split(separator: " ")
    guard words.count == 3, words[2].hasPrefix("RTSP/"), words[0].utf8.allSatisfy(isLetter),
      words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw RTSPError(status: 400, reason: "this is not an RTSP request") }
    guard words[2] == "RTSP/1.0" else { throw RTSPError(status: 505, reason: "only RTSP/1.0 is supported") }
    guard lines.count <= mostFields else { throw RTSPError(status: 400, reason: "too many header fields") }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else {
        throw RTSPError(status: 400, reason: "a header field has no colon")
      }
      let name = line[..<colon].lowercased()
      let value = String(line[line.index(after: colon)...]).trimmed
      // A repeated field is one list (RFC 2326, 4.2).
      fields[name] = fields[name].map { "\($0),\(value)" } ?? value
    }
    return RTSPRequest(method: String(words[0]), url: String(words[1]), fields: fields)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || byte == UInt8(ascii: "_")
  }
}

/// The camera and view that a URL names.
struct RTSPTarget: Sendable, Hashable {
  let camera: String?
  let view: String?

  static let track = "trackID=0"

  /// `rtsp://host:8554/CAMERA/VIEW`, with or without the name of its only track.
  init(_ url: String) throws(RTSPError) {
    guard url.lowercased().hasPrefix("rtsp://") else {
      throw RTSPError(status: 400, reason: "the URL must be rtsp://HOST/CAMERA/VIEW")
    }
    var names = Self.withoutQuery(url).dropFirst(7).split(separator: "/").dropFirst().map {
      String($0).percentDecoded
    }
    if names.last == Self.track { names.removeLast() }
    guard names.count < 3 else {
      throw RTSPError(status: 404, reason: "the URL must be rtsp://HOST/CAMERA/VIEW")
    }
    (camera, view) = (names.first, names.dropFirst().first)
  }

  /// The URL up to `?`: players add parameters of other servers. Here a view is shown as it is configured.
  static func withoutQuery(_ url: String) -> String { String(url.prefix { $0 != "?" }) }
}
