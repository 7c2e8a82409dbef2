// The words of a configuration to values: numbers within bounds, times, amounts, addresses.
internal import GLPreview
internal import PreviewCore

/// Reads words; what can't be read is a `WordError` that says what could.
enum ConfigurationWords {
  static func flag(_ text: String) throws(WordError) -> Bool { try Words.flag("", text) }

  static func whole(_ bounds: ClosedRange<Int>) -> (String) throws(WordError) -> Int {
    { text throws(WordError) in try Words.whole("", text, in: bounds) }
  }

  static func number(_ bounds: ClosedRange<Double>) -> (String) throws(WordError) -> Double {
    { text throws(WordError) in try Words.number("", text, in: bounds) }
  }

  static func word<Word: RawRepresentable & CaseIterable>(_ text: String) throws(WordError) -> Word
  where Word.RawValue == String { try Words.word("", text) }

  static func size(_ text: String) throws(WordError) -> Size { try Words.size("", text) }

  /// `500ms`, `30s`, `5m`, `12h`, `7d`; a number alone is seconds.
  static func time(_ text: String) throws(WordError) -> Duration {
    let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400)]
    let (number, unit) = halves(text)
    let scale = unit.isEmpty ? 1 : units.first { $0.0 == unit }?.1
    // A century is as good as for ever, and far from what a Duration holds.
    guard let scale, let count = Double(number), count > 0, count * scale <= 3.2e9 else {
      throw WordError("'\(text)' is not a time above 0, as 500ms, 30s, 5m, 12h or 7d")
    }
    return .milliseconds(max(1, Int64(count * scale * 1000)))
  }

  /// `100000`, `64kB`, `1.5GB`, `256MiB`.
  static func bytes(_ bounds: ClosedRange<Int>) -> (String) throws(WordError) -> Int {
    { text throws(WordError) in
      let units: [(String, Double)] = [
        ("", 1), ("b", 1), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("tb", 1e12), ("kib", 1024),
        ("mib", 1_048_576), ("gib", 1_073_741_824), ("tib", 1_099_511_627_776),
      ]
      let (number, unit) = halves(text)
      guard let scale = units.first(where: { $0.0 == unit.lowercased() })?.1, let count = Double(number),
        count * scale <= Double(bounds.upperBound), count * scale >= Double(bounds.lowerBound)
      else {
        throw WordError(
          "",
          "'\(text)' is not an amount of bytes from \(bounds.lowerBound) to \(bounds.upperBound), as 100000, 64kB, 1GB or 256MiB"
        )
      }
      return Int(count * scale)
    }
  }

  static func gpu(_ text: String) throws(WordError) -> GPUChoice {
    guard let choice = GPUChoice(text) else {
      throw WordError("'\(text)' is none of auto, software, a number, /dev/dri/renderD128")
    }
    return choice
  }

  /// What is `NAME=VALUE`, or `NAME: VALUE`.
  static func pair(at separator: Character, _ form: String) -> (String) throws(WordError) -> (String, String)
  {
    { text throws(WordError) in
      guard let index = text.firstIndex(of: separator), index > text.startIndex else {
        throw WordError("is not \(form)")
      }
      return (String(text[..<index]), String(text[text.index(after: index)...].drop { $0 == " " }))
    }
  }

  /// A number and what follows it.
  private static func halves(_ text: String) -> (number: Substring, unit: Substring) {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    return (number, text[number.endIndex...])
  }
}

extension BindAddress {
  /// The longest path that the kernel takes for a socket, in bytes.
  static let longestPath = 107

  /// Reads `HOST:PORT`, `[ADDRESS]:PORT` of IPv6, `HOST` alone (port 8080), or `unix:PATH`.
  ///
  /// - Throws: `WordError`.
  static func parse(_ text: String) throws(WordError) -> BindAddress {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard !path.isEmpty else {
        throw WordError("'\(text)' names no socket, as unix:/run/glpreview.sock does")
      }
      return .unix(path: path)
    }
    let form = "HOST:PORT, [ADDRESS]:PORT or unix:PATH"
    var rest = text[...]
    var host: Substring
    if rest.first == "[" {
      guard let end = rest.firstIndex(of: "]") else { throw WordError("'\(text)' is not \(form)") }
      host = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
      guard host.contains(":") else {
        throw WordError("'\(text)': in brackets stands an address of IPv6")
      }
    } else {
      guard rest.count(where: { $0 == ":" }) < 2 else {
        throw WordError("'\(text)' is not \(form); an address of IPv6 stands in brackets")
      }
      host = rest.prefix { $0 != ":" }
      rest = rest[host.endIndex...]
    }
    guard !host.isEmpty else {
      throw WordError("'\(text)' names no host; 0.0.0.0\(text) is all addresses")
    }
    guard rest.isEmpty || rest.first == ":" else { throw WordError("'\(text)' is not \(form)") }
    guard !host.contains(where: { $0.isWhitespace || $0 == "/" || $0 == "@" }) else {
      throw WordError("'\(text)' is not \(form)")
    }
    guard !rest.isEmpty else {
      guard !host.allSatisfy(\.isNumber) else {
        throw WordError("'\(text)' is not \(form); a port alone is 127.0.0.1:\(text)")
      }
      return .host(String(host), port: 8080)
    }
    guard let port = UInt16(rest.dropFirst()) else {
      throw WordError("'\(text)': a port is a whole number from 0 to 65535, where 0 takes a free one")
    }
    return .host(String(host), port: Int(port))
  }

  /// Whether nobody from another machine gets there.
  package var isLocal: Bool {
    switch self {
    case .unix: true
    case .host(let host, _):
      host == "localhost" || host == "::1" || Self.isLoopback(ipv4: host)
    }
  }

  /// 127.0.0.0/8, in four numbers: a name may begin so too.
  private static func isLoopback(ipv4 host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}

extension BindAddress: CustomStringConvertible {
  /// As `--bind` takes it.
  package var description: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}
