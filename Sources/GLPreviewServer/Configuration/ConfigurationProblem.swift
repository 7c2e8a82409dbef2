// What is wrong with a configuration: where it was said, of what, and what would be right.
internal import GLPreview

/// A mistake in a configuration.
package struct ConfigurationProblem: Sendable, Hashable, CustomStringConvertible {
  /// Where it was said: `FILE:LINE:COLUMN`, an option such as `--bind`, a variable of the environment; nil where nobody
  /// said it.
  package var origin: String?
  /// What it is of, such as `cameras.door.views.face.rotate`; nil where it is of the whole file.
  package var key: String?
  /// What is wrong, and what would be right. No secret is in it.
  package private(set) var reason: String

  /// A mistake.
  package init(origin: String? = nil, key: String? = nil, _ reason: String) {
    self.origin = origin
    // A key may be an address that stands in the wrong place.
    self.key = key.map { Redaction.message($0) }
    self.reason = Redaction.message(reason)
  }

  /// `FILE:LINE:COLUMN: KEY: REASON`, without what is not known.
  package var description: String { [origin, key, reason].compactMap { $0 }.joined(separator: ": ") }
}

/// All that is wrong with a configuration.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// At least one, in the order in which they were found.
  package let problems: [ConfigurationProblem]

  /// An error of `problems`.
  package init(_ problems: [ConfigurationProblem]) { self.problems = problems }

  /// One alone.
  init(_ problem: ConfigurationProblem) { self.init([problem]) }

  /// A line for each.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
