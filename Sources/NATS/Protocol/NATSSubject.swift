// Validates every name that goes into a protocol line, so that none can end the line or add a word to it.

/// Checks subjects, and the names that become tokens of subjects.
package enum NATSSubject {
  /// The longest subject, pattern, queue group or name, in bytes. Three of them fit in a control line of 4096
  /// bytes.
  package static let longest = 1024

  /// Checks a subject to publish to: tokens between dots, none of them empty or a wildcard.
  package static func check(_ subject: String) throws(NATSError) {
    guard isValid(subject), tokens(subject).allSatisfy({ $0 != "*" && $0 != ">" }) else {
      throw .invalidSubject(subject)
    }
  }

  /// Checks a subject to subscribe to: `*` may replace a token, `>` at the end all tokens that follow.
  package static func checkPattern(_ pattern: String) throws(NATSError) {
    guard isValid(pattern), tokens(pattern).dropLast().allSatisfy({ $0 != ">" }) else {
      throw .invalidSubject(pattern)
    }
  }

  /// Checks the name of a queue group.
  package static func checkQueue(_ queue: String) throws(NATSError) {
    guard isWord(queue) else { throw .invalidSubject(queue) }
  }

  /// Returns whether `text` can be one token of any subject: letters, digits, `-` and `_`.
  package static func isToken(_ text: String) -> Bool {
    isWord(text)
      && text.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
  }

  /// Checks the name of a stream, consumer or bucket: one token (`isToken`).
  package static func checkName(_ name: String) throws(NATSError) {
    guard isToken(name) else { throw .invalidName(name) }
  }

  /// Checks a key of a bucket: letters, digits and `-_/=.`, without a dot at either end and without
  /// consecutive dots.
  package static func checkKey(_ key: String) throws(NATSError) {
    let extra = "-_/=.".utf8
    guard isValid(key), key.utf8.allSatisfy({ isAlphanumeric($0) || extra.contains($0) }) else {
      throw .invalidName(key)
    }
  }

  private static func tokens(_ subject: String) -> [Substring] {
    subject.split(separator: ".", omittingEmptySubsequences: false)
  }

  private static func isValid(_ subject: String) -> Bool {
    isWord(subject) && tokens(subject).allSatisfy { !$0.isEmpty }
  }

  /// Returns whether a text is neither empty nor too long, and has no spaces or control characters.
  private static func isWord(_ text: String) -> Bool {
    (1...longest).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }
}
