// Which keys a configuration has, and of what kind their values are.

/// What may stand in a place of a configuration.
indirect enum ConfigurationShape: Sendable {
  /// One word: a number, a name, a size.
  case word
  /// A word that no message shows.
  case secret
  /// A list of words, or one word.
  case words
  /// Names and values, joined to words by a sign; or a list of such words.
  case pairs(joinedBy: String)
  /// These keys and no others.
  case keys([(String, ConfigurationShape)])
  /// Names that the user gives.
  case named(ConfigurationShape)
  /// A list of values that have keys.
  case list(ConfigurationShape)
}

extension ConfigurationShape {
  /// All of it.
  static let service = ConfigurationShape.keys([
    ("bind", .word), ("tls", .keys([("certificate", .word), ("key", .word)])), ("access", access),
    ("limits", limits), ("gpu", .word), ("require-hardware", .word), ("cameras", .named(camera)),
    ("scenes", .named(scene)), ("snapshots", snapshots),
  ])

  private static let access = ConfigurationShape.keys([
    ("insecure", .word),
    ("tokens", .list(.keys([("token", .secret), ("token-file", .word), ("role", .word)]))),
    (
      "users",
      .list(.keys([("name", .word), ("password", .secret), ("password-file", .word), ("role", .word)]))
    ),
    ("origins", .words), ("hosts", .words),
  ])

  private static let limits = ConfigurationShape.keys(
    [
      "connections", "connections-per-client", "requests-per-second", "request-bytes", "pixels",
      "ad-hoc-views", "memory", "stalled-client", "idle-connection",
    ].map { ($0, .word) })

  private static let camera = ConfigurationShape.keys([
    ("source", .secret), ("size", .word), ("fps", .word), ("input-format", .word), ("input-size", .word),
    ("matrix", .word), ("range", .word), ("controls", .pairs(joinedBy: "=")),
    ("headers", .pairs(joinedBy: ": ")), ("transport", .word), ("redirects", .word), ("masks", .words),
    ("reference", .word), ("timeout", .word), ("max-megapixels", .word), ("max-picture-bytes", .word),
    ("stalls-after", .word), ("keep-warm", .word), ("required", .word), ("avatar", .word),
    ("offline", .word), ("views", .named(view)),
  ])

  private static let view = ConfigurationShape.keys(
    (ServedView.viewKeys + ["fps", "quality", "enabled", "locked"]).map { ($0, .word) })

  private static let scene = ConfigurationShape.keys([
    ("layout", .word), ("tiles", .pairs(joinedBy: ":")), ("labels", .word), ("fps", .word),
    ("quality", .word),
  ])

  private static let snapshots = ConfigurationShape.keys([
    ("folder", .keys([("path", .word), ("max-age", .word), ("max-count", .word), ("max-bytes", .word)])),
    (
      "webhook",
      .keys([
        ("url", .secret), ("secret", .secret), ("secret-file", .word), ("max-event-bytes", .word),
        ("attempts", .word), ("capacity", .word),
      ])
    ),
  ])
}
