// The boundary between the parts of a multipart stream, and the search for it in arbitrary bytes.
internal import Glibc

/// The boundary of a stream. Its leading dashes are ignored: `boundary=--frame` may mean `--frame` or
/// `----frame` on the wire, and both are found.
struct MultipartBoundary: Sendable {
  /// The longest boundary line, in bytes.
  static let longestLine = 512

  enum Match: Sendable, Hashable {
    case part
    case end
  }

  enum Search: Sendable, Hashable {
    /// The start of the line, and the position after it.
    case found(start: Int, end: Int, isEnd: Bool)
    /// No boundary starts within the first `searched` bytes.
    case none(searched: Int)
  }

  /// The declared name and the one found in the stream, without leading dashes.
  private var names: [[UInt8]] = []

  init(_ announced: String?) {
    if let announced { add(Array(announced.utf8)[...]) }
  }

  var isUnknown: Bool { names.isEmpty }

  func match(_ line: ArraySlice<UInt8>) -> Match? {
    guard line.starts(with: Self.dashes) else { return nil }
    let text = line.drop { $0 == Self.dash }
    for name in names where text.starts(with: name) {
      let rest = text.dropFirst(name.count)
      if rest.starts(with: Self.dashes) { return .end }
      if rest.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") })
      {
        return .part
      }
    }
    return nil
  }

  /// Accepts `line` as a boundary if it has the form of one.
  mutating func adopt(_ line: ArraySlice<UInt8>) -> Bool {
    guard names.count < 2, line.starts(with: Self.dashes), line.count < 256 else { return false }
    let text = String(decoding: line.drop { $0 == Self.dash }, as: UTF8.self).trimmed
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return false }
    add(Array(text.utf8)[...])
    return true
  }

  private mutating func add(_ text: ArraySlice<UInt8>) {
    let name = Array(text.drop { $0 == Self.dash })
    if !name.isEmpty, name.count < Self.longestLine / 2 { names.append(name) }
  }

  private static let dash = UInt8(ascii: "-")
  private static let dashes: [UInt8] = [dash, dash]

  /// Finds the first boundary in `bytes`, which start at the beginning of a line. It is known that none
  /// starts in the first `searched` bytes.
  func find(in bytes: ArraySlice<UInt8>, from searched: Int) -> Search {
    var first: Search?
    for name in names {
      let search = find(name, in: bytes, from: searched)
      switch (search, first) {
      case (_, nil): first = search
      case (.found(let start, _, _), .some(.found(let other, _, _))) where other <= start: break
      case (.found, _): first = search
      case (.none(let count), .some(.none(let other))): first = Search.none(searched: min(count, other))
      case (.none, _): break
      }
    }
    return first ?? .none(searched: bytes.count)
  }

  private func find(_ name: [UInt8], in bytes: ArraySlice<UInt8>, from searched: Int) -> Search {
    let pattern = Self.dashes + name
    var from = searched
    while let place = Self.place(of: pattern, in: bytes, from: from) {
      switch check(place, pattern.count, bytes) {
      case .found(let start, let end, let isEnd): return .found(start: start, end: end, isEnd: isEnd)
      case .open(let start): return .none(searched: start)
      case .refused: from = place + 1
      }
    }
    // The last bytes may be the start of a boundary: dashes or a part of its name.
    let tail = bytes.suffix(pattern.count - 1 + Self.longestRun)
    return .none(searched: max(bytes.count - tail.count, searched))
  }

  private enum Check {
    case found(start: Int, end: Int, isEnd: Bool)
    /// The end of the line has not arrived yet.
    case open(start: Int)
    case refused
  }

  /// The most dashes before a name, or spaces after it, that are examined.
  private static let longestRun = 70
  /// The bytes before a name that determine whether it is a boundary: dashes, and a newline or the end of a
  /// picture.
  static let lookback = longestRun + 4

  private func check(_ place: Int, _ count: Int, _ bytes: ArraySlice<UInt8>) -> Check {
    func byte(_ index: Int) -> UInt8? { index < bytes.count ? bytes[bytes.startIndex + index] : nil }
    var start = place
    while start > 0, place - start < Self.longestRun, byte(start - 1) == Self.dash { start -= 1 }
    let isLine = start == 0 || byte(start - 1) == UInt8(ascii: "\n")
    guard isLine || (start >= 2 && byte(start - 2) == 0xFF && byte(start - 1) == 0xD9) else {
      return .refused
    }

    var end = place + count
    guard let next = byte(end) else { return .open(start: start) }
    if next == Self.dash {
      guard let second = byte(end + 1) else { return .open(start: start) }
      // Bytes after the last boundary are ignored.
      return second == Self.dash ? .found(start: start, end: end + 2, isEnd: true) : .refused
    }
    for _ in 0..<Self.longestRun {
      switch byte(end) {
      case nil: return .open(start: start)
      case UInt8(ascii: "\n"): return .found(start: start, end: end + 1, isEnd: false)
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): end += 1
      default: return .refused
      }
    }
    return .refused
  }

  private static func place(of pattern: [UInt8], in bytes: ArraySlice<UInt8>, from start: Int) -> Int? {
    unsafe bytes.withUnsafeBytes { bytes in
      var start = start
      while bytes.count - start >= pattern.count, let base = bytes.baseAddress {
        let found = unsafe memchr(base + start, Int32(dash), bytes.count - start - pattern.count + 1)
        guard let found = unsafe found else { return nil }
        start = unsafe UnsafeRawPointer(found) - base
        if unsafe bytes[start...].starts(with: pattern) { return start }
        start += 1
      }
      return nil
    }
  }
}
