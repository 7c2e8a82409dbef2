// Just enough of Swift's grammar to know which names a file declares and which it uses.

/// The names of a Swift file.
struct SwiftNames {
  /// Declared outside of any type, for other files to see.
  private(set) var declared: Set<String> = []
  /// Members that extensions add, for other files to see: the member, and the type that it is added to.
  private(set) var added: [(member: String, type: String)] = []
  /// How often each name is declared, wherever that is: a name with one declaration is not mistaken for another one.
  private(set) var declarations: [String: Int] = [:]
  /// Used after a dot, and anywhere else.
  private(set) var usedAsMember: Set<String> = []
  private(set) var used: Set<String> = []

  private static let declaring: Set<String> = [
    "struct", "class", "enum", "protocol", "actor", "typealias", "func", "var", "let", "case",
  ]

  init(_ lines: [Substring]) {
    var depth = 0
    var isHidden = false
    var extended: String?
    var previous = ""
    for token in Self.tokens(lines) {
      defer { previous = token.text }
      switch token.text {
      case "{": depth += 1
      case "}":
        depth -= 1
        if depth == 0 { extended = nil }
      case "private", "fileprivate": isHidden = true
      case "extension" where depth == 0: isHidden = false
      default:
        guard !Self.declaring.contains(token.text) else { continue }
        if previous == "extension", depth == 0 {
          extended = token.text
        } else if Self.declaring.contains(previous), !token.isMember {
          declarations[token.text, default: 0] += 1
          if !isHidden, depth == 0 { declared.insert(token.text) }
          if !isHidden, depth == 1, let extended { added.append((token.text, extended)) }
          isHidden = false
          continue
        }
        if token.isMember { usedAsMember.insert(token.text) } else { used.insert(token.text) }
      }
    }
  }

  /// Names, keywords and braces, without what stands in comments and strings.
  private static func tokens(_ lines: [Substring]) -> [(text: String, isMember: Bool)] {
    var tokens: [(text: String, isMember: Bool)] = []
    var isText = false
    for line in lines {
      if isText || line.contains("\"\"\"") {
        // A text of several lines begins at the end of one, and ends at the begin of another.
        isText = isText != line.contains("\"\"\"")
        continue
      }
      var name: [UInt8] = []
      var (isString, isEscaped, isMember) = (false, false, false)
      var last: UInt8 = 0
      func isOfName(_ byte: UInt8) -> Bool {
        byte == 95 || (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
      }
      for byte in Array(line.utf8) + [10] {
        defer { last = byte }
        if isString {
          (isString, isEscaped) = (byte != 34 || isEscaped, byte == 92 && !isEscaped)
          continue
        }
        if isOfName(byte) {
          if name.isEmpty { isMember = last == 46 }
          name.append(byte)
          continue
        }
        if let first = name.first {
          if !(48...57).contains(first) { tokens.append((String(decoding: name, as: UTF8.self), isMember)) }
          name = []
        }
        if byte == 47, last == 47 { break }
        if byte == 34 { isString = true }
        if byte == 123 || byte == 125 { tokens.append((byte == 123 ? "{" : "}", false)) }
      }
    }
    return tokens
  }
}
