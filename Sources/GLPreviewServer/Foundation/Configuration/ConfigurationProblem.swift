// Configuration errors: the place, the key, and what would be correct.

package struct ConfigurationProblem: Sendable, Hashable, CustomStringConvertible {
  /// The place: `FILE:LINE:COLUMN`, an option such as `--bind`, or an environment variable; nil if the key is
  /// not set.
  package var origin: String?
  /// The components of the key, separate because names may contain dots; empty for the whole file.
  let path: [String]
  /// The error, and what would be correct. It contains no secrets.
  package let reason: String

  /// Creates a problem. Secrets in `reason` are redacted.
  package init(origin: String? = nil, path: [String] = [], _ reason: String) {
    self.origin = origin
    self.path = path
    self.reason = Redaction.message(reason).brief
  }

  /// The key, such as `cameras.door.views.face.rotate`; nil for the whole file.
  package var key: String? {
    // The key may be a URL with credentials that was written in the wrong place.
    path.isEmpty ? nil : Redaction.message(path.joined(separator: ".")).brief
  }

  /// `FILE:LINE:COLUMN: KEY: REASON`, without unknown parts.
  package var description: String { [origin, key, reason].compactMap { $0 }.joined(separator: ": ") }
}

/// All problems of a configuration.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// At least one problem, in the order of discovery.
  package let problems: [ConfigurationProblem]

  init(_ problems: [ConfigurationProblem]) { self.problems = problems }

  package init(at origin: String, _ reason: String) {
    self.init([ConfigurationProblem(origin: origin, reason)])
  }

  /// One line per problem.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}

extension [String] {
  /// The known key that is nearest to `word`: the one with the fewest bytes to insert, remove or change; nil
  /// if all need too many changes.
  package func nearest(to word: String) -> String? {
    // Longer input is not a typing mistake, and the cost grows with both lengths.
    guard word.utf8.count <= 64 else { return nil }
    let ranked = map { (word: $0, distance: $0.editDistance(to: word)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= Swift.max(1, best.word.utf8.count / 2) ? best.word : nil
  }
}

extension String {
  /// The Levenshtein distance in bytes, because keys are ASCII. It ignores case, and treats `_` as `-`.
  fileprivate func editDistance(to other: String) -> Int {
    let (mine, others) = (folded, other.folded)
    var row = Array(0...others.count)
    for (index, byte) in mine.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (column, otherByte) in others.enumerated() {
        let change = diagonal + (byte == otherByte ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = Swift.min(change, diagonal + 1, row[column] + 1)
      }
    }
    return row[others.count]
  }

  private var folded: [UInt8] { lowercased().utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 } }
}
