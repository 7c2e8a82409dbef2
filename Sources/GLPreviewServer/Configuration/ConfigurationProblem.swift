// The errors of a configuration: their place, their key, and what would be correct.
internal import GLPreview

/// A mistake in a configuration.
package struct ConfigurationProblem: Sendable, Hashable, CustomStringConvertible {
  /// The place: `FILE:LINE:COLUMN`, an option such as `--bind`, or an environment variable; nil if the key is not set.
  package var origin: String?
  /// The key, such as `cameras.door.views.face.rotate`; nil for the whole file.
  package var key: String?
  /// What is wrong, and what would be correct. It contains no secrets.
  package private(set) var reason: String

  /// Creates a problem without the secrets in `key` and `reason`.
  package init(origin: String? = nil, key: String? = nil, _ reason: String) {
    self.origin = origin
    // A key may be an address that was written in the wrong place.
    self.key = key.map { Redaction.message($0) }
    self.reason = Redaction.message(reason)
  }

  /// `FILE:LINE:COLUMN: KEY: REASON`, without unknown parts.
  package var description: String { [origin, key, reason].compactMap { $0 }.joined(separator: ": ") }
}

/// All problems of a configuration.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// At least one problem, in the order of discovery.
  package let problems: [ConfigurationProblem]

  package init(_ problems: [ConfigurationProblem]) { self.problems = problems }

  init(_ problem: ConfigurationProblem) { self.init([problem]) }

  /// One line per problem.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
