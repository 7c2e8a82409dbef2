// Reads the responses of cameras' HTTP servers leniently, as other clients do, and within limits. No I/O:
// bytes are passed in. A server needs a strict parser, because proxies may stand between it and its clients.
// A client that sends requests to one camera does not.

/// The responses of one connection, all to GET requests.
///
/// Lines end in LF, with or without CR. A line that is not a header field is skipped. Chunked encoding takes
/// precedence over a length, and the first valid length over others. A body that is declared as chunked but
/// does not begin with a chunk is read without chunks.
struct HTTPResponseParser: Sendable {
  /// The most bytes of a response's head, including the informational responses before it. Also the limit for
  /// trailers.
  static let headLimit = 64 << 10
  /// The most bytes of a line.
  static let lineLimit = 16 << 10
  /// The most lines of a head.
  static let lineCountLimit = 256

  struct Field: Sendable, Hashable {
    /// The name in lower case.
    let name: String
    /// The value without control characters.
    var value: String
  }

  struct Head: Sendable, Hashable {
    let status: Int
    let reason: String
    /// The fields in order. The fields that determine the end of the body are unambiguous: there is one valid
    /// `content-length`, or one `transfer-encoding`, or the body ends with the connection. There is exactly
    /// one `connection`.
    let fields: [Field]
  }

  enum Event: Sendable, Hashable {
    case head(Head)
    /// The next bytes of the body, without chunk framing; never empty.
    case body([UInt8])
    case end
    /// The server does not speak HTTP, or exceeds the limits. The reason is worded to follow a colon. No
    /// event follows.
    case failed(String)
  }

  private enum State {
    case status
    case fields
    /// The number of remaining bytes; nil if the body ends with the connection.
    case body(Int?)
    /// `length` is from the head's `content-length`, and is used if the body turns out not to be chunked.
    case firstChunk(length: Int?)
    case chunkSize
    case chunk(Int)
    case chunkEnd(hasCR: Bool)
    case trailers
    case failed
  }

  private var state = State.status
  /// The incomplete current line.
  private var line: [UInt8] = []
  private var byteCount = 0
  private var lineCount = 0
  private var status = (code: 0, reason: "", isPersistent: false)
  private var fields: [Field] = []
  /// Whether a line that begins with a space continues the last field.
  private var isFoldable = false
  /// Bytes of the body that have not been reported yet.
  private var body: [UInt8] = []

  /// Parses `bytes`; returns the events that they complete.
  mutating func take(_ bytes: ArraySlice<UInt8>) -> [Event] {
    var rest = bytes
    var events: [Event] = []
    while !rest.isEmpty {
      do throws(Failure) {
        try step(&rest, &events)
      } catch {
        state = .failed
        flushBody(&events)
        events.append(.failed(error.reason))
      }
    }
    flushBody(&events)
    return events
  }

  /// Handles the end of the connection, which completes a body without a length. Any other response is
  /// incomplete then.
  mutating func finish() -> [Event] {
    guard case .body(nil) = state else { return [] }
    state = .failed
    return [.end]
  }

  private struct Failure: Error {
    let reason: String
  }

  private mutating func step(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) throws(Failure) {
    switch state {
    case .status:
      if let line = try nextLine(&rest), !line.isEmpty { try readStatus(line) }
    case .fields:
      guard let line = try nextLine(&rest) else { return }
      if line.isEmpty { endHead(&events) } else { readField(line) }
    case .body(let count?):
      let left = count - take(count, of: &rest)
      state = .body(left)
      if left == 0 { end(&events) }
    case .body(nil): _ = take(rest.count, of: &rest)
    case .firstChunk(let length):
      let isChunk = rest.first.map { Self.isDigit($0) || Self.isBlank($0) || $0 == Self.CR || $0 == Self.LF }
      state = isChunk == true ? .chunkSize : .body(length)
    case .chunkSize:
      guard let line = try nextLine(&rest) else { return }
      let count = try chunkSize(line)
      (byteCount, lineCount) = (0, 0)
      state = count > 0 ? .chunk(count) : .trailers
    case .chunk(let count):
      let left = count - take(count, of: &rest)
      state = left > 0 ? .chunk(left) : .chunkEnd(hasCR: false)
    case .chunkEnd(let hasCR):
      if rest.first == Self.CR, !hasCR {
        rest = rest.dropFirst()
        state = .chunkEnd(hasCR: true)
      } else {
        if rest.first == Self.LF { rest = rest.dropFirst() }
        state = .chunkSize
      }
    case .trailers:
      if try nextLine(&rest)?.isEmpty == true { end(&events) }
    case .failed: rest = []
    }
  }

  // MARK: Lines

  private static let (CR, LF) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  /// Returns whether the byte is a hexadecimal digit.
  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
  }

  /// Returns the next line without its line ending; nil if it is incomplete.
  private mutating func nextLine(_ rest: inout ArraySlice<UInt8>) throws(Failure) -> [UInt8]? {
    let piece = rest.prefix { $0 != Self.LF }
    let isComplete = piece.count < rest.count
    line += piece
    byteCount += piece.count + (isComplete ? 1 : 0)
    lineCount += isComplete ? 1 : 0
    guard line.count <= Self.lineLimit, byteCount <= Self.headLimit, lineCount <= Self.lineCountLimit else {
      throw Failure(reason: "its head is too large")
    }
    rest = rest.dropFirst(piece.count + 1)
    guard isComplete else { return nil }
    defer { line = [] }
    while line.last == Self.CR { line.removeLast() }
    return line
  }

  /// Returns the text without control characters, trimmed at both ends.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, as: UTF8.self).trimmed
  }

  // MARK: Heads

  /// Parses `HTTP/1.1 200 OK`, `HTTP/1.01 200`, `HTTP 200`, `ICY 200 OK`.
  private mutating func readStatus(_ line: [UInt8]) throws(Failure) {
    let words = line.split(maxSplits: 2, whereSeparator: Self.isBlank).map { Self.text($0) }
    let name = words.first?.uppercased() ?? ""
    guard name == "ICY" || name == "HTTP" || name.hasPrefix("HTTP/"), words.count > 1,
      let code = Self.number(words[1].prefix(3)), (100...999).contains(code)
    else {
      let text = Self.text(line.prefix(40))
      throw Failure(reason: text.isEmpty ? "it answers with other bytes" : "it answers '\(text)'")
    }
    let version = name.dropFirst(5).split(separator: ".").map { Self.number($0) ?? 0 }
    let isPersistent = !version.lexicographicallyPrecedes([1, 1])
    status = (code, words.count > 2 ? words[2] : "", isPersistent)
    (fields, isFoldable) = ([], false)
    state = .fields
  }

  private mutating func readField(_ line: [UInt8]) {
    if isFoldable, let first = line.first, Self.isBlank(first) {
      fields[fields.count - 1].value = (fields[fields.count - 1].value + " " + Self.text(line[...])).trimmed
      return
    }
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    let text = Self.text(name).lowercased()
    isFoldable =
      name.count < line.count && !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    guard isFoldable else { return }
    fields.append(Field(name: text, value: Self.text(line.dropFirst(name.count + 1))))
  }

  private mutating func endHead(_ events: inout [Event]) {
    // Informational responses precede the final one (RFC 9110, 15.2). They share its limits.
    guard status.code >= 200 else {
      state = .status
      return
    }
    let lengths = values(of: "content-length").compactMap { Self.number($0[...]) }
    let isChunked = values(of: "transfer-encoding").contains { $0.lowercased() == "chunked" }
    let isEmpty = status.code == 204 || status.code == 304
    let words = values(of: "connection").map { $0.lowercased() }
    let isKept = words.contains("keep-alive") || status.isPersistent
    // If the end of the body is ambiguous, so is the start of the next response.
    let isCertain = isEmpty || (isChunked ? lengths.isEmpty : Set(lengths).count == 1)

    var settled = fields.filter { !["content-length", "transfer-encoding", "connection"].contains($0.name) }
    if isChunked {
      settled.append(Field(name: "transfer-encoding", value: "chunked"))
    } else if let length = lengths.first {
      settled.append(Field(name: "content-length", value: "\(length)"))
    }
    let isOpen = isKept && isCertain && !words.contains("close")
    settled.append(Field(name: "connection", value: isOpen ? "keep-alive" : "close"))
    events.append(.head(Head(status: status.code, reason: status.reason, fields: settled)))
    (fields, byteCount, lineCount) = ([], 0, 0)
    if isEmpty || (!isChunked && lengths.first == 0) { return end(&events) }
    state = isChunked ? .firstChunk(length: lengths.first) : .body(lengths.first)
  }

  /// Returns the values of all fields of a name. Each field may be a list.
  private func values(of name: String) -> [String] {
    fields.filter { $0.name == name }.flatMap { $0.value.split(separator: ",").map(\.trimmed) }
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }

  // MARK: Bodies

  /// Moves at most `count` bytes to the body; returns how many.
  private mutating func take(_ count: Int, of rest: inout ArraySlice<UInt8>) -> Int {
    let piece = rest.prefix(count)
    body += piece
    rest = rest.dropFirst(piece.count)
    return piece.count
  }

  private mutating func flushBody(_ events: inout [Event]) {
    guard !body.isEmpty else { return }
    events.append(.body(body))
    body = []
  }

  private func chunkSize(_ line: [UInt8]) throws(Failure) -> Int {
    let digits = Self.text(line.prefix { $0 != UInt8(ascii: ";") })
    guard digits.utf8.allSatisfy(Self.isDigit), let count = Int(digits, radix: 16) else {
      throw Failure(reason: "a chunk has no length")
    }
    return count
  }

  private mutating func end(_ events: inout [Event]) {
    flushBody(&events)
    events.append(.end)
    (byteCount, lineCount) = (0, 0)
    state = .status
  }
}
