// Finds unencoded characters in a URL's password that end it early. URL parsers then take the beginning of
// the password for a port, and report a bad port.

package enum UnencodedPassword {
  package static let advice = "in a user name or password, % is written %25, / %2F, ? %3F, # %23 and @ %40"

  /// Returns what is wrong with the user or the password of a URL, without revealing them; nil for anything
  /// else. A password that is cut after digits and a '/' or '?' can't be distinguished from a port and a
  /// path.
  package static func problem(in url: String) -> String? {
    guard let colon = url.firstRange(of: "://") else { return nil }
    // Compares scalars, because a combining mark would make a '/' or '#' a different character.
    let rest = url.unicodeScalars[colon.upperBound...]
    guard let end = rest.firstIndex(where: { "/?#".unicodeScalars.contains($0) }), rest[end...].contains("@")
    else { return nil }
    let host = rest[..<end].lastIndex(of: "@").map { rest[rest.index(after: $0)..<end] } ?? rest[..<end]
    guard rest[end] == "#" || hasBadPort(host) else { return nil }
    return "has a '\(rest[end])' before its '@': \(advice)"
  }

  private static func hasBadPort(_ host: Substring.UnicodeScalarView) -> Bool {
    guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return false }
    let port = String(host[colon...].dropFirst())
    return !port.isEmpty && !(1...65535).contains(Int(port) ?? 0)
  }
}
