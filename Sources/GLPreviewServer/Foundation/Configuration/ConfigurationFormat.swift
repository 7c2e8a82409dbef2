// The kinds of configuration values: their documentation and their parsers.

/// A kind of configuration value.
package struct ConfigurationFormat<Value>: Sendable {
  /// The accepted text, for documentation.
  package let form: String
  /// Whether messages must not contain the value.
  let isSecret: Bool
  /// Parses a value. Relative paths refer to `folder`. Throws a `ParameterError` that describes the accepted
  /// values.
  package let read: @Sendable (_ text: String, _ folder: String) throws -> Value

  package init(
    _ form: String, isSecret: Bool = false, in read: @escaping @Sendable (String, String) throws -> Value
  ) { (self.form, self.isSecret, self.read) = (form, isSecret, read) }

  package init(_ form: String, isSecret: Bool = false, _ read: @escaping @Sendable (String) throws -> Value) {
    self.init(form, isSecret: isSecret) { text, _ in try read(text) }
  }
}

extension ConfigurationFormat
where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
  package static var choice: Self {
    Self(Value.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")) {
      try ParameterParser.choice("", $0)
    }
  }
}

extension ConfigurationFormat<Bool> {
  static var flag: Self { Self("`true`, `false`") { try ParameterParser.flag("", $0) } }
}

extension ConfigurationFormat<Int> {
  package static func whole(_ bounds: ClosedRange<Int>) -> Self {
    Self("\(bounds.lowerBound)...\(bounds.upperBound)") { try ParameterParser.whole("", $0, in: bounds) }
  }

  /// A number of bytes: `100000`, `64kB`, `1.5GB`, `256MiB`.
  static func bytes(_ bounds: ClosedRange<Int>) -> Self {
    let units: [String: Double] = [
      "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1024, "mib": 1_048_576,
      "gib": 1_073_741_824, "tib": 1_099_511_627_776,
    ]
    let (lowest, highest) = (bounds.lowerBound, bounds.upperBound)
    return Self("bytes, \(lowest)...\(highest)") { text in
      guard let bytes = text.lowercased().amount(in: units), bytes >= Double(lowest), bytes <= Double(highest)
      else {
        throw ParameterError(
          "'\(text)' is not a number of bytes from \(lowest) to \(highest), such as 100000, 64kB or 256MiB")
      }
      return Int(bytes)
    }
  }
}

extension ConfigurationFormat<Double> {
  package static func number(_ bounds: ClosedRange<Double>) -> Self {
    Self("\(bounds.lowerBound.shortText)...\(bounds.upperBound.shortText)") {
      try ParameterParser.number("", $0, in: bounds)
    }
  }
}

extension ConfigurationFormat<Duration> {
  /// A time: `500ms`, `30s`, `5m`, `12h`, `7d`. The default unit is seconds.
  package static var time: Self {
    let units = ["ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "": 1]
    return Self("time") { text in
      guard let seconds = text.amount(in: units), seconds > 0 else {
        throw ParameterError("'\(text)' is not a time above 0, such as 500ms, 30s, 5m, 12h or 7d")
      }
      // Far below the range of Duration.
      guard seconds <= 3.2e9 else { throw ParameterError("'\(text)' is longer than a century") }
      return .milliseconds(max(1, Int64(seconds * 1000)))
    }
  }
}

extension ConfigurationFormat<Size> {
  static var size: Self { Self("`WxH`") { try ParameterParser.size("", $0) } }
}

extension ConfigurationFormat<GPUDevice.Choice> {
  static var gpu: Self {
    Self(
      "`auto`, `hardware`, `cpu`, `llvmpipe`, a number of `glpreview devices`, `/dev/dri/renderD128`"
    ) { text in
      if let choice = GPUDevice.Choice(text) { return choice }
      throw ParameterError(
        "'\(text)' is not one of auto, hardware, cpu, llvmpipe, a number of `glpreview devices`, "
          + "/dev/dri/renderD128")
    }
  }
}

extension ConfigurationFormat<CertificateTrust> {
  /// The trusted certificates. A file must contain at least one.
  static var certificate: Self {
    Self("`system`, `any`, a SHA-256 fingerprint, or a PEM file") { text, folder in
      var trust = try CertificateTrust(parsing: text)
      if case .file(let path) = trust { trust = .file(try ConfigurationPaths.file(path, in: folder)) }
      try trust.checkFile()
      return trust
    }
  }
}

extension ConfigurationFormat<ListenAddress> {
  static var address: Self {
    Self("`HOST:PORT`, `[ADDRESS]:PORT`, `HOST` (port 8080) or `unix:PATH`") { text, folder in
      let address = try ListenAddress.parse(text)
      guard case .unix(let configured) = address else { return address }
      let path = try ConfigurationPaths.resolved(configured, in: folder)
      guard path.utf8.count <= ListenAddress.longestPath else {
        throw ParameterError(
          "a socket path may have at most \(ListenAddress.longestPath) bytes, not \(path.utf8.count)")
      }
      return .unix(path: path)
    }
  }
}

extension ConfigurationFormat {
  /// A name and a value, separated by `sign`.
  static func pair(
    _ form: String, at sign: Character, isSecret: Bool = false,
    _ make: @escaping @Sendable (String, String) -> Value
  ) -> Self {
    Self("`\(form)`", isSecret: isSecret) { text in
      guard let index = text.firstIndex(of: sign), index > text.startIndex else {
        throw ParameterError("is not \(form)")
      }
      return make(String(text[..<index]), String(text[text.index(after: index)...].drop { $0 == " " }))
    }
  }
}

extension ConfigurationFormat<String> {
  /// The name of a view, which need not exist.
  package static var viewName: Self {
    Self("a view's name") { text in
      try ViewConfiguration.check(name: text)
      return text
    }
  }

  /// A path, which need not exist.
  static var path: Self {
    Self("path") { text, folder in try ConfigurationPaths.resolved(text, in: folder) }
  }

  /// The path of a readable file.
  package static var file: Self {
    Self("file") { text, folder in try ConfigurationPaths.file(text, in: folder) }
  }

  /// This kind of value, read from a file that contains it.
  var inFile: Self {
    Self("file") { text, folder in try read(ConfigurationPaths.secret(text, in: folder), folder) }
  }

  /// A camera's source. File paths become absolute, `file:` URLs paths. Links in device paths are kept,
  /// because they follow the device when it is plugged in again.
  static var source: Self {
    Self("a source", isSecret: true) { text, folder in
      guard !text.isEmpty else { throw ParameterError("is empty") }
      let text = SourceLocator(text).text
      let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
      let isAddress = scheme.count > 1 && text[scheme.endIndex...].first == ":"
      let isText = [.command, .generated].contains(SourceLocator(text).kind.origin)
      if isAddress, !isText, let problem = UnencodedPassword.problem(in: text) {
        throw ParameterError(problem)
      }
      guard !isAddress, text != "-", !text.hasPrefix("/dev/") else { return text }
      return try ConfigurationPaths.resolved(text, in: folder)
    }
  }

  /// A token. It must be visible ASCII, because it is sent in a header field.
  static var token: Self {
    text(
      "ASCII without spaces", isSecret: true, else: { _ in "a token must be printable ASCII without spaces" }
    ) {
      !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
  }

  package static var password: Self {
    text("text", isSecret: true, else: { _ in "is empty" }) { !$0.isEmpty }
  }

  package static var userName: Self {
    text("text without `:`", else: { "'\($0)': a name must not be empty or contain a colon" }) {
      !$0.isEmpty && !$0.contains { $0 == ":" || $0.isNewline }
    }
  }

  /// An origin: scheme, host and port, as browsers send them.
  static var origin: Self {
    text(
      "`https://home.example:8443`, or `*`",
      else: { "'\($0)' is neither * nor an origin such as https://home.example:8443, without a path" }
    ) { $0 == "*" || !($0.afterHTTP ?? "").isEmpty && !($0.afterHTTP ?? "").contains(where: endsHost) }
    .lowercased
  }

  static var hostName: Self {
    text("host name, or `*`", else: { "'\($0)' is neither * nor a host name" }) {
      !$0.isEmpty && !$0.contains(where: endsHost)
    }.lowercased
  }

  static var webAddress: Self {
    text(
      "`http://...`, `https://...`", isSecret: true,
      else: {
        UnencodedPassword.problem(in: $0) ?? "is not a URL that begins with http:// or https://"
      }
    ) {
      $0.afterHTTP?.first.map { !"/?#:".contains($0) } == true && !$0.contains(where: \.isWhitespace)
        && UnencodedPassword.problem(in: $0) == nil
    }
  }

  /// Text for which `isRight` returns true, unchanged.
  private static func text(
    _ form: String, isSecret: Bool = false, else reason: @escaping @Sendable (String) -> String,
    if isRight: @escaping @Sendable (String) -> Bool
  ) -> Self {
    Self(form, isSecret: isSecret) { text in
      guard isRight(text) else { throw ParameterError(reason(text)) }
      return text
    }
  }

  private var lowercased: Self { Self(form) { text, folder in try read(text, folder).lowercased() } }

  private static func endsHost(_ sign: Character) -> Bool { "/ ?#@".contains(sign) }
}

extension String {
  /// Returns the leading number times the unit after it; nil for anything else.
  fileprivate func amount(in units: [String: Double]) -> Double? {
    let number = prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let unit = units[String(self[number.endIndex...])] else { return nil }
    return Double(number).map { $0 * unit }
  }

  /// The text after `https://` or `http://`; nil without such a scheme.
  fileprivate var afterHTTP: Substring? {
    ["https://", "http://"].first { hasPrefix($0) }.map { dropFirst($0.count) }
  }
}
